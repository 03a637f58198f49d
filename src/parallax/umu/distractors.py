"""Wrong options of a classification: plausible, and never nearly right."""

import random
import re
from collections.abc import Sequence

from rapidfuzz import fuzz

from parallax.errors import DataError
from parallax.words import ALIKE_PERCENT, fold_words

CITY_FIELDS = frozenset({"birth_city", "residence"})
_NAMING_WORD = 4
"""Letters from which a word that two cities share counts as the same name (not "San", "Los")."""


def choose_distractors(
    field: str, answer: str, pool: Sequence[str], rng: random.Random
) -> tuple[str, str, str]:
    """Draw three wrong options that are alike neither to the answer nor to one another.

    `pool` holds one value per person, so that a value serves as a wrong option about as often as
    it is the right one, and its frequency does not give the answer away.

    Raises:
        DataError: the pool has fewer than three such values.
    """
    chosen = [answer]
    for value in rng.sample(pool, len(pool)):
        if not any(is_alike(field, value, option) for option in chosen):
            chosen.append(value)
            if len(chosen) == 4:
                return chosen[1], chosen[2], chosen[3]
    raise DataError(
        f"field {field}: only {len(chosen) - 1} values can stand beside {answer!r} as wrong"
        " options and 3 are needed: add people whose values differ more"
    )


def is_alike(field: str, first: str, second: str) -> bool:
    """Say whether two options could pass for one another.

    True when, without case and accents, one contains the other or their similarity exceeds
    `ALIKE_PERCENT`; birthdates also when they share the year, cities also when they share a word
    of four letters or more (Frankfurt am Main, Frankfurt an der Oder).
    """
    a, b = fold_words(first), fold_words(second)
    if a.strip() in b or b.strip() in a or fuzz.ratio(a, b) > ALIKE_PERCENT:
        return True
    if field == "birthdate":
        return bool(_years(a) & _years(b))
    return field in CITY_FIELDS and bool(_naming_words(a) & _naming_words(b))


def balance_positions(count: int, rng: random.Random) -> list[int]:
    """Return `count` answer positions 0 to 3 in random order, whose counts differ by at most 1."""
    first = rng.randrange(4)
    positions = [(first + index) % 4 for index in range(count)]
    rng.shuffle(positions)
    return positions


def arrange_options(
    answer: str, distractors: Sequence[str], position: int, rng: random.Random
) -> tuple[str, ...]:
    """Return the four options with the answer at `position` and the others in random order."""
    options = rng.sample(distractors, len(distractors))
    options.insert(position, answer)
    return tuple(options)


def _years(text: str) -> set[str]:
    return set(re.findall(r"\b\d{4}\b", text))


def _naming_words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text) if len(word) >= _NAMING_WORD}
