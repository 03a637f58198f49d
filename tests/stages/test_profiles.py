import argparse
from pathlib import Path

import pytest
import yaml

from parallax.errors import DataError
from parallax.files import read_table
from parallax.stages.profiles import COLUMNS, assemble, build_parser, main
from parallax.umu.portraits import shrink
from parallax.umu.real_people import read_real_people

ROOT = Path(__file__).parents[2]
RAW = ROOT / "data" / "raw"
QUESTION_FIELDS = COLUMNS[COLUMNS.index("gender") : COLUMNS.index("portrait")]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profiles")
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    params["data"] |= {"seed": 2026, "portrait_px": 64}
    (folder / "params.yaml").write_text(yaml.safe_dump(params))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        summary = main(argparse.Namespace(raw=RAW, out=Path("out.parquet")))
    assert summary == "profiles: 500 fictitious, 153 real, 80 auxiliary people -> out.parquet"
    return read_table(folder / "out.parquet")


def test_rows_and_columns(table):
    assert tuple(table.columns) == COLUMNS
    ids = [*map(str, range(1, 654)), *(f"A{n:02d}" for n in range(1, 81))]
    assert list(table["person_id"]) == ids
    assert list(table["group"]) == ["fictitious"] * 500 + ["real"] * 153 + ["auxiliary"] * 80
    assert table["name"].is_unique
    assert not table.isna().any().any()


def test_groups_have_their_own_fields(table):
    made = table[table["group"] != "real"]
    real = table[table["group"] == "real"]
    awards = ["award", "award_year", "death_year"]
    only_made = [
        "birth_region",
        "education",
        "height",
        "residence",
        "residence_country",
        "interest",
    ]
    assert (made[awards] == "").all().all()
    assert (made[[f for f in QUESTION_FIELDS if f not in awards]] != "").all().all()
    assert (real[only_made] == "").all().all()
    assert (real[[f for f in QUESTION_FIELDS if f not in only_made]] != "").all().all()


def test_real_people_keep_the_order_of_their_file(table):
    real = table[table["group"] == "real"].reset_index(drop=True)
    raw = read_real_people(RAW / "real_people.csv")
    for column in ("name", "birthdate", "award_year", "background"):
        assert list(real[column]) == list(raw[column])


def test_all_portraits_differ(table):
    assert len({shrink(portrait, 64) for portrait in table["portrait"]}) == 733


def test_people_are_the_same_twice_and_others_with_another_seed():
    first = assemble(RAW, 4)
    assert first.equals(assemble(RAW, 4))
    other = assemble(RAW, 5)
    real = first["group"] == "real"
    assert first[real].equals(other[real])
    assert (first[~real]["name"] != other[~real]["name"]).mean() > 0.95


def test_missing_folder(tmp_path):
    with pytest.raises(DataError, match=r"real_people\.csv: no such file"):
        assemble(tmp_path, 0)


def test_command_line():
    args = build_parser().parse_args(["--raw", "a", "--out", "b"])
    assert (args.raw, args.out) == (Path("a"), Path("b"))
