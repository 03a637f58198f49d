"""Drawn portraits: a cartoon face per person, no two alike, that tells nothing but gender and age.

Skin, hair and clothes are drawn without a look at the country, and head coverings are left out, so
that no fact of a profile can be read off the picture: it has to be known.
"""

import functools
import io
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from parallax.seeding import generator

COMPARED_PX = 64
"""Side at which portraits are compared, so that a model that sees them this small can tell them."""

BACKGROUNDS = (
    "#e6194b",
    "#3cb44b",
    "#ffe119",
    "#4363d8",
    "#f58231",
    "#911eb4",
    "#46f0f0",
    "#f032e6",
    "#bcf60c",
    "#008080",
    "#000075",
    "#ffffff",
)
HAIRSTYLES = {
    "female": (
        "bigHair",
        "bob",
        "curly",
        "curvy",
        "dreads",
        "fro",
        "froBand",
        "longButNotTooLong",
        "miaWallace",
        "straight01",
        "straight02",
        "straightAndStrand",
    ),
    "male": (
        "dreads01",
        "dreads02",
        "frizzle",
        "shaggy",
        "shortCurly",
        "shortFlat",
        "shortRound",
        "shortWaved",
        "theCaesar",
        "theCaesarAndSidePart",
    ),
}
BALDING = "sides"
FACIAL_HAIR = ("beardLight", "beardMajestic", "beardMedium", "moustacheFancy", "moustacheMagnum")
HAIR_COLORS = ("#2c1b18", "#4a312c", "#b58143", "#d6b370", "#c93305")
GRAY_HAIR_COLORS = ("#929598", "#c4c4c4", "#e8e1e1")
SKIN_COLORS = ("#614335", "#ae5d29", "#d08b5b", "#edb98a", "#ffdbb4")
CLOTHES = (
    "blazerAndShirt",
    "blazerAndSweater",
    "collarAndSweater",
    "hoodie",
    "overall",
    "shirtCrewNeck",
    "shirtScoopNeck",
    "shirtVNeck",
)
CLOTHES_COLORS = (
    "#262e33",
    "#25557c",
    "#5199e4",
    "#65c9ff",
    "#a7ffc4",
    "#e6e6e6",
    "#929598",
    "#ffafb9",
    "#ff488e",
    "#ff5c5c",
)
EYES = ("default", "happy", "side", "squint", "surprised", "wink")
EYEBROWS = ("default", "defaultNatural", "flatNatural", "raisedExcited", "upDown")
MOUTHS = ("default", "serious", "smile", "twinkle")
GLASSES = ("kurt", "prescription01", "prescription02", "round", "sunglasses")
GLASSES_COLOR = "#262e33"

STRIKING = ("backgroundColor", "skinColor", "topVariant", "hairColor", "clothesColor")
"""The options that fill most of a picture; no two people share all of them."""

BEARD_AGE = 20  # years; from here on a man may have facial hair
BALDING_AGE = 45
GRAY_AGE = 60
BEARD_SHARE, BALDING_SHARE, GRAY_SHARE, GLASSES_SHARE = 0.5, 0.25, 0.75, 0.3

Look = dict[str, Any]


@dataclass(frozen=True)
class Sitter:
    """A person to draw; `age` in years."""

    name: str
    gender: str
    age: int


def draw_portraits(sitters: Sequence[Sitter], seed: int, side_px: int) -> list[bytes]:
    """Return a square PNG per sitter, in order; no two are alike, at `COMPARED_PX` either.

    A portrait depends on the seed and its sitter; one that looks like an earlier one is drawn anew.
    """
    seen: set[object] = set()
    return [_draw_new(sitter, seed, side_px, seen) for sitter in sitters]


def choose_look(gender: str, age: int, rng: random.Random) -> Look:
    """Return the options of a face of the avataaars style, none of them left to that style."""
    man = gender == "male"
    hairstyle = rng.choice(HAIRSTYLES[gender])
    balding = rng.random() < BALDING_SHARE and man and age >= BALDING_AGE
    bearded = rng.random() < BEARD_SHARE and man and age >= BEARD_AGE
    gray = rng.random() < GRAY_SHARE and age >= GRAY_AGE
    hair_color = rng.choice(GRAY_HAIR_COLORS if gray else HAIR_COLORS)
    return {
        "backgroundColor": rng.choice(BACKGROUNDS),
        "skinColor": rng.choice(SKIN_COLORS),
        "topVariant": BALDING if balding else hairstyle,
        "hairColor": hair_color,
        "facialHairVariant": rng.choice(FACIAL_HAIR),
        "facialHairProbability": 100 if bearded else 0,
        "facialHairColor": hair_color,
        "clothesVariant": rng.choice(CLOTHES),
        "clothesColor": rng.choice(CLOTHES_COLORS),
        "hatColor": rng.choice(CLOTHES_COLORS),
        "eyesVariant": rng.choice(EYES),
        "eyebrowsVariant": rng.choice(EYEBROWS),
        "mouthVariant": rng.choice(MOUTHS),
        "accessoriesVariant": rng.choice(GLASSES),
        "accessoriesProbability": 100 if rng.random() < GLASSES_SHARE else 0,
        "accessoriesColor": GLASSES_COLOR,
    }


def render(look: Look, side_px: int) -> bytes:
    """Return the face with these options as a square PNG with this side, in pixels."""
    import resvg_py
    from dicebear import Avatar

    svg = Avatar(_style(), look).to_string()
    return bytes(
        resvg_py.svg_to_bytes(svg_string=svg, width=side_px, height=side_px, skip_system_fonts=True)
    )


def _draw_new(sitter: Sitter, seed: int, side_px: int, seen: set[object]) -> bytes:
    attempt = 0
    while True:
        rng = generator(seed, "portrait", sitter.name, sitter.gender, attempt)
        look = choose_look(sitter.gender, sitter.age, rng)
        striking = tuple(look[option] for option in STRIKING)
        if striking not in seen:
            portrait = render(look, side_px)
            pixels = shrink(portrait, min(side_px, COMPARED_PX))
            if pixels not in seen:
                seen.update((striking, pixels))
                return portrait
        attempt += 1


def shrink(portrait: bytes, side_px: int) -> bytes:
    """Return the RGB bytes of a picture scaled to this side, in pixels."""
    from PIL import Image

    picture = Image.open(io.BytesIO(portrait)).convert("RGB")
    return picture.resize((side_px, side_px), Image.Resampling.BOX).tobytes()


@functools.cache
def _style() -> Any:
    """Load the style once: checking it against its schema takes a hundred faces' time."""
    from dicebear import Style

    text = files("dicebear_styles").joinpath("avataaars.json").read_text("utf-8")
    return Style(json.loads(text))
