import hashlib
import importlib.util
import json
import sys
from pathlib import Path

import pytest

from parallax.files import write_json, write_table
from parallax.provenance import Provenance, write_provenance
from parallax.stages import validate
from parallax.stages.command import run_stage
from parallax.umu.folders import FILE_NAME
from parallax.umu.official import AUXILIARY, write_subset


def load_worlds():
    path = Path(__file__).parents[1] / "validation" / "conftest.py"
    spec = importlib.util.spec_from_file_location("worlds", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["worlds"] = module
    spec.loader.exec_module(module)
    return module


WORLDS = load_worlds()


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Write a small data set and return a function that validates it: exit code, stdout, stderr."""
    # The full size, 500 people, takes longer than a test may.
    monkeypatch.setattr("parallax.validation.umu.Sizes", lambda: WORLDS.SIZES)
    world = WORLDS.make_world()
    for subset, people in world.people.items():
        write_subset(tmp_path / ("auxiliary" if subset == AUXILIARY else "umu"), subset, people)
    write_table(tmp_path / "profiles.parquet", world.profiles)
    provenance = Provenance("generated", world.names(), {})
    write_provenance(tmp_path / "provenance.json", provenance)
    for name, table in world.tables.items():
        write_table(tmp_path / "experiment" / f"{name}.parquet", table)
    write_json(tmp_path / "experiment" / "splits.json", world.splits)
    line = ["validate", "--out", str(tmp_path / "validation.json")]
    for option, path in (
        ("data", "umu"),
        ("auxiliary", "auxiliary"),
        ("profiles", "profiles.parquet"),
        ("provenance", "provenance.json"),
        ("experiment", "experiment"),
    ):
        line += [f"--{option}", str(tmp_path / path)]
    monkeypatch.setattr(sys, "argv", line)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")

    def call():
        code = 0
        try:
            run_stage(validate.main, validate.parser())
        except SystemExit as stop:
            code = stop.code
        return code, *capsys.readouterr()

    return call


def test_clean_files_pass_and_the_report_has_the_same_bytes_twice(run, tmp_path):
    code, out, err = run()
    assert (code, err) == (0, "")
    assert out.startswith("validate: 34 checks of ")
    first = hashlib.md5((tmp_path / "validation.json").read_bytes()).hexdigest()
    report = json.loads((tmp_path / "validation.json").read_text())
    assert report["success"] is True
    assert len(report["checks"]) == 34
    assert run()[0] == 0
    assert hashlib.md5((tmp_path / "validation.json").read_bytes()).hexdigest() == first


def test_a_failed_check_stops_the_pipeline_after_the_report_is_written(run, tmp_path):
    splits = tmp_path / "experiment" / "splits.json"
    sets = json.loads(splits.read_text())
    write_json(splits, sets | {"retain": [*sets["retain"], "1"]})
    code, out, err = run()
    assert (code, out) == (1, "")
    fault, error = err.splitlines()
    assert fault == "sets_partition: splits/1: trained, in set forget and retain"
    assert error.startswith("error: 1 of 34 checks of the data did not pass (sets_partition): ")
    report = json.loads((tmp_path / "validation.json").read_text())
    assert report["success"] is False
    (failed,) = [check for check in report["checks"] if not check["success"]]
    assert failed["unexpected"] == ["splits/1: trained, in set forget and retain"]


def test_an_unreadable_file_is_an_error_of_the_checks_that_need_it(run, tmp_path):
    (tmp_path / "umu" / "forget_5" / FILE_NAME).write_bytes(b"no parquet")
    code, _, err = run()
    assert code == 1
    stopped, _ = err.splitlines()
    assert "subset_sizes, " in stopped and ": not evaluated, " in stopped
    assert "forget_5" in stopped
    checks = json.loads((tmp_path / "validation.json").read_text())["checks"]
    passed = {check["name"] for check in checks if check["success"]}
    assert {"heights_plausible", "sets_partition", "refusals_differ"} <= passed
    assert all(check["error"] for check in checks if not check["success"])


def test_splits_that_are_no_mapping_are_an_error(run, tmp_path):
    (tmp_path / "experiment" / "splits.json").write_text("[]")
    code, _, err = run()
    assert code == 1
    assert err.startswith("sets_partition: not evaluated, ")
    assert "splits.json: want a mapping" in err
