"""The sheets that annotators fill in, and the key that tells what stands in them."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Literal, cast

from parallax.errors import DataError
from parallax.framing.annotation.answers import Answers, pair_digest
from parallax.framing.annotation.cells import read_cells, write_cells
from parallax.framing.annotation.masking import Masked
from parallax.framing.annotation.questions import (
    ANNOTATORS,
    ANSWERS,
    GUIDANCE,
    QUESTION_NAMES,
    QUESTIONS,
    REQUIRED,
    QuestionName,
    spell,
)
from parallax.framing.items import PAIR_KINDS, PairKind
from parallax.framing.rows import Row, require_unique

ANSWER_COLUMNS: dict[QuestionName, str] = {name: f"same_{name}" for name in QUESTION_NAMES}
SHEET_COLUMNS = ("id", "left", "right", *ANSWER_COLUMNS.values())
KEY_COLUMNS = (
    *("annotator", "id", "pair", "catch", "left_is", "a", "b"),
    *(f"right_{name}" for name in QUESTION_NAMES),
)


def instruct(annotator: str) -> str:
    """Return what an annotator must know to fill in the sheet without the form."""
    questions = "\n".join(
        f"  {ANSWER_COLUMNS[name]}: {question.wording}" for name, question in QUESTIONS.items()
    )
    return (
        f"Annotator {annotator}: do the two texts ask for the same?\n\n"
        "Open form.html in a browser; it says the rest. Or fill in sheet.csv with a spreadsheet\n"
        "program: write yes or no into the last three columns of every row, change nothing else,\n"
        f"and save it as CSV (UTF-8).\n\n{questions}\n\n" + "\n\n".join(map(fill, GUIDANCE)) + "\n"
    )


def write_sheet(path: Path, masked: Iterable[Masked]) -> None:
    """Write one annotator's sheet, with empty cells for the answers."""
    rows = [
        dict.fromkeys(SHEET_COLUMNS, "")
        | dict(zip(SHEET_COLUMNS, (row.id, *row.texts), strict=False))
        for row in masked
    ]
    write_cells(path, SHEET_COLUMNS, rows, for_people=True)


def write_key(path: Path, masked: Iterable[Masked]) -> None:
    """Write what every row of every annotator is, with the right answers of catch pairs."""
    rows = [
        {
            **{name: str(getattr(row, name)) for name in ("annotator", "id", "pair", "catch")},
            **{"left_is": row.left, "a": row.a, "b": row.b},
            **{
                f"right_{name}": spell(answer)
                for name, answer in (REQUIRED[row.catch] if row.catch else {}).items()
            },
        }
        for row in masked
    ]
    write_cells(path, KEY_COLUMNS, [dict.fromkeys(KEY_COLUMNS, "") | row for row in rows])


def read_key(path: Path) -> tuple[Masked, ...]:
    """Read what `write_key` wrote.

    Raises:
        DataError: the file is malformed.
    """
    rows = read_cells(path, KEY_COLUMNS)
    require_unique(rows, "id")
    return tuple(
        Masked(
            annotator=row.choice("annotator", ANNOTATORS),
            id=row.text("id"),
            pair=row.text("pair"),
            catch=cast(PairKind | Literal[""], row.choice("catch", ("", *PAIR_KINDS))),
            left=cast(Literal["a", "b"], row.choice("left_is", ("a", "b"))),
            a=row.text("a"),
            b=row.text("b"),
        )
        for row in rows
    )


def collect_answers(key: Sequence[Masked], sheets: Sequence[Path]) -> tuple[Answers, ...]:
    """Read the filled sheets of all annotators; the rows of a sheet may come in any order.

    Raises:
        DataError: an ID is unknown, missing or double, a text is not the one exported, an answer
            is missing or no yes or no, two sheets are one annotator's, or an annotator's sheet is
            missing; the message names file, line and column.
    """
    found: dict[str, tuple[Path, list[Answers]]] = {}
    for path in sheets:
        rows = read_cells(path, SHEET_COLUMNS)
        annotator = _find_annotator(rows, key)
        if annotator in found:
            raise rows[0].wrong(
                "id",
                f"another annotator's sheet than {found[annotator][0]}, which is also of annotator"
                f" {annotator}",
            )
        own = {row.id: row for row in key if row.annotator == annotator}
        _require_all(path, rows, own)
        found[annotator] = path, [_read_answers(row, own[row.text("id")]) for row in rows]
    if missing := [name for name in ANNOTATORS if name not in found]:
        raise DataError(
            f"{', '.join(map(str, sheets)) or 'no sheet'}: the sheet of annotator {missing[0]} is"
            f" missing; give those of all {len(ANNOTATORS)}"
        )
    return tuple(answers for name in ANNOTATORS for answers in found[name][1])


def _find_annotator(rows: Sequence[Row], key: Sequence[Masked]) -> str:
    """Return whose sheet it is; every row must be that annotator's."""
    owners = {row.id: row.annotator for row in key}
    for row in rows:
        if row.text("id") not in owners:
            raise row.wrong("id", "an ID that the key has: leave IDs as they were exported")
        if owners[row.text("id")] != owners[rows[0].text("id")]:
            raise row.wrong("id", f"an ID of the sheet that line {rows[0].line} belongs to")
    return owners[rows[0].text("id")]


def _require_all(path: Path, rows: Sequence[Row], own: dict[str, Masked]) -> None:
    require_unique(rows, "id")
    for row in rows:
        masked = own[row.text("id")]
        for column, text in zip(("left", "right"), masked.texts, strict=True):
            if row.values[column] != text.replace("\r\n", "\n"):
                raise row.wrong(
                    column, f"the text that was exported as {masked.id}: answer for that one"
                )
    given = {row.values["id"] for row in rows}
    if missing := [name for name in own if name not in given]:
        raise DataError(
            f"{path}: column id: no row for {', '.join(missing[:3])}"
            f"{f' and {len(missing) - 3} more' if len(missing) > 3 else ''};"
            f" want all {len(own)} rows that were exported"
        )
    unanswered = [
        (row, column)
        for row in rows
        for column in ANSWER_COLUMNS.values()
        if not str(row.values[column]).strip()
    ]
    if unanswered:
        row, column = unanswered[0]
        more = f"; {len(unanswered)} answers are missing in all" if len(unanswered) > 1 else ""
        raise row.wrong(column, f"yes or no{more}")


def _read_answers(row: Row, masked: Masked) -> Answers:
    given = {}
    for name, column in ANSWER_COLUMNS.items():
        answer = str(row.values[column]).strip().lower()
        if answer not in ANSWERS:
            raise row.wrong(column, "yes or no")
        given[name] = ANSWERS[answer]
    digest = pair_digest(masked.a, masked.b)
    return Answers(masked.annotator, masked.id, masked.pair, masked.catch, digest, given)
