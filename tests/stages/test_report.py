import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from parallax.errors import DataError
from parallax.stages import report

TOP = Path(__file__).parents[2]


def load_sample():
    path = TOP / "tests/report/sample.py"
    spec = importlib.util.spec_from_file_location("report_sample", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(tmp_path):
    sample = load_sample()
    (tmp_path / "params.yaml").write_text((TOP / "params.yaml").read_text())
    paths = sample.write_run(tmp_path, sample.make_scored(people=(3, 3, 3)))
    return paths | {"out": Path("reports/report.html"), "plots": Path("reports/plots")}


def arguments(run):
    return [part for name, path in run.items() for part in (f"--{name}", str(path))]


def test_command_line_writes_page_and_plots(tmp_path, run):
    done = subprocess.run(
        [sys.executable, "-m", "parallax.stages.report", *arguments(run)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(TOP / "src"), "PATH": "", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("reports/report.html: ")
    page = (tmp_path / "reports/report.html").read_text()
    assert "with alpha 1" in page
    assert str(tmp_path) not in page
    assert len(list((tmp_path / "reports/plots").glob("*.png"))) == 3


def test_missing_input_leaves_nothing(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run["scored"].unlink()
    with pytest.raises(DataError, match=r"scored\.parquet: no such file"):
        report.main(report.build_parser().parse_args(arguments(run)))
    assert not run["out"].exists()
    assert not run["plots"].exists()
