import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from parallax.errors import DataError
from parallax.stages import report

TOP = Path(__file__).parents[2]
# Names of the framing half's inputs -> the stage's options.
OPTIONS = {
    "metrics": "analysis",
    "results": "framing-results",
    "prompts": "prompts",
    "pairs": "pairs",
    "judges": "judges",
    "sensitivity": "sensitivity",
    "audit": "audit",
    "prompt_checks": "prompt-checks",
}


def load_sample(name):
    path = TOP / f"tests/report/{name}.py"
    spec = importlib.util.spec_from_file_location(f"report_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(tmp_path):
    sample = load_sample("sample")
    (tmp_path / "params.yaml").write_text((TOP / "params.yaml").read_text())
    paths = sample.write_run(tmp_path, sample.make_scored(people=(3, 3, 3)))
    framing = load_sample("framing_sample").write_run(tmp_path, items=4, draws=1)
    paths |= {OPTIONS[name]: path for name, path in framing.items()}
    return paths | {"out": Path("reports/report.html"), "plots": Path("reports/plots")}


def arguments(run):
    return [part for name, path in run.items() for part in (f"--{name}", str(path))]


def run_command(tmp_path, run, seed):
    return subprocess.run(
        [sys.executable, "-m", "parallax.stages.report", *arguments(run)],
        cwd=tmp_path,
        env={
            "PYTHONPATH": str(TOP / "src"),
            "PATH": "",
            "OMP_NUM_THREADS": "1",
            "PYTHONHASHSEED": seed,
        },
        capture_output=True,
        text=True,
    )


def test_command_line_writes_page_and_plots_the_same_whenever_it_runs(tmp_path, run):
    written = []
    for seed in ("1", "2"):
        done = run_command(tmp_path, run, seed)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("reports/report.html: ")
        files = [tmp_path / "reports/report.html", *(tmp_path / "reports/plots").glob("*.png")]
        written.append({file.name: file.read_bytes() for file in files})
    assert written[0] == written[1]
    page = written[0].pop("report.html").decode()
    assert "with alpha 1" in page
    assert "under this judge (prototype, kappa 0.76)" in page
    assert str(tmp_path) not in page
    assert sorted(written[0]) == [
        "framing_confusions.png",
        "framing_contrasts.png",
        "framing_items.png",
        "framing_judge_effects.png",
        "framing_kappas.png",
        "modality_plane.png",
        "training_loss.png",
        "unlearning_loss.png",
    ]


@pytest.mark.parametrize(
    ("name", "file"),
    [("scored", r"scored\.parquet"), ("analysis", r"framing\.json")],
)
def test_missing_input_leaves_nothing(tmp_path, run, monkeypatch, name, file):
    monkeypatch.chdir(tmp_path)
    run[name].unlink()
    with pytest.raises(DataError, match=rf"{file}: no such file"):
        report.main(report.build_parser().parse_args(arguments(run)))
    assert not run["out"].exists()
    assert not run["plots"].exists()
