"""The checks on real git repositories, and DVC on a pipeline of one stage."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from parallax.errors import DataError, ParallaxError
from parallax.grid.__main__ import start_runs
from parallax.grid.experiments import check_project, find_experiments, read_outcomes, start
from parallax.grid.plan import Run, Setting

TOP = Path(__file__).parents[2]
SETTING = Setting("mix", "both", {})


def git(*arguments, where="."):
    subprocess.run(["git", *arguments], cwd=where, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A git repository with one commit, in which DVC's last stage writes what it was told."""
    top = tmp_path / "project"
    top.mkdir()
    shutil.copytree(TOP / ".dvc", top / ".dvc", ignore=lambda *_: ["cache", "tmp", "config.local"])
    shutil.copy(TOP / ".dvcignore", top)
    (top / "params.yaml").write_text("unlearn:\n  method: ga\n  alpha: 1.0\n")
    (top / "write.py").write_text(
        "import json, pathlib, yaml\n"
        "params = yaml.safe_load(open('params.yaml'))['unlearn']\n"
        "pathlib.Path('metrics').mkdir(exist_ok=True)\n"
        "if params['method'] == 'kl': raise SystemExit('kl fails')\n"
        "json.dump(params, open('metrics/unlearning.json', 'w'))\n"
    )
    stage = {
        "cmd": "python write.py",
        "params": ["unlearn"],
        "metrics": [{"metrics/unlearning.json": {"cache": False}}],
    }
    (top / "dvc.yaml").write_text(yaml.safe_dump({"stages": {"score": stage}}))
    for name in ("MLFLOW_TRACKING_URI", "DVC_ROOT", "DVC_EXP_NAME", "DVC_STAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DVC_NO_ANALYTICS", "1")
    monkeypatch.chdir(top)
    git("init", "-q", "-b", "main")
    for key in ("name", "email"):
        git("config", f"user.{key}", "parallax@localhost")
    git("add", ".")
    git("commit", "-q", "-m", "Begin")
    return top


def run_of(name, *overrides):
    return Run(name, "ga", SETTING, None, overrides)


def test_a_clean_project_passes_whatever_its_results_are(project):
    (project / "dvc.lock").write_text("{}")
    (project / "notes.txt").write_text("not part of the pipeline")
    check_project()


def test_a_changed_file_that_decides_results_is_refused(project):
    (project / "src").mkdir()
    (project / "src" / "new.py").write_text("")
    with pytest.raises(ParallaxError, match="src/ is changed and not committed"):
        check_project()
    git("add", ".")
    git("commit", "-q", "-m", "Add")
    check_project()
    (project / "params.yaml").write_text("unlearn: {}\n")
    with pytest.raises(ParallaxError, match=r"params\.yaml is changed.*commit or stash"):
        check_project()


def test_a_folder_without_a_pipeline_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParallaxError, match=r"no dvc\.yaml"):
        check_project()


def test_a_project_without_a_commit_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    with pytest.raises(ParallaxError, match="there is none"):
        check_project()
    git("init", "-q")
    with pytest.raises(ParallaxError, match="there is none"):
        check_project()


def test_a_shallow_clone_is_refused(project, tmp_path, monkeypatch):
    git("commit", "-q", "--allow-empty", "-m", "Go on")
    git("clone", "-q", "--depth", "1", project.as_uri(), str(tmp_path / "shallow"))
    monkeypatch.chdir(tmp_path / "shallow")
    with pytest.raises(ParallaxError, match="git fetch --unshallow"):
        check_project()


def test_experiments_are_started_found_and_read(project, capfd):
    good = run_of("methods-ga-mix", "unlearn.alpha=0.5")
    waiting = run_of("methods-po-mix", "unlearn.method=po")
    bad = run_of("methods-kl-mix", "unlearn.method=kl")
    assert start(good, "--temp")
    assert not start(bad, "--temp")
    assert "kl fails" in capfd.readouterr().err
    assert start(waiting, "--queue")
    finished, queued = find_experiments()
    assert set(finished) == {"methods-ga-mix"}
    assert queued == {"methods-po-mix"}
    capfd.readouterr()
    assert start_runs([good, waiting], "--temp") == []
    said = capfd.readouterr().out
    assert "2 runs, 0 of them new\nqueued, or running elsewhere: methods-po-mix." in said
    (outcome,) = read_outcomes([waiting, good, bad], finished)
    assert outcome.run == good
    assert outcome.params["unlearn"] == {"method": "ga", "alpha": 0.5}
    assert outcome.metrics == {"method": "ga", "alpha": 0.5}
    git("commit", "-q", "--allow-empty", "-m", "Note")
    assert find_experiments()[0] == finished
    # The working tree is as it was: experiments run in copies.
    assert not (project / "metrics").exists()
    check_project()
    (project / "params.yaml").write_text("unlearn:\n  method: ga\n  alpha: 2.0\n")
    git("commit", "-q", "-a", "-m", "Change")
    assert find_experiments()[0] == {}


def test_a_killed_run_starts_again_by_the_way_that_is_named(project, capfd):
    code = (project / "write.py").read_text()
    alive = project.parent / "alive"
    kill = f"if not os.path.exists({str(alive)!r}): os.killpg(0, signal.SIGKILL)"
    (project / "write.py").write_text(f"import os, signal\n{kill}\n{code}")
    git("commit", "-q", "-a", "-m", "Die")
    run = run_of("methods-ga-mix")
    words = ["-m", "dvc", "exp", "run", "--temp", "--name", run.name, run.target]
    done = subprocess.run([sys.executable, *words], start_new_session=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert start_runs([run], "--temp") == []
    assert "delete .dvc/tmp/exps/standalone" in capfd.readouterr().out
    shutil.rmtree(project / ".dvc/tmp/exps/standalone")
    alive.touch()
    assert start_runs([run], "--temp") == []
    assert set(find_experiments()[0]) == {run.name}


def test_a_commit_without_metrics_is_refused(project):
    with pytest.raises(DataError, match=r"experiment lost: no metrics/unlearning\.json"):
        list(read_outcomes([run_of("lost")], {"lost": "HEAD"}))


def test_the_command_says_in_one_line_what_is_wrong(project):
    (project / "params.yaml").write_text("unlearn: {}\n")
    done = subprocess.run(
        [sys.executable, "-m", "parallax.grid", "methods"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(TOP / "src"), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: params.yaml is changed")
    assert done.stderr.count("\n") == 1
