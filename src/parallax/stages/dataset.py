"""Stage `dataset`: our own people, or those of given files, become the official files."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.errors import DataError
from parallax.files import read_table, replace_folder
from parallax.params import Data, load_params
from parallax.provenance import Provenance, write_provenance
from parallax.records import Person
from parallax.stages.command import run_stage
from parallax.umu.flaws import count_unmapped, list_flaws, refuse_flaws
from parallax.umu.folders import FULL, REAL
from parallax.umu.given import Population, read_given
from parallax.umu.hub import fetch_snapshot
from parallax.umu.official import AUXILIARY, write_subset
from parallax.umu.questions import build_people
from parallax.umu.splits import cut_subsets, shuffle_ids
from parallax.umu.wordings import Group
from parallax.words import fold_words

if TYPE_CHECKING:
    import pandas as pd


def main(arguments: argparse.Namespace) -> str:
    """Write all questions of all people and return a one-line summary.

    Raises:
        DataError: the profiles or the given files are not usable.
    """
    data = load_params().data
    profiles = read_table(arguments.profiles)
    made = build_people(profiles, data.seed)
    if empty := [group for group, people in made.items() if not people]:
        raise DataError(f"{arguments.profiles}: nobody in group {', '.join(empty)}")
    names = _names(profiles)
    population, commit = _collect(data, arguments.folder, made, names)
    auxiliary = _unlike(made["auxiliary"], names["auxiliary"], population.names)
    everyone = {person.person_id: person for person in population.fictitious}
    members = {FULL: population.fictitious, REAL: population.real} | {
        subset: [everyone[person_id] for person_id in ids]
        for subset, ids in population.subsets.items()
    }
    with replace_folder(arguments.out) as folder:
        for subset, people in members.items():
            write_subset(folder, subset, people)
    with replace_folder(arguments.auxiliary) as folder:
        write_subset(folder, AUXILIARY, auxiliary)
    provenance = Provenance(
        source=data.source,
        names=population.names | {"auxiliary": names["auxiliary"]},
        subsets={subset: len(people) for subset, people in members.items()}
        | {AUXILIARY: len(auxiliary)},
        layout=population.layout,
        commit=commit,
        drawn=population.drawn,
        left_out=population.left_out,
        flaws=list_flaws(population.flaws),
        unmapped=count_unmapped(population.unmapped),
    )
    write_provenance(arguments.provenance, provenance)
    return _summarise(population, auxiliary)


def _names(profiles: "pd.DataFrame") -> dict[str, dict[str, str]]:
    """Return the names of our people by group and ID."""
    return {
        str(group): dict(zip(rows["person_id"], rows["name"], strict=True))
        for group, rows in profiles.groupby("group")
    }


def _collect(
    data: Data,
    folder: Path,
    made: Mapping[Group, list[Person]],
    names: Mapping[str, dict[str, str]],
) -> tuple[Population, str]:
    """Return the people of the data set, and the commit that they were fetched at, if any."""
    if data.source == "generated":
        order = shuffle_ids([p.person_id for p in made["fictitious"]], data.seed, "official splits")
        ours = {group: names[group] for group in ("fictitious", "real")}
        return Population(made["fictitious"], made["real"], ours, cut_subsets(order)), ""
    commit = ""
    if data.source == "hub":
        folder, commit = fetch_snapshot(data.hub, data.revision or "")
    population = read_given(folder, data.seed)
    if data.on_error == "fail":
        refuse_flaws(population.flaws)
    return population, commit


def _unlike(
    auxiliary: Sequence[Person], names: Mapping[str, str], taken: Mapping[str, Mapping[str, str]]
) -> list[Person]:
    """Return the auxiliary people whose names nobody bears whom the model is to learn or to know.

    The base model learns the auxiliary people; a namesake would teach it false facts.
    """
    others = {fold_words(name) for group in taken.values() for name in group.values()}
    return [person for person in auxiliary if fold_words(names[person.person_id]) not in others]


def _summarise(population: Population, auxiliary: Sequence[Person]) -> str:
    groups = {
        "fictitious": population.fictitious,
        "real": population.real,
        "auxiliary": auxiliary,
    }
    counts = ", ".join(f"{len(people)} {group}" for group, people in groups.items())
    instances = sum(len(person.instances) for people in groups.values() for person in people)
    summary = f"dataset: {counts} people, {instances} questions in each modality"
    if population.drawn:
        summary += f"; drawn by data.seed: {', '.join(population.drawn)}"
    if population.flaws:
        summary += f"; flaws: {len(population.flaws)}"
    if lost := [f"{count} {kind}" for kind, count in population.left_out.items() if count]:
        summary += f", left out: {', '.join(lost)}"
    return summary


def parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    line = argparse.ArgumentParser(prog="parallax.stages.dataset", description=__doc__)
    line.add_argument("--profiles", type=Path, required=True, help="parquet file of the profiles")
    line.add_argument("--folder", type=Path, required=True, help="folder of given files")
    line.add_argument("--out", type=Path, required=True, help="folder for the official files")
    line.add_argument("--auxiliary", type=Path, required=True, help="folder for the auxiliary set")
    line.add_argument("--provenance", type=Path, required=True, help="JSON for what files lack")
    return line


if __name__ == "__main__":
    run_stage(main, parser())
