"""Stage `validate`: refuse data that would make the experiment's numbers wrong."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.errors import DataError
from parallax.files import read_json, read_table
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

    sizes = Sizes()
    digests = input_digests(str(path) for path in (arguments.data, arguments.experiment))
    with stage_run("validate", inputs=digests) as run:
        report = run_checks(umu_checks(sizes), umu_frames(_inputs(arguments), sizes))
        passed = conclude_checks(report, "data", arguments.out, run)
    return f"validate: {passed}"


def _inputs(arguments: argparse.Namespace) -> "Inputs":
    from parallax.validation.umu import Inputs

    return Inputs(
        people=lambda: _read_people(arguments.data, arguments.auxiliary),
        profiles=lambda: read_table(arguments.profiles),
        tables=lambda: _read_tables(arguments.experiment),
        splits=lambda: _read_splits(arguments.experiment / "splits.json"),
    )


def _read_people(data: Path, auxiliary: Path) -> dict[str, list[Person]]:
    from parallax.umu.folders import FULL, REAL
    from parallax.umu.official import AUXILIARY, read_subset
    from parallax.umu.splits import FORGET_SUBSETS, RETAIN_SUBSETS

    subsets = {
        name: read_subset(data, name) for name in (FULL, *FORGET_SUBSETS, *RETAIN_SUBSETS, REAL)
    }
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
    line.add_argument("--experiment", type=Path, required=True, help="folder of the experiment")
    line.add_argument("--out", type=Path, required=True, help="the report, JSON")
    return line


if __name__ == "__main__":
    run_stage(main, parser())
