"""Which pairs an annotator sees, in which order, on which side, and under which name."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from parallax.errors import DataError
from parallax.framing.annotation.questions import ANNOTATORS
from parallax.framing.audit.calibration import REWORDED
from parallax.framing.audit.signals import changed_share
from parallax.framing.items import PAIR_KINDS, EquivalencePair, PairKind
from parallax.framing.prompt_table import ItemPair
from parallax.seeding import generator

CATCH_SHARE = 0.1
"""Fraction of an annotator's pairs whose answer is known; at least one of each sort is there."""

# No vowels, hence no words; no digits, which a spreadsheet would read as a number or a date.
_LETTERS = "bcdfghjklmnpqrstvwxz"
_ID_LENGTH = 6


@dataclass(frozen=True)
class Masked:
    """A pair as one annotator sees it.

    `pair` is the ID of an item, or of a labelled pair where `catch` is its kind; `left` says which
    of its texts stands left.
    """

    annotator: str
    id: str
    pair: str
    catch: PairKind | Literal[""]
    left: Literal["a", "b"]
    a: str
    b: str

    @property
    def texts(self) -> tuple[str, str]:
        """The left text and the right one."""
        return (self.a, self.b) if self.left == "a" else (self.b, self.a)


def mask_pairs(
    pairs: Sequence[ItemPair], labelled: Sequence[EquivalencePair], seed: int
) -> tuple[Masked, ...]:
    """Return every annotator's rows: all pairs and the catch pairs, each in an order of its own.

    The catch pairs are the same for all, so that failures can be compared.

    Raises:
        DataError: there are too few labelled pairs to catch with.
    """
    catches = choose_catches(pairs, labelled, generator("human audit", seed, "catch"))
    shown: list[tuple[str, PairKind | Literal[""], str, str]] = [
        *((pair.item, "", pair.a, pair.b) for pair in pairs),
        *((pair.id, pair.kind, pair.a, pair.b) for pair in catches),
    ]
    names = _draw_ids(len(ANNOTATORS) * len(shown), generator("human audit", seed, "ids"))
    masked = []
    for annotator in ANNOTATORS:
        rng = generator("human audit", seed, annotator)
        for pair, catch, a, b in rng.sample(shown, len(shown)):
            left: Literal["a", "b"] = "a" if rng.random() < 0.5 else "b"
            masked.append(Masked(annotator, names.pop(), pair, catch, left, a, b))
    return tuple(masked)


def choose_catches(
    pairs: Sequence[ItemPair], labelled: Sequence[EquivalencePair], rng: random.Random
) -> list[EquivalencePair]:
    """Choose `CATCH_SHARE` of all rows: half equivalent beyond doubt, half planted differences.

    Equivalents are lightly reworded ones, since whether a free paraphrase is equivalent is what
    annotators are asked. The planted ones are of every kind in turn. Topics of the items come
    first, and no text is shown twice.

    Raises:
        DataError: there are too few of a kind.
    """
    count = max(2, round(len(pairs) * CATCH_SHARE / (1 - CATCH_SHARE)))
    topics = {pair.topic for pair in pairs}
    seen = {text for pair in pairs for text in (pair.a, pair.b)}
    waiting = sorted(rng.sample(labelled, len(labelled)), key=lambda pair: pair.topic not in topics)
    planted = PAIR_KINDS[1:]
    kinds = ["equivalent"] * (count // 2)
    kinds += [planted[n % len(planted)] for n in range(count - len(kinds))]
    chosen = []
    for kind in kinds:
        found = next((pair for pair in waiting if _can_catch(pair, kind, seen)), None)
        if found is None:
            raise DataError(
                f"labelled pairs: too few of kind {kind!r} for {count} catch pairs, each with texts"
                " of its own; add some, or audit fewer items at a time"
            )
        chosen.append(found)
        seen |= {found.a, found.b}
    return chosen


def _can_catch(pair: EquivalencePair, kind: str, seen: set[str]) -> bool:
    light = kind != "equivalent" or changed_share(pair.a, pair.b) < REWORDED
    return pair.kind == kind and light and seen.isdisjoint((pair.a, pair.b))


def _draw_ids(count: int, rng: random.Random) -> list[str]:
    drawn: dict[str, None] = {}
    while len(drawn) < count:
        drawn["".join(rng.choices(_LETTERS, k=_ID_LENGTH))] = None
    return list(drawn)
