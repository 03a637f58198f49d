"""Where the people come from, what they are called, and what of given files is not used."""

import dataclasses
from pathlib import Path
from typing import Any

from parallax.errors import DataError
from parallax.files import read_json, write_json


@dataclasses.dataclass(frozen=True)
class Provenance:
    """What the dataset stage knows and the official files can't hold.

    `names` are by group ("fictitious", "real", "auxiliary") and ID, `subsets` the numbers of people
    that were written. The rest is of given files: `drawn` are the forget and retain subsets that
    they don't settle and `data.seed` drew; `left_out` counts people, one for each row, and
    questions of the other people by task; `flaws` are the reasons, `unmapped` what has no place in
    the official columns.
    """

    source: str
    names: dict[str, dict[str, str]]
    subsets: dict[str, int]
    layout: str = ""
    commit: str = ""
    drawn: list[str] = dataclasses.field(default_factory=list)
    left_out: dict[str, int] = dataclasses.field(default_factory=dict)
    flaws: list[dict[str, str]] = dataclasses.field(default_factory=list)
    unmapped: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    @property
    def given(self) -> bool:
        """Whether the people come from someone else's files."""
        return self.source != "generated"

    def describe(self) -> dict[str, Any]:
        """Return all but names and numbers of people, for a report."""
        values = dataclasses.asdict(self)
        return {key: values[key] for key in values if key not in ("names", "subsets")}


def write_provenance(path: Path, provenance: Provenance) -> None:
    """Write the provenance as JSON."""
    write_json(path, dataclasses.asdict(provenance))


def read_provenance(path: Path) -> Provenance:
    """Read what `write_provenance` wrote.

    Raises:
        DataError: the file is missing or has other keys.
    """
    try:
        return Provenance(**read_json(path))
    except TypeError:
        raise DataError(f"{path}: has other keys; run `dvc repro dataset` again") from None
