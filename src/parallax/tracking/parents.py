"""The run of a whole pipeline execution, whose children are the stages' runs."""

from typing import TYPE_CHECKING

from parallax.tracking import execution
from parallax.tracking.entries import log_tags
from parallax.tracking.execution import Execution
from parallax.tracking.store import Tracker

if TYPE_CHECKING:
    from mlflow.entities import Run

PARENT_TAG = "mlflow.parentRunId"
_ROLE = "parallax.role"


def find_parent(tracker: Tracker, key: str) -> str | None:
    """Return the run of the execution with this key, None where there is none."""
    found = tracker.client.search_runs(
        [tracker.experiment_id],
        f"tags.`parallax.key` = '{key}' and tags.`{_ROLE}` = 'execution'",
        max_results=1,
    )
    return str(found[0].info.run_id) if found else None


def list_executions(tracker: Tracker) -> "list[Run]":
    """Return the runs of all executions."""
    runs: list[Run] = []
    token: str | None = ""
    while token is not None:
        page = tracker.client.search_runs(
            [tracker.experiment_id], f"tags.`{_ROLE}` = 'execution'", page_token=token or None
        )
        runs.extend(page)
        token = page.token
    return runs


def create_parent(
    tracker: Tracker,
    whose: Execution,
    name: str,
    tags: dict[str, str],
    start_ms: int | None = None,
) -> str:
    """Make the run of an execution; the caller holds the lock and found none."""
    run = tracker.client.create_run(
        tracker.experiment_id,
        start_time=start_ms,
        tags={_ROLE: "execution"} | whose.tags() | tags,
        run_name=name,
    )
    return str(run.info.run_id)


def open_parent(tracker: Tracker, whose: Execution, title: str) -> str:
    """Return the execution's run, made or opened again; the caller holds the lock."""
    owner = execution.pipeline_owner()
    run_id = find_parent(tracker, whose.key)
    if run_id is None:
        name = whose.experiment or title or f"repro @{whose.commit[:7] or 'no commit'}"
        return create_parent(tracker, whose, name, owner)
    tracker.client.update_run(run_id, status="RUNNING")
    log_tags(tracker, run_id, owner)
    return run_id


def open_child(tracker: Tracker, whose: Execution, parent_id: str, stage: str) -> str:
    """Make a stage's run below the execution's run."""
    environment = execution.environment_tags()
    run = tracker.client.create_run(
        tracker.experiment_id,
        tags={
            _ROLE: "stage",
            PARENT_TAG: parent_id,
            "mlflow.source.name": stage,
            "mlflow.source.type": "LOCAL",
            **whose.tags(),
            **environment,
            **execution.stage_owner(),
        },
        run_name=environment.get("DVC_STAGE", stage),
    )
    return str(run.info.run_id)


def close_orphans(tracker: Tracker) -> None:
    """End the runs of this host whose process is gone; the caller holds the lock.

    A stage becomes KILLED and so does its execution; an execution whose stages all ended by
    themselves becomes FINISHED.
    """
    client = tracker.client
    running = client.search_runs([tracker.experiment_id], "attributes.status = 'RUNNING'")
    gone = [run for run in running if execution.is_orphan(run.data.tags)]
    # Read again: a process may have ended its run and then itself since the search.
    orphans = [run for run in gone if client.get_run(run.info.run_id).info.status == "RUNNING"]
    stages = {run.info.run_id for run in orphans if PARENT_TAG in run.data.tags}
    killed = stages | {run.data.tags.get(PARENT_TAG) for run in orphans}
    for run in orphans:
        status = "KILLED" if run.info.run_id in killed else "FINISHED"
        client.set_terminated(run.info.run_id, status)
