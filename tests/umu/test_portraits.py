import io
import random

import pytest
from PIL import Image

from parallax.umu.portraits import (
    BACKGROUNDS,
    BALDING,
    FACIAL_HAIR,
    GRAY_HAIR_COLORS,
    HAIRSTYLES,
    Sitter,
    choose_look,
    draw_portraits,
    render,
    shrink,
)

SITTERS = [Sitter(f"Person {n}", ("male", "female")[n % 2], 15 + n % 70) for n in range(40)]


@pytest.fixture(scope="module")
def portraits() -> list[bytes]:
    return draw_portraits(SITTERS, 7, 64)


def looks(gender: str, age: int) -> list[dict[str, object]]:
    return [choose_look(gender, age, random.Random(seed)) for seed in range(400)]


def test_png_of_the_wanted_side():
    (portrait,) = draw_portraits(SITTERS[:1], 7, 128)
    picture = Image.open(io.BytesIO(portrait))
    assert (picture.format, picture.size) == ("PNG", (128, 128))


def test_same_seed_same_bytes(portraits):
    assert draw_portraits(SITTERS[:10], 7, 64) == portraits[:10]


def test_another_seed_or_name_gives_another_face(portraits):
    assert draw_portraits(SITTERS[:1], 8, 64)[0] != portraits[0]
    renamed = Sitter("Somebody Else", SITTERS[0].gender, SITTERS[0].age)
    assert draw_portraits([renamed], 7, 64)[0] != portraits[0]


def test_portraits_differ_in_pixels(portraits):
    assert len({shrink(portrait, 64) for portrait in portraits}) == len(SITTERS)


def test_lookalike_is_drawn_anew():
    # The same sitter twice would be the same face twice.
    first, second = draw_portraits([SITTERS[0]] * 2, 7, 64)
    assert shrink(first, 64) != shrink(second, 64)
    assert [first] == draw_portraits([SITTERS[0]], 7, 64)
    assert draw_portraits([SITTERS[0]] * 2, 7, 64) == [first, second]


def test_small_portraits_differ_too():
    drawn = draw_portraits(SITTERS, 7, 32)
    assert len({shrink(portrait, 32) for portrait in drawn}) == len(SITTERS)


def test_backgrounds_fill_the_corners(portraits):
    corners = {Image.open(io.BytesIO(p)).convert("RGB").getpixel((0, 0)) for p in portraits}
    allowed = {tuple(bytes.fromhex(color[1:])) for color in BACKGROUNDS}
    assert len(allowed) == 12
    assert corners <= allowed
    assert len(corners) > 6


def test_women_have_long_hair_and_no_beard():
    for look in looks("female", 50):
        assert look["topVariant"] in HAIRSTYLES["female"]
        assert look["facialHairProbability"] == 0


def test_men_have_short_hair_and_some_a_beard():
    men = looks("male", 40)
    assert {look["topVariant"] for look in men} == set(HAIRSTYLES["male"])
    assert {look["facialHairVariant"] for look in men} == set(FACIAL_HAIR)
    assert 0.4 < sum(look["facialHairProbability"] == 100 for look in men) / 400 < 0.6
    assert set(HAIRSTYLES["male"]).isdisjoint(HAIRSTYLES["female"])


def test_boys_have_neither_beard_nor_bald_head():
    for look in looks("male", 16):
        assert look["facialHairProbability"] == 0
        assert look["topVariant"] != BALDING


@pytest.mark.parametrize(("age", "low", "high"), [(59, 0, 0), (60, 0.65, 0.85)])
def test_gray_hair_comes_with_age(age, low, high):
    for gender in ("male", "female"):
        share = sum(look["hairColor"] in GRAY_HAIR_COLORS for look in looks(gender, age)) / 400
        assert low <= share <= high


def test_old_men_are_balding_at_times():
    share = sum(look["topVariant"] == BALDING for look in looks("male", 70)) / 400
    assert 0.15 < share < 0.35


def test_beard_shows():
    look = choose_look("male", 40, random.Random(0)) | {"facialHairVariant": "beardMajestic"}
    shaved = render(look | {"facialHairProbability": 0}, 64)
    bearded = render(look | {"facialHairProbability": 100}, 64)
    assert shrink(shaved, 64) != shrink(bearded, 64)


def test_look_leaves_nothing_to_the_style():
    # Two seeds of the style's own randomness would otherwise give two faces.
    look = choose_look("female", 30, random.Random(0))
    assert render(look, 64) == render(look | {"seed": "other"}, 64)
