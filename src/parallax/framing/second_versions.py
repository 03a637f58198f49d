"""Second versions of requests that lack one: a sheet to fill in, and what was filled in."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from parallax.errors import DataError
from parallax.framing.annotation.cells import read_cells, write_cells
from parallax.framing.items import Item
from parallax.framing.rows import Row, read_rows, require_unique

COLUMNS = ("id", "body", "paraphrase")


def write_sheet(path: Path, items: Iterable[Item]) -> None:
    """Write a CSV sheet with a row per request, in which no spreadsheet runs anything."""
    rows = [{"id": item.id, "body": item.body, "paraphrase": ""} for item in items]
    write_cells(path, COLUMNS, rows, for_people=True)


def add_paraphrases(items: Sequence[Item], path: Path) -> tuple[Item, ...]:
    """Give the items that have no paraphrase theirs, from a filled sheet or JSONL.

    The file has `id` and `paraphrase`, and may have the body.

    Raises:
        DataError: the file is malformed, it names an unknown item or one that has a paraphrase, a
            body is not the item's, a text repeats the body, or an item is left without.
    """
    known = {item.id: item for item in items}
    rows = _read(path)
    require_unique(rows, "id")
    for row in rows:
        item = known.get(row.text("id"))
        if item is None:
            raise row.wrong("id", "the ID of an item")
        if item.paraphrase is not None:
            raise row.wrong("id", "an item without a paraphrase: remove this row")
        if "body" in row.values and row.values["body"] != item.body:
            raise row.wrong(
                "body",
                f"the body of item {item.id!r}: put it back, or fill in a sheet that is written"
                " anew",
            )
        if row.text("paraphrase") == item.body:
            raise row.wrong("paraphrase", "other words than the body's")
        known[item.id] = replace(item, paraphrase=row.text("paraphrase"))
    for item in known.values():
        if item.paraphrase is None:
            raise DataError(f"{path}: column id: no row for item {item.id!r}; add its paraphrase")
    return tuple(known.values())


def _read(path: Path) -> list[Row]:
    """Read a sheet, in which texts are neutralised, or JSONL, in which they are not."""
    read = read_cells if path.suffix.lower() == ".csv" else read_rows
    return read(path, ("id", "paraphrase"), optional=("body",))
