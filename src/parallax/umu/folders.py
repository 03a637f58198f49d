"""Folders with one subset each, as the benchmarks publish them, and the rows of their files."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from parallax.errors import DataError

FULL = "Full_Set"
REAL = "Real_Person_Set"
FILE_NAME = "train-00000-of-00001.parquet"

# Names that forks give the folders, without case and signs; MLLMU-Bench keeps real people in
# Retain_Set.
ALIASES = {
    FULL: ("fulldata", "full"),
    REAL: ("realperson", "realpersons", "realpeople", "real", "retainset"),
}
# Portraits may be photos of a megabyte: a file is read and written by parts, so that its photos are
# not held a second time.
ROWS_AT_ONCE = 64
_BUFFER_BYTES = 1 << 20
_SHARD = re.compile(r"(.*)-\d+-of-(\d+)\.parquet")


class Row(NamedTuple):
    """A row of a file; `place` says where an ID that can't be used stands."""

    place: str
    cells: dict[str, object]


def find_folder(folder: Path, subset: str) -> Path | None:
    """Return the folder of a subset under its official name or one that forks give it, or None.

    Raises:
        DataError: several folders have such a name, and none the official one.
    """
    if (folder / subset).is_dir():
        return folder / subset
    names = {_plain(subset), *ALIASES.get(subset, ())}
    found = [path for path in list_folders(folder) if _plain(path.name) in names]
    if len(found) > 1:
        raise DataError(_want_one(folder, subset, found))
    return found[0] if found else None


def require_folder(folder: Path, subset: str) -> Path:
    """Return the folder of a subset.

    Raises:
        DataError: there is none, or there are several; the message has the names that there are.
    """
    found = find_folder(folder, subset)
    if found is None:
        raise DataError(_want_one(folder, subset, list_folders(folder)))
    return found


def list_folders(folder: Path) -> list[Path]:
    """Return the folders in a folder, without hidden ones."""
    return sorted(
        path for path in folder.glob("*") if path.is_dir() and not path.name.startswith(".")
    )


def list_columns(folder: Path, subset: str) -> list[str]:
    """Return the columns of a subset's first file.

    Raises:
        DataError: the folder or the file is missing or unreadable.
    """
    file = _list_shards(require_folder(folder, subset), subset)[0]
    with _reading(subset, file):
        return _schema(file)


def read_rows(
    folder: Path, subset: str, columns: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[Row]:
    """Read the named columns of a subset, and the optional ones where there are any.

    Raises:
        DataError: the folder or a file is missing or unreadable, lacks a column or has no row.
    """
    import pyarrow.parquet as pq

    empty = True
    for file in _list_shards(require_folder(folder, subset), subset):
        with _reading(subset, file):
            present = _schema(file)
            if missing := [column for column in columns if column not in present]:
                raise DataError(f"{subset}: {file} has no column {', '.join(missing)}")
            wanted = [*columns, *(column for column in optional if column in present)]
            number = 0
            source = pq.ParquetFile(file, buffer_size=_BUFFER_BYTES, pre_buffer=False)
            for batch in source.iter_batches(ROWS_AT_ONCE, columns=wanted):
                for cells in batch.to_pylist():
                    empty = False
                    yield Row(f"row {number} of {file.name}", cells)
                    number += 1
    if empty:
        raise DataError(f"{subset}: no rows in {folder}")


def parse_id(value: object, place: str) -> str:
    """Return an ID as text; forks write whole numbers, and floats where a column had gaps.

    Raises:
        DataError: the ID is empty or of another type.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{place}, column ID: {value!r}; want a text or a whole number")
    return value.strip()


def _want_one(folder: Path, subset: str, found: Sequence[Path]) -> str:
    names = ", ".join(path.name for path in found) or "none"
    return f"{subset}: want one folder of this name in {folder}; found {names}"


def _list_shards(folder: Path, subset: str) -> list[Path]:
    files = sorted(folder.glob("*.parquet"))
    if not files:
        raise DataError(f"{subset}: no parquet file in {folder}; want {FILE_NAME}")
    # Numbered files by the name of their table, others by their own.
    tables = dict.fromkeys(_SHARD.sub(r"\1-*-of-\2.parquet", file.name) for file in files)
    shards = [match for file in files if (match := _SHARD.fullmatch(file.name))]
    if shards and len(tables) > 1:
        raise DataError(
            f"{subset}: {folder} has files of several tables ({', '.join(tables)}): keep those of"
            " one"
        )
    if shards and len(files) != int(shards[0][2]):
        raise DataError(
            f"{subset}: {folder} has {len(files)} of the {int(shards[0][2])} files"
            f" {next(iter(tables))}: copy all of them"
        )
    return files


def _schema(file: Path) -> list[str]:
    import pyarrow.parquet as pq

    return list(pq.read_schema(file).names)


@contextlib.contextmanager
def _reading(subset: str, file: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{subset}: {file} is not readable as parquet ({reason})") from None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
