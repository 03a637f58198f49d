"""The grid's runs as DVC experiments of the present commit: start, queue, find, read."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import yaml

from parallax.errors import DataError, ParallaxError
from parallax.grid.plan import Experiment, Run
from parallax.grid.table import Outcome
from parallax.tracking.store import git

Where = Literal["--temp", "--queue"]
# What decides a run's result; an experiment takes it from the commit, so there it must be.
_DECIDING = ("src", "dvc.yaml", "params.yaml", "data/raw")


def check_project() -> None:
    """Refuse to start where DVC's experiments would fail or be lost.

    Raises:
        ParallaxError: not in the project's top folder, no commit, a shallow clone, or a change
            that is not committed.
    """
    if not Path("dvc.yaml").is_file():
        raise ParallaxError(f"{Path.cwd()}: no dvc.yaml; run from the project's top folder")
    if not git("rev-parse", "--verify", "--quiet", "HEAD"):
        raise ParallaxError(
            "experiments belong to a git commit and there is none: `git init`, `git add .`,"
            " `git commit`, or clone the repository"
        )
    if git("rev-parse", "--is-shallow-repository") == "true":
        raise ParallaxError(
            "this is a shallow clone, in which DVC loses experiments: `git fetch --unshallow`"
        )
    changed = git("status", "--porcelain", "--", *_DECIDING).splitlines()
    if changed:
        raise ParallaxError(
            f"{changed[0][3:]} is changed and not committed: experiments run what is committed, so"
            f" commit or stash it ({len(changed)} in {', '.join(_DECIDING)})"
        )


def find_experiments() -> tuple[dict[str, str], set[str]]:
    """Return the finished experiments (name to revision), and the names of those in the queue.

    An experiment of an earlier commit counts where nothing that decides results changed since.

    Raises:
        ParallaxError: this is no DVC project.
    """
    import dvc.api
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        rows = dvc.api.exp_show()
        with Repo() as repo:
            found = repo.experiments.ls(all_commits=True)
    except DvcException as error:
        raise ParallaxError(f"dvc exp list: {error}") from None
    finished = {
        name: revision
        for baseline in sorted(filter(_decides_alike, found), key=_commit_time)
        for name, revision in found[baseline]
    }
    waiting = {row["Experiment"] for row in rows if row["State"] in ("Queued", "Running")}
    return finished, waiting


def _decides_alike(baseline: str) -> bool:
    """Say whether a commit is here and its deciding files are those of HEAD."""
    trees = [
        git("ls-tree", revision, "--", *_DECIDING)
        for revision in (f"{baseline}^{{commit}}", "HEAD")
    ]
    return bool(trees[0]) and trees[0] == trees[1]


def _commit_time(revision: str) -> int:
    return int(git("log", "-1", "--format=%ct", revision))


def start(run: Experiment, how: Where) -> bool:
    """Run an experiment in a temporary copy of the commit, or queue it; say whether it worked.

    What does not lead to its target is not run.

    `--temp` one by one rather than `--queue` and `--run-all`: the latter ends with status 0 when
    runs fail, and goes on in the background after Ctrl-C.
    """
    sets = [word for text in run.overrides for word in ("-S", text)]
    command = [sys.executable, "-m", "dvc", "exp", "run", how, "--name", run.name]
    command += [*sets, run.target]
    return subprocess.run(command, env=_environment(), check=False).returncode == 0


def _environment() -> dict[str, str]:
    """Return the environment in which `python` and `dvc` are this environment's own."""
    here = str(Path(sys.executable).parent)
    return os.environ | {"PATH": os.pathsep.join([here, os.environ.get("PATH", "")])}


def read_outcomes(runs: Sequence[Run], finished: Mapping[str, str]) -> Iterator[Outcome]:
    """Yield the parameters and metrics of the runs that are finished, in the runs' order.

    Raises:
        DataError: an experiment's commit lacks its metrics or parameters.
    """
    for run in runs:
        if run.name in finished:
            yield Outcome(run, *read_result(run, finished[run.name]))


def read_result(run: Experiment, revision: str) -> tuple[dict[str, object], dict[str, object]]:
    """Return the parameters and metrics of a finished run.

    Raises:
        DataError: its commit lacks them.
    """
    texts = [git("show", f"{revision}:./{file}") for file in ("params.yaml", run.metrics)]
    if not all(texts):
        raise DataError(
            f"experiment {run.name}: no {run.metrics} in its commit; remove it with `dvc exp remove"
            f" {run.name}`, then start the grid again"
        )
    return yaml.safe_load(texts[0]), json.loads(texts[1])
