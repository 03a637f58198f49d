"""CSV files that spreadsheets open without running anything, read back as they were written."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from parallax.files import write_text
from parallax.framing.rows import Row, read_rows

MARK = "'"
# Where a cell can begin for a spreadsheet, also for one that takes semicolons or tabs for the
# separator and then a comma's quotes for text.
_BEGIN = r'((?:^|[;\t\r\n])"*)'
# What begins a formula, in full width too, and the mark itself.
_ACTIVE = f"(?=[=+\\-@\uff1d\uff0b\uff0d\uff20{MARK}])"
# The place for a mark, in the syntax that Python and the form's script share.
FORMULA = _BEGIN + _ACTIVE
_MARKED = _BEGIN + MARK + _ACTIVE


def neutralise(text: str) -> str:
    """Put an apostrophe before whatever in a text a spreadsheet could take for a formula.

    Also before an apostrophe that stands there, so that `restore` gives every text back.
    """
    return re.sub(FORMULA, rf"\1{MARK}", text)


def restore(cell: str) -> str:
    """Return the text that `neutralise` made a cell of; other apostrophes stay."""
    return re.sub(_MARKED, r"\1", cell)


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


def read_cells(path: Path, columns: Sequence[str], optional: Sequence[str] = ()) -> list[Row]:
    """Read what `write_cells` wrote, also after a spreadsheet saved it.

    Raises:
        DataError: as `read_rows`.
    """
    return [
        replace(row, values={name: restore(str(cell)) for name, cell in row.values.items()})
        for row in read_rows(path, columns, optional)
    ]
