"""Files that are whole or absent, and whose bytes depend on their content alone."""

import contextlib
import csv
import hashlib
import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parallax.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


@contextlib.contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`, and move it there when the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def replace_folder(path: Path) -> Iterator[Path]:
    """Yield an empty temporary folder beside `path`, which replaces it when the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    try:
        yield part
        shutil.rmtree(path, ignore_errors=True)
        part.replace(path)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text with Unix line ends, whole or not at all."""
    with replace_file(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any) -> None:
    """Write strict JSON with sorted keys; a NaN, which JSON lacks, becomes null.

    Raises:
        ValueError: a number is infinite.
    """
    text = json.dumps(_strict(value), indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _strict(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(entry) for entry in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        DataError: the file is missing or is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; run `dvc repro` first") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: not JSON, line {error.lineno}: {error.msg}") from None


def write_csv(path: Path, rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> None:
    """Write rows as CSV with a header; a key outside `columns` is an error, a missing one empty."""
    with replace_file(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_table(path: Path, table: "pd.DataFrame") -> None:
    """Write a data frame as one parquet file without its index; same rows, same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with replace_file(path) as part:
        arrow = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
        pq.write_table(arrow, part, compression="zstd")


def read_table(path: Path) -> "pd.DataFrame":
    """Read a parquet file as a data frame.

    Raises:
        DataError: the file is missing or is not parquet.
    """
    import pandas as pd
    import pyarrow as pa

    try:
        return pd.read_parquet(path)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; run `dvc repro` first") from None
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: not a parquet file ({error})") from None


def checkpoint_root() -> Path:
    """Return `.checkpoints` of the main repository, also in DVC's temporary copies of it."""
    return Path(os.environ.get("DVC_ROOT", ".")) / ".checkpoints"


def digest(path: Path) -> str:
    """Return the md5 of a file, or of a folder's relative names and contents in sorted order."""
    md5 = hashlib.md5(usedforsecurity=False)
    for file in [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file()):
        if file != path:
            md5.update(file.relative_to(path).as_posix().encode() + b"\0")
        md5.update(file.read_bytes())
    return md5.hexdigest()
