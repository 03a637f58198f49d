"""Rows of the hand-kept CSV files, whose every error names file, line and column."""

import csv
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from parallax.errors import DataError

LIST_SEPARATOR = "|"


@dataclass(frozen=True)
class Row:
    """One record of a CSV file and where it stands."""

    path: Path
    line: int
    values: dict[str, str]

    def wrong(self, column: str, want: str) -> DataError:
        """Return the error for this row's value in `column`; `want` says what belongs there."""
        value = self.values[column]
        return DataError(f"{self.path}: line {self.line}, column {column}: {value!r}; want {want}")

    def text(self, column: str) -> str:
        """Return a non-empty text without stray blanks."""
        value = self.values[column]
        if not value or value != " ".join(value.split()):
            raise self.wrong(column, "a text without stray blanks")
        return value

    def integer(self, column: str, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`."""
        value = self.values[column]
        if not value.isdecimal() or not low <= int(value) <= high:
            raise self.wrong(column, f"a whole number from {low} to {high}")
        return int(value)

    def member(self, column: str, allowed: Container[str], where: str) -> str:
        """Return a text that `allowed` contains; `where` names the place that lists them."""
        value = self.text(column)
        if value not in allowed:
            raise self.wrong(column, f"one of {where}")
        return value

    def texts(self, column: str) -> tuple[str, ...]:
        """Return the parts of a list such as "a|b"."""
        parts = tuple(self.text(column).split(LIST_SEPARATOR))
        if not all(parts) or len(set(parts)) < len(parts):
            raise self.wrong(column, f"different texts joined by {LIST_SEPARATOR!r}")
        return parts


def read_rows(path: Path, columns: Sequence[str]) -> list[Row]:
    """Read a CSV file with a header, one record a line.

    Raises:
        DataError: the file is missing or not UTF-8, its columns are not `columns` in this order,
            a line has another number of values, or there is no line beside the header.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; restore it from the repository") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start} is not UTF-8; save it as UTF-8") from None
    # Line by line, so that a quote left open cannot swallow the lines after it.
    records = [next(csv.reader([line]), []) for line in lines]
    if not records or records[0] != list(columns):
        found = records[0] if records else []
        raise DataError(f"{path}: line 1: columns {found}; want {list(columns)}")
    if len(records) == 1:
        raise DataError(f"{path}: no line beside the header; restore it from the repository")
    for number, record in enumerate(records[1:], start=2):
        if len(record) != len(columns):
            raise DataError(
                f"{path}: line {number}, column {columns[min(len(record), len(columns) - 1)]}:"
                f" {len(record)} values; want {len(columns)}: quote a value that has a comma in it"
            )
    return [
        Row(path, number, dict(zip(columns, record, strict=True)))
        for number, record in enumerate(records[1:], start=2)
    ]


def require_unique(rows: Iterable[Row], *columns: str) -> None:
    """Check that no two rows share the values of all `columns`, case aside.

    Raises:
        DataError: two rows do; the message names the later one and the line of the earlier one.
    """
    lines: dict[tuple[str, ...], int] = {}
    for row in rows:
        key = tuple(row.values[column].casefold() for column in columns)
        if key in lines:
            raise row.wrong(columns[-1], f"a value that line {lines[key]} does not have")
        lines[key] = row.line
