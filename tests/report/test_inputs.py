import json

import pandas as pd
import pytest

from parallax.errors import DataError
from parallax.report.inputs import read_inputs


@pytest.fixture
def run(sample, tmp_path):
    return sample.write_run(tmp_path, sample.make_scored(people=(2, 2, 2)))


@pytest.mark.parametrize(
    "name", ["metrics", "scored", "validation", "provenance", "curves/sft.csv", "portraits"]
)
def test_missing_file_is_a_data_error_that_names_it(run, name):
    path = {
        "curves/sft.csv": run["curves"] / "sft.csv",
        "portraits": run["experiment"] / "portraits.parquet",
    }.get(name) or run[name]
    path.unlink()
    with pytest.raises(DataError, match=f"{path.name}: no such file"):
        read_inputs(**run)


def test_missing_column_is_named(run):
    scored = pd.read_parquet(run["scored"]).drop(columns="abstained")
    scored.to_parquet(run["scored"])
    with pytest.raises(DataError, match=r"scored\.parquet: no column abstained; it has model"):
        read_inputs(**run)


def test_curve_that_is_no_table_is_named(run):
    (run["curves"] / "base.csv").write_text("")
    with pytest.raises(DataError, match=r"base\.csv: not a CSV table"):
        read_inputs(**run)


@pytest.mark.parametrize("text", ['{"success": true}', '{"checks": [{"name": "a"}]}', "[]"])
def test_validation_in_another_shape_is_named(run, text):
    run["validation"].write_text(text)
    with pytest.raises(DataError, match=r"validation\.json: "):
        read_inputs(**run)


def test_check_that_could_not_run_keeps_its_error(run):
    check = {"name": "a", "description": "b", "outcome": "failed", "reason": "", "rows_checked": 0}
    check |= {"unexpected_count": 0, "unexpected": [], "error": "no column c"}
    run["validation"].write_text(json.dumps({"success": False, "checks": [check]}))
    (found,) = read_inputs(**run).checks
    assert (found.outcome, found.error, found.examples) == ("failed", "no column c", ())
