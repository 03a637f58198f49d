"""Finders over the options of classification questions, in both modalities.

The frame has one row per question: `row`, `subset` (or "base" of the experiment), answers, options.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from rapidfuzz import fuzz

from parallax.records import LETTERS, MODALITIES
from parallax.validation.findings import Findings, finder, iterate
from parallax.words import ALIKE_PERCENT, fold_words

if TYPE_CHECKING:
    import pandas as pd

# Standard deviations of a fair draw that a letter's count may lie from a quarter. One letter in
# 16,000 lies farther by chance; the data has 9 subsets and base training, each with 2 modalities of
# 4 letters, 80 in all.
LETTER_BAND = 4.0

COLUMNS = (
    "row",
    "subset",
    *(f"{modality}_{part}" for modality in MODALITIES for part in ("answer", "options")),
)


class _Choice(NamedTuple):
    """One classification question of one modality."""

    label: str
    subset: str
    modality: str
    answer: str
    options: tuple[str, ...]


def _choices(frame: "pd.DataFrame") -> Iterator[_Choice]:
    for modality in MODALITIES:
        columns = ("row", "subset", f"{modality}_answer", f"{modality}_options")
        for label, subset, answer, options in iterate(frame, *columns):
            yield _Choice(label, subset, modality, answer, tuple(options))


@finder("options_four", columns=COLUMNS)
def _find_other_counts(frame: "pd.DataFrame") -> Findings:
    choices = list(_choices(frame))
    return Findings(
        len(choices),
        tuple(
            f"{choice.label}: {choice.modality} question has {len(choice.options)} options"
            for choice in choices
            if len(choice.options) != len(LETTERS)
        ),
    )


@finder("options_distinct", columns=COLUMNS)
def _find_repeated(frame: "pd.DataFrame") -> Findings:
    choices = list(_choices(frame))
    rows = []
    for choice in choices:
        counts = Counter(map(fold_words, choice.options))
        rows += [
            f"{choice.label}: {choice.modality} question offers {option.strip()!r} {count} times"
            for option, count in counts.items()
            if count > 1
        ]
    return Findings(len(choices), tuple(rows))


@finder("answer_among_options", columns=COLUMNS)
def _find_missing_answers(frame: "pd.DataFrame") -> Findings:
    choices = list(_choices(frame))
    return Findings(
        len(choices),
        tuple(
            f"{choice.label}: {choice.modality} answer {choice.answer!r} is no option"
            for choice in choices
            if choice.answer not in choice.options
        ),
    )


@finder("options_apart", columns=COLUMNS)
def _find_near_equal(frame: "pd.DataFrame") -> Findings:
    """Equal options are left to `options_distinct`."""
    choices = list(_choices(frame))
    rows = []
    for choice in choices:
        for first, second in itertools.combinations(map(fold_words, choice.options), 2):
            if first != second and fuzz.ratio(first, second) > ALIKE_PERCENT:
                rows.append(
                    f"{choice.label}: {choice.modality} options {first.strip()!r} and"
                    f" {second.strip()!r} are alike"
                )
    return Findings(len(choices), tuple(rows))


@finder("letters_balanced", columns=COLUMNS)
def _find_favoured_letters(frame: "pd.DataFrame") -> Findings:
    """Count the letters of the right answers, per subset and modality.

    Of n questions a letter is right n/4 times, with a binomial standard deviation of
    sqrt(n * 1/4 * 3/4) when positions are drawn fairly.
    """
    counts: dict[tuple[str, str], Counter[str]] = {}
    for choice in _choices(frame):
        if len(choice.options) == len(LETTERS) and choice.answer in choice.options:
            letter = LETTERS[choice.options.index(choice.answer)]
            counts.setdefault((choice.subset, choice.modality), Counter())[letter] += 1
    rows = []
    for (subset, modality), letters in counts.items():
        total = letters.total()
        band = LETTER_BAND * math.sqrt(total * 3 / 16)
        rows += [
            f"{subset}/classification/{modality}: {letter} is right in {letters[letter]} of"
            f" {total} questions, {total / 4:.0f} ± {band:.0f} are fair"
            for letter in LETTERS
            if abs(letters[letter] - total / 4) > band
        ]
    return Findings(sum(letters.total() for letters in counts.values()), tuple(rows))
