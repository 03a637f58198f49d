"""Records of CSV and JSONL files, whose every error names file, line and column."""

import csv
import io
import json
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from parallax.errors import DataError

SHOWN = 60  # characters of a refused value that an error repeats


@dataclass(frozen=True)
class Row:
    """One record of a file and the line on which it begins.

    A CSV file has texts alone, with "" for an empty cell; a JSONL file may hold any JSON value.
    """

    path: Path
    line: int
    values: Mapping[str, object]

    def wrong(self, column: str, want: str) -> DataError:
        """Return the error for this row's value in `column`; `want` says what belongs there."""
        if column not in self.values:
            return DataError(
                f"{self.path}: line {self.line}, column {column}: missing; want {want}"
            )
        value = repr(self.values[column])
        shown = value if len(value) <= SHOWN else f"{value[:SHOWN]}..."
        return DataError(f"{self.path}: line {self.line}, column {column}: {shown}; want {want}")

    def stripped_text(self, column: str) -> str:
        """Return a text that is not blank, stripped of the blanks around it."""
        value = self.values.get(column)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(column, "a text")
        if strange := next(filter(_is_strange, value), None):
            raise self.wrong(column, f"a text without the character U+{ord(strange):04X}")
        return value.strip()

    def text(self, column: str) -> str:
        """Return a text without blanks around it, which inside it are kept."""
        if (text := self.stripped_text(column)) != self.values[column]:
            raise self.wrong(column, "a text without blanks around it: remove them")
        return text

    def optional_text(self, column: str) -> str | None:
        """Return a text, or None where the cell is empty, null or absent."""
        return None if self.values.get(column) in (None, "") else self.text(column)

    def choice(self, column: str, allowed: Collection[str]) -> str:
        """Return a text out of `allowed`."""
        value = self.values.get(column)
        if not isinstance(value, str) or value not in allowed:
            raise self.wrong(column, f"one of {', '.join(sorted(allowed))}")
        return value

    def flag(self, column: str) -> bool:
        """Return a truth value, which CSV spells true or false in any case."""
        value = self.values.get(column)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        if not isinstance(value, bool):
            raise self.wrong(column, "true or false")
        return value


def _is_strange(character: str) -> bool:
    """Tell control characters, which no prompt has, and half characters, which no file can hold."""
    return character not in "\n\t" and unicodedata.category(character) in ("Cc", "Cs")


def read_rows(path: Path, columns: Sequence[str], optional: Sequence[str] | None = ()) -> list[Row]:
    """Read the records of a CSV file (with a header) or of a JSONL file, as its suffix says.

    Each record has all of `columns` and may have those in `optional`; None as `optional` lets any
    other column pass.

    Raises:
        DataError: the file is missing, is empty, is neither CSV nor JSONL or is not UTF-8; a
            column is missing, unknown or double; a record is malformed.
    """
    readers = {".csv": _read_csv, ".jsonl": _read_jsonl}
    if path.suffix.lower() not in readers:
        raise DataError(f"{path}: ends in {path.suffix!r}; want one of {', '.join(readers)}")
    try:
        text = path.read_bytes().decode("utf-8-sig")  # spreadsheets write a byte-order mark
    except (FileNotFoundError, IsADirectoryError):
        raise DataError(f"{path}: no such file; check the path") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start} is not UTF-8; save it as UTF-8") from None
    rows = []
    for row in readers[path.suffix.lower()](path, text.replace("\r\n", "\n")):
        _check_columns(row, columns, optional)
        rows.append(row)
    if not rows:
        raise DataError(f"{path}: no record; want at least one")
    return rows


def _check_columns(row: Row, columns: Sequence[str], optional: Sequence[str] | None) -> None:
    for column in columns:
        if column not in row.values:
            raise row.wrong(column, f"the columns {', '.join(columns)}")
    if optional is None:
        return
    for column in row.values:
        if column not in columns and column not in optional:
            known = ", ".join((*columns, *optional))
            raise DataError(
                f"{row.path}: line {row.line}, column {column}: unknown; want only {known}"
            )


def _read_csv(path: Path, text: str) -> Iterator[Row]:
    # Spreadsheets in many countries save with semicolons, and some with tabs.
    separator = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
    header: list[str] = []
    begin = 1
    try:
        for record in reader:
            if not header:
                header = record
                if double := _first_double(header):
                    raise DataError(f"{path}: line {begin}, column {double}: stands there twice")
            elif record:
                if len(record) != len(header):
                    column = header[min(len(record), len(header)) - 1]
                    raise DataError(
                        f"{path}: line {begin}, column {column}: {len(record)} values in the"
                        f" record; want {len(header)}: quote a value that has a comma in it"
                    )
                yield Row(path, begin, dict(zip(header, record, strict=True)))
            begin = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{path}: line {begin}: not CSV ({error}); check this record's quotes"
        ) from None


def _read_jsonl(path: Path, text: str) -> Iterator[Row]:
    for line, record in enumerate(text.split("\n"), start=1):
        if not record.strip():
            continue
        try:
            values = json.loads(record, object_pairs_hook=_unique_keys)
        except json.JSONDecodeError as error:
            raise DataError(
                f"{path}: line {line}, character {error.colno}: not JSON ({error.msg})"
            ) from None
        except _DoubleKeyError as error:
            raise DataError(f"{path}: line {line}, column {error}: stands there twice") from None
        except ValueError:
            raise DataError(f"{path}: line {line}: a number with too many digits") from None
        except RecursionError:
            raise DataError(f"{path}: line {line}: nested too deeply; want one object") from None
        if not isinstance(values, dict):
            raise DataError(f"{path}: line {line}: no JSON object; want one record a line")
        yield Row(path, line, values)


class _DoubleKeyError(ValueError):
    """A JSON object has a key twice."""


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if double := _first_double([key for key, _ in pairs]):
        raise _DoubleKeyError(double)
    return dict(pairs)


def _first_double(names: Sequence[str]) -> str | None:
    return next((name for place, name in enumerate(names) if name in names[:place]), None)


def require_unique(rows: Iterable[Row], column: str) -> None:
    """Check that no two rows have the same value in `column`.

    Raises:
        DataError: two rows do; the message names the later one and the line of the earlier one.
    """
    lines: dict[str, int] = {}
    for row in rows:
        value = row.stripped_text(column)
        if value in lines:
            raise row.wrong(column, f"a value that line {lines[value]} does not have")
        lines[value] = row.line
