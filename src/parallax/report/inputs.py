"""What the report of the unlearning half is made of, read and checked."""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parallax.errors import DataError
from parallax.files import read_json, read_table
from parallax.provenance import Provenance, read_provenance
from parallax.records import MODALITIES, Modality

if TYPE_CHECKING:
    import pandas as pd

TRAINED = ("base", "sft", "retain_only")

_LOSS_COLUMNS = ("step", "epoch", "loss")
_SCORED_COLUMNS = (
    *("model", "set", "person_id", "task", "field", "modality", "prompt", "options"),
    *("reference", "output", "matched_option", "abstained", "score"),
)


class Scores:
    """The figures of metrics/unlearning.json by model, set, task and key; null is NaN."""

    def __init__(self, values: Mapping[str, Any], source: str) -> None:
        self._values = values
        self._source = source

    def value(self, *keys: str) -> float:
        """Return the figure under `keys`, for example ("sft", "forget", "accuracy", "acc_mul").

        Raises:
            DataError: a key is missing or the figure is no number.
        """
        entry: Any = self._values
        for depth, key in enumerate(keys):
            if not isinstance(entry, Mapping) or key not in entry:
                place = ".".join(keys[: depth + 1])
                raise DataError(f"{self._source}: no {place}; run `dvc repro score` again")
            entry = entry[key]
        if entry is None:
            return math.nan
        if isinstance(entry, bool) or not isinstance(entry, int | float):
            place = ".".join(keys)
            raise DataError(f"{self._source}: {place} = {entry!r}: must be a number or null")
        return float(entry)

    def count(self, *keys: str) -> int:
        """Return the number of questions under `keys`; a null counts as none."""
        number = self.value(*keys)
        return 0 if math.isnan(number) else int(number)


@dataclasses.dataclass(frozen=True)
class Check:
    """One validation check as it is shown; `examples` are the first offending values."""

    name: str
    description: str
    outcome: str
    reason: str
    rows_checked: int
    unexpected_count: int
    examples: tuple[str, ...]
    error: str


@dataclasses.dataclass(frozen=True)
class UnlearningInputs:
    """Everything that the unlearning sections show."""

    scores: Scores
    scored: "pd.DataFrame"
    curves: "Mapping[str, pd.DataFrame]"
    checks: tuple[Check, ...]
    origin: Provenance
    names: Mapping[str, str]
    portraits: Mapping[str, bytes]

    @property
    def modalities(self) -> tuple[Modality, ...]:
        """The modalities that were asked: text alone where the model takes no images."""
        asked = set(self.scored["modality"])
        return tuple(modality for modality in MODALITIES if modality in asked)


def read_inputs(
    metrics: Path, scored: Path, curves: Path, validation: Path, experiment: Path, provenance: Path
) -> UnlearningInputs:
    """Read the six inputs of the report.

    Raises:
        DataError: a file is missing or unreadable, or lacks a column or key that is needed.
    """
    origin = read_provenance(provenance)
    faces = experiment / "portraits.parquet"
    images = require_columns(read_table(faces), ("person_id", "portrait"), faces)
    portraits = dict(zip(images["person_id"], images["portrait"], strict=True))
    # The name of somebody in given files may not be plain.
    names = {person_id: f"ID {person_id}" for person_id in portraits} if origin.given else {}
    for group in origin.names.values():
        names |= group
    return UnlearningInputs(
        scores=Scores(as_mapping(read_json(metrics), metrics), str(metrics)),
        scored=require_columns(read_table(scored), _SCORED_COLUMNS, scored),
        curves=_read_curves(curves),
        checks=read_checks(validation),
        origin=origin,
        names=names,
        portraits=portraits,
    )


def _read_curves(folder: Path) -> "dict[str, pd.DataFrame]":
    return {name: _read_curve(folder / f"{name}.csv") for name in (*TRAINED, "unlearn")}


def _read_curve(path: Path) -> "pd.DataFrame":
    import pandas as pd

    try:
        return require_columns(pd.read_csv(path), _LOSS_COLUMNS, path)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; run `dvc repro` first") from None
    except (pd.errors.EmptyDataError, pd.errors.ParserError) as error:
        raise DataError(f"{path}: not a CSV table ({error})") from None


def read_checks(path: Path) -> tuple[Check, ...]:
    """Read the results of a suite of checks, as `parallax.validation.suite` reports them.

    Raises:
        DataError: the file is missing or has another shape.
    """
    checks = as_mapping(read_json(path), path).get("checks")
    if not isinstance(checks, list):
        raise DataError(f"{path}: no list under 'checks'; run `dvc repro` again")
    return tuple(_check(as_mapping(entry, path), path) for entry in checks)


def _check(entry: Mapping[str, Any], path: Path) -> Check:
    try:
        return Check(
            name=str(entry["name"]),
            description=str(entry["description"]),
            outcome=str(entry["outcome"]),
            reason=str(entry["reason"]),
            rows_checked=int(entry["rows_checked"] or 0),
            unexpected_count=int(entry["unexpected_count"] or 0),
            examples=tuple(str(value) for value in (entry.get("unexpected") or [])),
            error=str(entry.get("error") or ""),
        )
    except KeyError as error:
        raise DataError(f"{path}: a check has no key {error}; run `dvc repro` again") from None


def as_mapping(value: Any, path: Path) -> Mapping[str, Any]:
    """Return a JSON value that must be an object, else raise DataError with the file's name."""
    if not isinstance(value, Mapping):
        raise DataError(f"{path}: expected a JSON object, found {type(value).__name__}")
    return value


def require_columns(table: "pd.DataFrame", wanted: tuple[str, ...], path: Path) -> "pd.DataFrame":
    """Return a table that must have columns, else raise DataError with the missing ones."""
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        raise DataError(
            f"{path}: no column {', '.join(missing)}; it has {', '.join(map(str, table.columns))}"
        )
    return table
