"""The answers of all annotators, as they are kept beside the items and read by the audit."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from parallax.errors import DataError
from parallax.framing.annotation.cells import read_cells, write_cells
from parallax.framing.annotation.questions import (
    ANNOTATORS,
    ANSWERS,
    QUESTION_NAMES,
    QuestionName,
    spell,
)
from parallax.framing.items import PAIR_KINDS, PairKind
from parallax.framing.rows import Row

ANSWERS_FILE = "answers.csv"
COLUMNS = ("annotator", "id", "pair", "catch", "digest", *QUESTION_NAMES)


@dataclass(frozen=True)
class Answers:
    """What one annotator says of one pair; `digest` is that of its two texts.

    `id` is the name under which the annotator saw it, `catch` a catch pair's kind or "".
    """

    annotator: str
    id: str
    pair: str
    catch: PairKind | Literal[""]
    digest: str
    given: Mapping[QuestionName, bool]

    @property
    def same(self) -> bool:
        """Whether all three answers are yes."""
        return all(self.given.values())


def pair_digest(a: str, b: str) -> str:
    """Return the sha256 of two texts."""
    return hashlib.sha256(json.dumps([a, b]).encode()).hexdigest()


def write_answers(path: Path, answers: Iterable[Answers]) -> None:
    """Write all answers."""
    rows = [
        {
            **{name: str(getattr(row, name)) for name in COLUMNS[:5]},
            **{name: spell(answer) for name, answer in row.given.items()},
        }
        for row in answers
    ]
    write_cells(path, COLUMNS, rows)


def read_answers(path: Path) -> tuple[Answers, ...]:
    """Read what `write_answers` wrote.

    Raises:
        DataError: a value is malformed, an annotator answers for a pair twice, or not all
            annotators answer for the same pairs and texts.
    """
    rows = read_cells(path, COLUMNS)
    answers = tuple(_parse(row) for row in rows)
    lines: dict[tuple[str, str, str], int] = {}
    for row, one in zip(rows, answers, strict=True):
        place = (one.annotator, one.pair, one.catch)
        if place in lines:
            raise row.wrong("pair", f"another pair than line {lines[place]}, for one annotator")
        lines[place] = row.line
    seen = {name: _pairs_of(answers, name) for name in ANNOTATORS}
    everything = set().union(*seen.values())
    for name, pairs in seen.items():
        if missing := sorted(everything - pairs):
            raise DataError(
                f"{path}: column pair: annotator {name} has no answers for {missing[0][0]}, or for"
                " another text of it; import the sheets of all annotators again"
            )
    return answers


def _pairs_of(answers: Sequence[Answers], annotator: str) -> set[tuple[str, str, str]]:
    return {(a.pair, a.catch, a.digest) for a in answers if a.annotator == annotator}


def _parse(row: Row) -> Answers:
    return Answers(
        annotator=row.choice("annotator", ANNOTATORS),
        id=row.text("id"),
        pair=row.text("pair"),
        catch=cast(PairKind | Literal[""], row.choice("catch", ("", *PAIR_KINDS))),
        digest=row.text("digest"),
        given={name: ANSWERS[row.choice(name, ANSWERS)] for name in QUESTION_NAMES},
    )
