"""Stage `dataset`: profiles become the official files and the auxiliary set."""

import argparse
from pathlib import Path

from parallax.errors import DataError
from parallax.files import read_table, replace_folder
from parallax.params import load_params
from parallax.stages.command import run_stage
from parallax.umu.official import AUXILIARY, FULL, REAL, write_subset
from parallax.umu.questions import build_people
from parallax.umu.splits import cut_subsets, shuffle_ids


def main(arguments: argparse.Namespace) -> str:
    """Write all questions of all people and return a one-line summary."""
    seed = load_params().data.seed
    groups = build_people(read_table(arguments.profiles), seed)
    if empty := [group for group, people in groups.items() if not people]:
        raise DataError(f"{arguments.profiles}: nobody in group {', '.join(empty)}")
    everyone = {person.person_id: person for person in groups["fictitious"]}
    subsets = cut_subsets(shuffle_ids(list(everyone), seed, "official splits"))
    with replace_folder(arguments.out) as folder:
        write_subset(folder, FULL, groups["fictitious"])
        write_subset(folder, REAL, groups["real"])
        for subset, ids in subsets.items():
            write_subset(folder, subset, [everyone[person_id] for person_id in ids])
    with replace_folder(arguments.auxiliary) as folder:
        write_subset(folder, AUXILIARY, groups["auxiliary"])
    counts = ", ".join(f"{len(people)} {group}" for group, people in groups.items())
    instances = sum(len(person.instances) for people in groups.values() for person in people)
    return f"dataset: {counts} people, {instances} questions in each modality"


def parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    line = argparse.ArgumentParser(prog="parallax.stages.dataset", description=__doc__)
    line.add_argument("--profiles", type=Path, required=True, help="parquet file of the profiles")
    line.add_argument("--out", type=Path, required=True, help="folder for the official files")
    line.add_argument("--auxiliary", type=Path, required=True, help="folder for the auxiliary set")
    return line


if __name__ == "__main__":
    run_stage(main, parser())
