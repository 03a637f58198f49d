import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

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
    return sample.write_run(tmp_path, sample.make_scored(people=(3, 3, 3)))


def report(folder, run):
    command = [sys.executable, "-m", "parallax.stages.report"]
    for name, path in run.items():
        command += [f"--{name}", str(path)]
    command += ["--out", "reports/report.html", "--plots", "reports/plots"]
    return subprocess.run(
        command,
        cwd=folder,
        env={"PYTHONPATH": str(TOP / "src"), "PATH": "", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )


def test_command_line_writes_page_and_plots(tmp_path, run):
    done = report(tmp_path, run)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("reports/report.html: ")
    page = (tmp_path / "reports/report.html").read_text()
    assert "with alpha 1" in page
    assert str(tmp_path) not in page
    assert len(list((tmp_path / "reports/plots").glob("*.png"))) == 3


def test_missing_input_is_one_line_and_leaves_nothing(tmp_path, run):
    run["scored"].unlink()
    done = report(tmp_path, run)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "scored.parquet: no such file" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "reports/report.html").exists()
