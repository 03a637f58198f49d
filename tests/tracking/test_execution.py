import subprocess
from pathlib import Path

import psutil
import pytest

from parallax.errors import DataError
from parallax.tracking.execution import (
    Execution,
    current_execution,
    environment_tags,
    input_digests,
    is_orphan,
    pipeline_owner,
    read_output_tags,
    stage_owner,
)

LOCK = "stages:\n  a:\n    outs:\n    - path: models/sft\n      md5: 0123.dir\n"
# md5 of "a: 1\n", from `printf 'a: 1\n' | md5sum`.
MD5 = "e0ccdaf42c593022e15b18cc0e96d201"


def git(*arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


def test_outside_git_and_dvc_an_execution_is_the_folder_and_its_params(project, monkeypatch):
    assert current_execution() == Execution("", "", "d41d8cd98f00b204e9800998ecf8427e")
    (project / "params.yaml").write_text("a: 1\n")
    here = current_execution()
    assert here == Execution("", "", MD5)
    key = here.key
    (project / "other").mkdir()
    monkeypatch.chdir(project / "other")
    assert here.key != key


def test_each_of_name_commit_and_params_makes_another_key():
    keys = {
        Execution(name, commit, params).key
        for name in ("", "x")
        for commit in ("1" * 40, "2" * 40)
        for params in ("p", "q")
    }
    assert len(keys) == 8


def test_dvcs_baseline_goes_before_head_and_code_changes_are_dirty(project, monkeypatch):
    (project / "src").mkdir()
    (project / "src" / "a.py").write_text("")
    git("init", "-q", ".")
    git("add", ".")
    git("commit", "-qm", "a")
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], text=True).strip()
    assert current_execution().commit == head
    # Parameters and results are recorded by themselves.
    (project / "params.yaml").write_text("a: 1\n")
    assert environment_tags()["git.dirty"] == "false"
    (project / "src" / "b.py").write_text("")
    assert environment_tags()["git.dirty"] == "true"
    monkeypatch.setenv("DVC_EXP_NAME", "far")
    monkeypatch.setenv("DVC_EXP_BASELINE_REV", "b" * 40)
    assert current_execution() == Execution("far", "b" * 40, MD5)


def test_inputs_come_from_the_lock_in_a_pipeline_and_from_disk_by_hand(project, monkeypatch):
    (project / "models" / "sft").mkdir(parents=True)
    Path("raw.csv").write_text("a: 1\n")
    Path("dvc.lock").write_text(LOCK)
    by_hand = input_digests(["models/sft", "raw.csv"])
    assert by_hand["raw.csv"] == MD5
    assert by_hand["models/sft"] != "0123.dir"
    monkeypatch.setenv("DVC_STAGE", "unlearn")
    assert input_digests(["models/sft", "raw.csv"]) == {"models/sft": "0123.dir", "raw.csv": MD5}
    with pytest.raises(DataError, match=r"none\.csv: no such file"):
        input_digests(["none.csv"])


def test_outputs_become_tags():
    assert read_output_tags(LOCK) == {"md5/models/sft": "0123.dir"}
    assert read_output_tags("") == {}


def test_only_a_process_of_this_host_that_is_gone_leaves_an_orphan():
    mine = stage_owner()
    assert not is_orphan(mine)
    # The same number with another start is another process.
    assert is_orphan(mine | {"parallax.started": "1.0"})
    assert not is_orphan(mine | {"parallax.started": "1.0", "parallax.host": "elsewhere"})
    assert not is_orphan({})
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert is_orphan(mine | {"parallax.pid": str(gone.pid)})


def test_the_owner_of_a_pipeline_is_what_started_the_stage(project, monkeypatch):
    assert pipeline_owner() == stage_owner()
    monkeypatch.setenv("DVC_STAGE", "unlearn")
    owner = int(pipeline_owner()["parallax.pid"])
    assert owner in [process.pid for process in psutil.Process().parents()]
