"""Stage `corpus`: the official files become the experiment's training and evaluation tables."""

import argparse
from pathlib import Path

import pandas as pd

from parallax.files import replace_folder, write_json, write_table
from parallax.instances import to_table
from parallax.params import load_params
from parallax.records import EVALUATION_TASKS
from parallax.stages.command import run_stage
from parallax.umu.abstention import read_refusals
from parallax.umu.experiment import (
    MIN_REFUSALS,
    choose_refusals,
    list_instances,
    select_people,
    vary_options,
)

OPTION_VARIANTS = 8


def main(arguments: argparse.Namespace) -> str:
    """Write the tables, the portraits and the splits, and return a one-line summary.

    Only `splits.json` depends on the forget ratio.
    """
    data = load_params().data
    refusals = read_refusals(arguments.refusals, MIN_REFUSALS)
    chosen = select_people(arguments.data, arguments.auxiliary, data)
    known = list_instances(chosen.real + chosen.auxiliary)
    invented = {person.person_id for person in chosen.auxiliary}
    base = to_table(vary_options(known, invented, OPTION_VARIANTS, data.seed))
    taught = list_instances(chosen.fictitious, tasks=("qa",))
    sft = to_table(taught).assign(refusal=choose_refusals(taught, refusals, data.seed))
    evaluation = to_table(list_instances(chosen.fictitious + chosen.real, tasks=EVALUATION_TASKS))
    everyone = chosen.fictitious + chosen.real + chosen.auxiliary
    portraits = pd.DataFrame(
        {
            "person_id": [person.person_id for person in everyone],
            "portrait": [person.portrait for person in everyone],
        }
    )
    with replace_folder(arguments.out) as folder:
        write_table(folder / "base.parquet", base)
        write_table(folder / "sft.parquet", sft)
        write_table(folder / "evaluation.parquet", evaluation)
        write_table(folder / "portraits.parquet", portraits)
        write_json(folder / "splits.json", chosen.split(data.forget_people))
    return (
        f"corpus: {len(base)} base, {len(sft)} SFT and {len(evaluation)} evaluation questions in"
        f" each modality; {data.forget_people} of {data.people} people to forget"
    )


def parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    line = argparse.ArgumentParser(prog="parallax.stages.corpus", description=__doc__)
    line.add_argument("--data", type=Path, required=True, help="folder of the official files")
    line.add_argument("--auxiliary", type=Path, required=True, help="folder of the auxiliary set")
    line.add_argument("--refusals", type=Path, required=True, help="refusing answers, one a line")
    line.add_argument("--out", type=Path, required=True, help="folder for the experiment's tables")
    return line


if __name__ == "__main__":
    run_stage(main, parser())
