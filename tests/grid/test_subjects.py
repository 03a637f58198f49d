"""Subjects as experiments: their names and overrides, DVC on a pipeline of one stage, the table."""

import copy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from parallax.errors import DataError, ParallaxError, ParamsError
from parallax.grid.plan import check_runs
from parallax.grid.subjects import hydra_mapping, plan_subjects, subjects_table
from parallax.params import Subject
from parallax.presets.__main__ import main as write_preset

TOP = Path(__file__).parents[2]
VALUES = yaml.safe_load((TOP / "params.yaml").read_text(encoding="utf-8"))
TINY = {
    "name": "tiny-1.5",
    "backend": "transformers",
    "name_or_path": "/models/a tiny, one",
    "revision": None,
    "rendering": "chat",
    "dtype": "float32",
}
SERVED = TINY | {"name": "served", "backend": "endpoint", "revision": "2506"}
MINUS = "\N{MINUS SIGN}"


def with_subjects(*subjects, pairs=()):
    return copy.deepcopy(VALUES) | {"subjects": list(subjects), "subject_pairs": list(pairs)}


def test_a_run_for_each_subject_without_pairs():
    values = with_subjects(TINY, SERVED, pairs=[{"base": "tiny-1.5", "instruct": "served"}])
    grid = plan_subjects(values)
    assert grid.folder == "subjects"
    assert [run.name for run in grid.runs] == ["subjects-tiny-1-5", "subjects-served"]
    assert {(run.target, run.metrics) for run in grid.runs} == {("analyse", "metrics/framing.json")}
    for run in grid.runs:
        assert run.overrides[1] == "subject_pairs=[]"
    check_runs(grid.runs, values)


@pytest.mark.parametrize("subject", [TINY, SERVED])
def test_a_subject_survives_hydras_grammar(subject):
    from dvc.utils.hydra import to_hydra_overrides

    (override,) = to_hydra_overrides([f"subjects=[{hydra_mapping(Subject(**subject))}]"])
    assert override.value() == [subject]
    assert yaml.safe_load(hydra_mapping(Subject(**subject))) == subject
    with pytest.raises(ParamsError, match="has a quote or backslash"):
        hydra_mapping(Subject(**TINY | {"name_or_path": 'my "model"'}))


def test_further_overrides_are_in_every_run():
    grid = plan_subjects(with_subjects(TINY), ["framing.draws=3"])
    assert grid.folder == "subjects-framing-draws-3"
    assert grid.runs[0].name == "subjects-tiny-1-5-framing-draws-3"
    assert grid.runs[0].overrides[-1] == "framing.draws=3"
    with pytest.raises(ParamsError, match="is what the grid subjects varies"):
        plan_subjects(with_subjects(TINY), ["subjects=1"])


def test_names_that_experiments_cannot_tell_apart_are_refused():
    with pytest.raises(ParamsError, match="too much like another one"):
        plan_subjects(with_subjects(TINY, TINY | {"name": "tiny-1-5"}))


def test_the_papers_subjects_are_five_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(TOP / "params.yaml", "params.yaml")
    write_preset(["paper"])
    values = yaml.safe_load(Path("params.yaml").read_text())
    grid = plan_subjects(values)
    assert len(grid.runs) == 5
    check_runs(grid.runs, values)
    for run in grid.runs:
        subprocess.run(["git", "check-ref-format", f"refs/exps/{run.name}"], check=True)


def headline(estimate, p, label):
    entry = {"estimate": estimate, "low": estimate - 0.1, "high": estimate + 0.1, "p_holm": p}
    return entry | {"label": label}


