"""Push and pull with the repository's own DVC settings and a folder as the remote."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

TOP = Path(__file__).parents[1]
PIPELINE = {
    "model": {
        "cmd": "python write.py",
        "deps": ["write.py"],
        "outs": ["models/tiny"],
        "metrics": [{"metrics.json": {"cache": False}}],
    }
}
SCRIPT = """
import json, pathlib
folder = pathlib.Path("models/tiny")
folder.mkdir(parents=True)
(folder / "weights.bin").write_bytes(bytes(range(256)) * 64)
(folder / "config.json").write_text("{}")
json.dump({"accuracy": 0.5}, open("metrics.json", "w"))
"""


@pytest.fixture
def run(monkeypatch):
    """`run(folder, *command)`: its output; git and dvc know nothing of the outside."""
    monkeypatch.setenv("DVC_NO_ANALYTICS", "1")
    here = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{here}{os.pathsep}{os.environ['PATH']}")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "parallax")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "parallax@localhost")
    monkeypatch.delenv("DVC_ROOT", raising=False)

    def call(folder, *command):
        if command[0] == "dvc":
            command = (sys.executable, "-m", *command)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return call


def test_a_clone_gets_outputs_from_a_shared_folder_and_runs_nothing(tmp_path, run):
    mine, yours = tmp_path / "mine", tmp_path / "yours"
    mine.mkdir()
    shutil.copytree(TOP / ".dvc", mine / ".dvc", ignore=lambda *_: ["cache", "tmp", "config.local"])
    shutil.copy(TOP / ".dvcignore", mine)
    (mine / "dvc.yaml").write_text(yaml.safe_dump({"stages": PIPELINE}))
    (mine / "write.py").write_text(SCRIPT)
    run(mine, "git", "init", "-q", "-b", "main")
    run(mine, "dvc", "repro")
    run(mine, "dvc", "remote", "add", "--default", "shared", str(tmp_path / "remote"))
    run(mine, "git", "add", "--all")
    run(mine, "git", "commit", "-q", "-m", "Write")
    tracked = run(mine, "git", "ls-files").splitlines()
    assert "metrics.json" in tracked and "dvc.lock" in tracked
    assert not any(path.startswith("models/tiny") for path in tracked)
    assert not any("cache" in path or "tmp" in path for path in tracked)
    run(mine, "dvc", "push")

    run(tmp_path, "git", "clone", "-q", str(mine), str(yours))
    assert not (yours / "models" / "tiny").exists()
    run(yours, "dvc", "pull")
    for file in ("weights.bin", "config.json"):
        got, sent = (top / "models" / "tiny" / file for top in (yours, mine))
        assert got.read_bytes() == sent.read_bytes()
    assert json.loads((yours / "metrics.json").read_text()) == {"accuracy": 0.5}
    assert "Running stage" not in run(yours, "dvc", "repro")
    assert run(yours, "git", "status", "--porcelain") == ""
