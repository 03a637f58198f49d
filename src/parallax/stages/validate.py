"""Stage `validate`: refuse data that would make the experiment's numbers wrong."""

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.errors import DataError
from parallax.files import read_json, read_table
from parallax.provenance import Provenance, read_provenance
from parallax.records import Person
from parallax.stages.command import run_stage

if TYPE_CHECKING:
    import pandas as pd

    from parallax.validation.umu import Inputs

TABLES = ("base", "sft", "evaluation", "portraits")


def main(arguments: argparse.Namespace) -> str:
    """Write the report, then refuse the data if a check failed.

    Raises:
        DataError: a check failed or could not be evaluated; a line for each is on stderr.
    """
    from parallax.tracking import input_digests, stage_run
    from parallax.validation.conclusion import conclude_checks
    from parallax.validation.suite import run_checks
    from parallax.validation.umu import Sizes, umu_checks, umu_frames

    origin = read_provenance(arguments.provenance)
    sizes = Sizes(given=origin.subsets) if origin.given else Sizes()
    digests = input_digests(str(path) for path in (arguments.data, arguments.experiment))
    whence = {f"data.{key}": getattr(origin, key) or None for key in ("source", "layout", "commit")}
    whence["data.drawn"] = ", ".join(origin.drawn) or None
    with stage_run("validate", whence, digests) as run:
        frames = umu_frames(_inputs(arguments, origin), sizes)
        report = run_checks(umu_checks(sizes), frames)
        report["origin"] = origin.describe()
        run.log_metrics({"flaws": len(origin.flaws)})
        run.log_metrics({f"left_out.{kind}": n for kind, n in origin.left_out.items()})
        passed = conclude_checks(report, "data", arguments.out, run)
    return f"validate: {passed}"


def _inputs(arguments: argparse.Namespace, origin: Provenance) -> "Inputs":
    from parallax.validation.umu import Inputs

    return Inputs(
        people=lambda: _read_people(arguments.data, arguments.auxiliary),
        names=lambda: origin.names,
        profiles=lambda: read_table(arguments.profiles),
        tables=lambda: _read_tables(arguments.experiment),
        splits=lambda: _read_splits(arguments.experiment / "splits.json"),
    )


def _read_people(data: Path, auxiliary: Path) -> dict[str, list[Person]]:
    from parallax.umu.folders import FULL, REAL
    from parallax.umu.official import AUXILIARY, read_subset
    from parallax.umu.splits import FORGET_SUBSETS, RETAIN_SUBSETS

    # A portrait stands in four subsets; it is held once.
    portraits: dict[bytes, bytes] = {}
    subsets = {}
    for name in (FULL, *FORGET_SUBSETS, *RETAIN_SUBSETS, REAL):
        subsets[name] = [
            dataclasses.replace(
                person, portrait=portraits.setdefault(person.portrait, person.portrait)
            )
            for person in read_subset(data, name)
        ]
    return subsets | {AUXILIARY: read_subset(auxiliary, AUXILIARY)}


def _read_tables(experiment: Path) -> dict[str, "pd.DataFrame"]:
    return {name: read_table(experiment / f"{name}.parquet") for name in TABLES}


def _read_splits(path: Path) -> dict[str, list[str]]:
    """Read the sets of the experiment.

    Raises:
        DataError: the file is missing, or is no mapping of names to lists of IDs.
    """
    splits = read_json(path)
    if not isinstance(splits, dict) or not all(isinstance(ids, list) for ids in splits.values()):
        raise DataError(f"{path}: want a mapping from each set to a list of IDs; run `dvc repro`")
    return splits


def parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    line = argparse.ArgumentParser(prog="parallax.stages.validate", description=__doc__)
    line.add_argument("--data", type=Path, required=True, help="folder of the official files")
    line.add_argument("--auxiliary", type=Path, required=True, help="folder of the auxiliary set")
    line.add_argument("--profiles", type=Path, required=True, help="parquet file of the profiles")
    line.add_argument("--provenance", type=Path, required=True, help="where the data come from")
    line.add_argument("--experiment", type=Path, required=True, help="folder of the experiment")
    line.add_argument("--out", type=Path, required=True, help="the report, JSON")
    return line


if __name__ == "__main__":
    run_stage(main, parser())