def test_table_has_a_row_for_each_finished_subject():
    grid = plan_subjects(with_subjects(TINY, SERVED))
    found = {
        "items": 20,
        "claim": "eval-cautious under this judge (prototype); pilot of 20 items",
        "refusal_E-N": headline(0.118, 0.0072, "significant"),
        "refusal_E-D": headline(-0.02, 0.9, "inconclusive"),
    }
    text = subjects_table(grid, {"subjects-tiny-1-5": {"tiny-1.5": found}})
    header, _, row = (line.strip("| ").split(" | ") for line in text.splitlines()[:3])
    assert header[2:5] == [
        f"refusal E {MINUS} N",
        f"refusal E {MINUS} D",
        f"harmful compliance E {MINUS} D",
    ]
    assert row[:2] == ["tiny-1.5", "20"]
    assert row[2] == "+11.8 (+1.8 to +21.8), p 0.0072, significant"
    assert row[3] == f"{MINUS}2.0 ({MINUS}12.0 to +8.0), p 0.90, inconclusive"
    assert row[4:] == ["\N{EN DASH}", found["claim"]]
    assert "Missing: 1 of 2 (subjects-served)." in text
    with pytest.raises(ParallaxError, match="have no subject 'served'"):
        subjects_table(grid, {"subjects-served": {"other": found}})
    with pytest.raises(DataError, match=r"experiment subjects-served: served: items: is missing"):
        subjects_table(grid, {"subjects-served": {"served": {}}})


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository whose stage `analyse` reports on the subjects of its parameters."""
    top = tmp_path / "project"
    top.mkdir()
    shutil.copytree(TOP / ".dvc", top / ".dvc", ignore=lambda *_: ["cache", "tmp", "config.local"])
    shutil.copy(TOP / ".dvcignore", top)
    values = with_subjects(TINY, SERVED, pairs=[{"small": "served", "large": "tiny-1.5"}])
    (top / "params.yaml").write_text(yaml.safe_dump(values))
    entry = {"items": 4, "claim": "none"} | {
        name: headline(0.1, 0.5, "marginal") for name in ("refusal_E-N", "refusal_E-D")
    }
    (top / "write.py").write_text(
        "import json, pathlib, yaml\n"
        "params = yaml.safe_load(open('params.yaml'))\n"
        "assert params['subject_pairs'] == []\n"
        "pathlib.Path('metrics').mkdir(exist_ok=True)\n"
        f"found = {{s['name']: {entry!r} for s in params['subjects']}}\n"
        "json.dump(found, open('metrics/framing.json', 'w'))\n"
    )
    stage = {
        "cmd": f"{sys.executable} write.py",
        "params": ["subjects", "subject_pairs"],
        "metrics": [{"metrics/framing.json": {"cache": False}}],
    }
    (top / "dvc.yaml").write_text(yaml.safe_dump({"stages": {"analyse": stage}}))
    for name in ("MLFLOW_TRACKING_URI", "DVC_ROOT", "DVC_EXP_NAME", "DVC_STAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DVC_NO_ANALYTICS", "1")
    monkeypatch.chdir(top)
    for line in (
        "init -q -b main",
        "config user.name parallax",
        "config user.email parallax@localhost",
        "add .",
        "commit -q -m Begin",
    ):
        subprocess.run(["git", *line.split()], check=True, capture_output=True)
    return top


def test_subjects_are_run_one_by_one_and_compared(project, monkeypatch, capsys):
    from parallax.grid import __main__ as grid

    monkeypatch.setattr(grid, "record_restored", lambda: None)
    parse = grid.build_parser().parse_args
    with pytest.raises(ParallaxError, match="no run of the grid subjects is finished"):
        grid.run(parse(["subjects", "--table-only"]))
    assert grid.run(parse(["subjects"])) == 0
    table = Path("reports/grids/subjects/table.md").read_text()
    assert [line.split(" | ")[0] for line in table.splitlines()[2:4]] == ["| tiny-1.5", "| served"]
    assert "2 of 2 runs -> reports/grids/subjects" in capsys.readouterr().out
    # Finished runs are not run again; their params are the subject's alone.
    assert grid.run(parse(["subjects"])) == 0
    assert "2 runs, 0 of them new" in capsys.readouterr().out
    assert (project / "reports/grids/subjects/subjects-served.json").exists()
    assert yaml.safe_load((project / "params.yaml").read_text())["subject_pairs"]
