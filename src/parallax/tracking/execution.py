"""Which pipeline execution a stage belongs to, and which processes still work on one."""

import dataclasses
import hashlib
import os
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil
import yaml

from parallax.errors import DataError
from parallax.files import digest
from parallax.tracking.store import git, project_root

COMMIT_TAG = "mlflow.source.git.commit"
_SHELLS = {"sh", "ash", "bash", "dash", "fish", "ksh", "zsh"}
# The kernel's start times move a little when the clock is corrected.
_START_TOLERANCE = 10.0


@dataclasses.dataclass(frozen=True)
class Execution:
    """One execution of the pipeline.

    `experiment` is DVC's experiment name ("" for a plain `dvc repro` or a stage called by hand),
    `commit` its baseline or HEAD ("" outside git), `params_md5` the digest of params.yaml.
    """

    experiment: str
    commit: str
    params_md5: str

    @property
    def key(self) -> str:
        """Digest of what makes two executions the same one."""
        place = self.commit or str(project_root())
        text = "\n".join([self.experiment, place, self.params_md5])
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def tags(self) -> dict[str, str]:
        """Tags of the execution's runs."""
        tags = {
            "parallax.key": self.key,
            "parallax.params_md5": self.params_md5,
            COMMIT_TAG: self.commit,
            "DVC_EXP_NAME": self.experiment,
        }
        return {name: value for name, value in tags.items() if value}


def current_execution() -> Execution:
    """Return the execution of this process, from DVC's environment, git and params.yaml."""
    params = Path("params.yaml")
    return Execution(
        experiment=os.environ.get("DVC_EXP_NAME", ""),
        commit=os.environ.get("DVC_EXP_BASELINE_REV") or git("rev-parse", "HEAD"),
        params_md5=md5(params.read_bytes() if params.is_file() else b""),
    )


def md5(content: bytes) -> str:
    """Return the md5 that DVC gives a file of this content."""
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def environment_tags() -> dict[str, str]:
    """Return tags for the stage's environment; `git.dirty`: the code differs from the commit."""
    names = ("DVC_STAGE", "DVC_ROOT", "DVC_EXP_BASELINE_REV")
    dirty = git("status", "--porcelain", "--", "src", "dvc.yaml")
    tags = {name: os.environ[name] for name in names if name in os.environ}
    return tags | {"git.dirty": "true" if dirty else "false"}


def output_tags(lock: Path) -> dict[str, str]:
    """Return the md5 of every output in a dvc.lock, as tags `md5/PATH`; none without the file."""
    return read_output_tags(lock.read_text(encoding="utf-8")) if lock.is_file() else {}


def read_output_tags(lock: str) -> dict[str, str]:
    """Return `output_tags` of the text of a dvc.lock."""
    stages = (yaml.safe_load(lock) or {}).get("stages", {})
    outs = [out for stage in stages.values() for out in stage.get("outs", [])]
    return {f"md5/{out['path']}": out["md5"] for out in outs if "md5" in out}


def input_digests(paths: Iterable[str]) -> dict[str, str]:
    """Return the md5 of each input: from dvc.lock in a pipeline, else of its present content.

    Raises:
        DataError: there is no such file or folder.
    """
    # Within `dvc repro` the lock already holds what earlier stages made: a model is not read twice.
    known = output_tags(Path("dvc.lock")) if in_pipeline() else {}
    return {path: known.get(f"md5/{path}") or _digest(Path(path)) for path in paths}


def _digest(path: Path) -> str:
    if not path.exists():
        raise DataError(f"{path}: no such file or folder; run `dvc repro` first")
    return digest(path)


def in_pipeline() -> bool:
    """Say whether DVC runs this process as a stage."""
    return "DVC_STAGE" in os.environ


def stage_owner() -> dict[str, str]:
    """Return tags that name this process."""
    return _owner(psutil.Process())


def pipeline_owner() -> dict[str, str]:
    """Return tags that name what runs the stages one by one: DVC, or this process without DVC."""
    process = psutil.Process()
    if in_pipeline():
        process = next((p for p in process.parents() if p.name() not in _SHELLS), process)
    return _owner(process)


def _owner(process: psutil.Process) -> dict[str, str]:
    return {
        "parallax.host": socket.gethostname(),
        "parallax.pid": str(process.pid),
        "parallax.started": f"{process.create_time():.2f}",
    }


def is_orphan(tags: Mapping[str, str]) -> bool:
    """Say whether the process in a run's tags ran on this host and is gone."""
    if tags.get("parallax.host") != socket.gethostname():
        return False
    try:
        started = psutil.Process(int(tags["parallax.pid"])).create_time()
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        return False
    return abs(started - float(tags["parallax.started"])) > _START_TOLERANCE
