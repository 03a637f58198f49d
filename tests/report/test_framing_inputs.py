import pandas as pd
import pytest

from parallax.errors import DataError
from parallax.files import read_json, write_json, write_table
from parallax.report.framing_inputs import read_framing_inputs


@pytest.fixture
def run(framing_sample, tmp_path):
    return framing_sample.write_run(
        tmp_path, subjects=("behind",), judges=("prototype",), items=3, draws=1
    )


def test_primary_judge_and_subjects_are_those_of_the_analysis(framing):
    assert framing.primary == "prototype"
    assert framing.subjects == ("organism", "behind")


@pytest.mark.parametrize(
    "name", ["metrics", "prompts", "pairs", "judges", "sensitivity", "audit", "prompt_checks"]
)
def test_missing_file_is_a_data_error_that_names_it(run, name):
    run[name].unlink()
    with pytest.raises(DataError, match=rf"{run[name].name}: no such file"):
        read_framing_inputs(**run)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("effects", "p_adjusted"),
        ("item_effects", "N"),
        ("responses", "draw"),
        ("verdicts", "judge"),
    ],
)
def test_missing_column_is_named(run, name, column):
    path = run["results"] / f"{name}.parquet"
    write_table(path, pd.read_parquet(path).drop(columns=column))
    with pytest.raises(DataError, match=rf"{name}\.parquet: no column {column};"):
        read_framing_inputs(**run)


def test_a_table_of_other_subjects_is_refused(run):
    path = run["results"] / "verdicts.parquet"
    write_table(path, pd.read_parquet(path).assign(subject="another"))
    with pytest.raises(DataError, match=r"verdicts: of another; .*framing\.json is of behind"):
        read_framing_inputs(**run)


def test_a_control_of_other_subjects_is_refused(run):
    values = read_json(run["sensitivity"])
    write_json(run["sensitivity"], {"another": values["behind"]})
    with pytest.raises(DataError, match=r"judge_sensitivity\.json: of another; "):
        read_framing_inputs(**run)
