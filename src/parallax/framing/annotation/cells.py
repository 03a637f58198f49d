"""CSV files that spreadsheets open without running anything, read back as they were written."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from parallax.files import write_text
from parallax.framing.rows import Row, read_rows

MARK = "'"
# What spreadsheets take for the beginning of a formula, in full width too, and the mark itself.
ACTIVE = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20", MARK)


def neutralise(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet could take for a formula.

    Also before one that begins with an apostrophe, so that `restore` gives every text back.
    """
    return MARK + text if text.startswith(ACTIVE) else text


def restore(cell: str) -> str:
    """Return the text that `neutralise` made a cell of."""
    return cell.removeprefix(MARK)


def write_cells(
    path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, str]], for_people: bool = False
) -> None:
    """Write texts as CSV with a header, each neutralised.

    `for_people` begins the file with the mark by which spreadsheets know UTF-8.
    """
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: neutralise(text) for name, text in row.items()} for row in rows)
    write_text(path, ("\ufeff" if for_people else "") + stream.getvalue())


def read_cells(path: Path, columns: Sequence[str]) -> list[Row]:
    """Read what `write_cells` wrote, also after a spreadsheet saved it.

    Raises:
        DataError: as `read_rows`.
    """
    return [
        replace(row, values={name: restore(str(cell)) for name, cell in row.values.items()})
        for row in read_rows(path, columns)
    ]
