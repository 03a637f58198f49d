"""Stage `profiles`: fictitious, real and auxiliary people with their portraits."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.errors import DataError
from parallax.files import write_table
from parallax.params import load_params
from parallax.stages.command import hold, run_stage

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "person_id",
    "group",
    "name",
    "gender",
    "birthdate",
    "birth_city",
    "birth_region",
    "birth_country",
    "occupation",
    "education",
    "height",
    "residence",
    "residence_country",
    "award",
    "award_year",
    "death_year",
    "background",
    "interest",
    "portrait",
)
"""An empty text means that a person has no such field."""


def main(args: argparse.Namespace) -> str:
    """Write everybody's profile and portrait, and return a one-line summary.

    Raises:
        DataError: a raw file or one of its rows is not usable.
    """
    params = load_params()
    with hold(args.out):
        people = assemble(args.raw, params.data.seed)
        people["portrait"] = _draw(people, params.data.seed, params.data.portrait_px)
        write_table(args.out, people[list(COLUMNS)])
    counts = ", ".join(f"{n} {group}" for group, n in people["group"].value_counts().items())
    return f"profiles: {counts} people -> {args.out}"


def assemble(raw: Path, seed: int) -> "pd.DataFrame":
    """Return all people without portraits: fictitious first, then real, then auxiliary.

    Raises:
        DataError: a raw file or one of its rows is not usable.
    """
    import pandas as pd

    from parallax.umu.profiles import FICTITIOUS, generate_profiles
    from parallax.umu.raw_tables import read_raw_tables
    from parallax.umu.real_people import read_real_people

    real = read_real_people(raw / "real_people.csv").drop(columns="source")
    real["group"] = "real"
    real["person_id"] = [str(FICTITIOUS + 1 + index) for index in range(len(real))]
    profiles = generate_profiles(read_raw_tables(raw), seed, taken_names=list(real["name"]))
    made = pd.DataFrame(profiles)
    fictitious = made["group"] == "fictitious"
    # Real people come second, so that no number of auxiliary people changes their portraits.
    people = pd.concat([made[fictitious], real, made[~fictitious]], ignore_index=True)
    return people.reindex(columns=COLUMNS, fill_value="").fillna("")


def _draw(people: "pd.DataFrame", seed: int, side_px: int) -> list[bytes]:
    from parallax.umu.portraits import Sitter, draw_portraits
    from parallax.umu.real_people import parse_birthdate
    from parallax.umu.sentences import REFERENCE_YEAR

    sitters = []
    for row in people.to_dict("records"):
        born = parse_birthdate(row["birthdate"])
        if born is None:
            raise DataError(f"person {row['person_id']}: birthdate {row['birthdate']!r} is no date")
        age = int(row["death_year"] or REFERENCE_YEAR) - born.year
        sitters.append(Sitter(row["name"], row["gender"], age))
    return draw_portraits(sitters, seed, side_px)


def build_parser() -> argparse.ArgumentParser:
    """Return the stage's command line."""
    parser = argparse.ArgumentParser(prog="python -m parallax.stages.profiles", description=__doc__)
    parser.add_argument("--raw", type=Path, required=True, help="folder of the raw tables")
    parser.add_argument("--out", type=Path, required=True, help="parquet file to write")
    return parser


if __name__ == "__main__":
    run_stage(main, build_parser())
