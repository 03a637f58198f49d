"""Make MLflow runs for results that no stage of this store recorded.

DVC's run cache restores outputs without running a stage, and pulled experiments ran elsewhere.
`python -m parallax.tracking.sync` adds a run for each experiment, and each commit of a new
dvc.lock, that has none. A second call adds nothing.
"""

import argparse
import dataclasses
import json
import math
import sys
from collections.abc import Iterator, Mapping

import yaml

from parallax.errors import ParallaxError
from parallax.tracking.entries import log_metrics, log_params
from parallax.tracking.execution import COMMIT_TAG, Execution, md5, read_output_tags
from parallax.tracking.parents import close_orphans, create_parent, list_executions
from parallax.tracking.store import (
    Tracker,
    connect,
    find_store,
    git,
    git_bytes,
    locked,
    project_root,
    startup_errors,
)
from parallax.tracking.values import flatten, numbers, param_texts

METRICS = ("metrics/unlearning.json", "metrics/framing.json")


@dataclasses.dataclass(frozen=True)
class Result:
    """Results of one execution as git keeps them: the commit `rev` and what it was run from.

    `execution.commit` is an experiment's baseline, and `rev` itself without an experiment.
    """

    rev: str
    name: str
    execution: Execution
    lock: str
    time_ms: int

    @property
    def sources(self) -> set[str]:
        """Commits from which a recorded run may have made these results."""
        if self.execution.experiment:
            return set()
        return {self.rev, *git("rev-parse", f"{self.rev}^@").split()}


def list_results() -> Iterator[Result]:
    """Yield the experiments and commits of HEAD's history that carry results.

    Raises:
        ParallaxError: this is no DVC repository.
    """
    import dvc.api
    from dvc.exceptions import DvcException

    try:
        rows = dvc.api.exp_show(num=-1)
    except DvcException as error:
        raise ParallaxError(f"sync: {error}; run it in the project's folder") from None
    changed = set(git("log", "--format=%H", "--", "dvc.lock").split())
    baseline = ""
    for row in rows:
        if row["rev"] == "workspace" or row["State"] not in (None, "Success"):
            continue
        rev = git("rev-parse", f"{row['rev']}^{{commit}}")
        experiment = row["Experiment"] or ""
        if not experiment:
            baseline = rev
        lock = git("show", f"{rev}:./dvc.lock")
        if lock and (experiment or rev in changed):
            params = git_bytes("show", f"{rev}:./params.yaml")
            yield Result(
                rev=rev,
                name=experiment or f"commit {rev[:7]}",
                execution=Execution(experiment, baseline, md5(params)),
                lock=lock,
                time_ms=1000 * int(git("log", "-1", "--format=%ct", rev)),
            )


def outdated_params(lock: str, params: Mapping[str, object]) -> list[str]:
    """Return the names whose value in params.yaml is not the one that dvc.lock was made with."""
    stages = (yaml.safe_load(lock) or {}).get("stages", {})
    used = [stage.get("params", {}).get("params.yaml", {}) for stage in stages.values()]
    return sorted(
        {name for values in used for name, value in values.items() if _look(params, name) != value}
    )


def _look(values: object, name: str) -> object:
    for part in name.split("."):
        values = values.get(part) if isinstance(values, Mapping) else None
    return values


def add_missing(tracker: Tracker, results: list[Result]) -> Iterator[str]:
    """Add a run for each result without one, yield a line for each; the caller holds the lock."""
    import dvc.api

    known = [run.data.tags for run in list_executions(tracker)]
    keys = {tags["parallax.key"] for tags in known}
    made = {(tags.get(COMMIT_TAG), tags["parallax.params_md5"]) for tags in known}
    for result in results:
        whose = result.execution
        if whose.key in keys or any((rev, whose.params_md5) in made for rev in result.sources):
            continue
        params = dvc.api.params_show(rev=result.rev)
        outdated = outdated_params(result.lock, params)
        if outdated:
            yield f"{result.name}: left out, params.yaml and dvc.lock differ in {outdated[0]}"
            continue
        tags = {"parallax.synced": "true", "parallax.rev": result.rev}
        tags |= read_output_tags(result.lock)
        run_id = create_parent(tracker, whose, result.name, tags, result.time_ms)
        log_params(tracker, run_id, param_texts(flatten(params)))
        metrics = read_metrics(result.rev)
        log_metrics(tracker, run_id, [(*row, result.time_ms, 0) for row in metrics.items()])
        tracker.client.set_terminated(run_id, "FINISHED", result.time_ms)
        yield f"{result.name}: added"


def read_metrics(rev: str) -> dict[str, float]:
    """Return the numbers of a commit's metrics files by which executions are compared."""
    texts = [git("show", f"{rev}:./{file}") for file in METRICS]
    found = [row for text in texts if text for row in numbers(json.loads(text)).items()]
    return {name: value for name, value in found if not math.isnan(value)}


def sync() -> list[str]:
    """Add the missing runs and return a line for each, then a summary.

    Raises:
        ParallaxError: this is no DVC repository, or the tracking address is not usable.
    """
    store = find_store(project_root())
    results = list(list_results())
    with startup_errors(store), locked(store):
        tracker = connect(store)
        close_orphans(tracker)
        lines = list(add_missing(tracker, results))
    return [*lines, f"{len(results)} results in git compared with {store.uri}"]


def main() -> None:
    """Run `python -m parallax.tracking.sync`."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    try:
        print("\n".join(sync()))
    except ParallaxError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
