"""A stage's run: a child of the pipeline execution's run, which carries the headline numbers."""

import collections
import contextlib
import functools
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from parallax.errors import DataError, ParallaxError
from parallax.processes import is_main
from parallax.tracking import entries, execution
from parallax.tracking.parents import close_orphans, open_child, open_parent
from parallax.tracking.store import (
    Tracker,
    connect,
    find_store,
    hide_password,
    locked,
    project_root,
    startup_errors,
)
from parallax.tracking.values import Scalar, check_name, param_texts

if TYPE_CHECKING:
    import pandas as pd

_logger = logging.getLogger(__name__)

_FLUSH_SECONDS = 2.0
_RETRY_SECONDS = 30.0
_LAST_FAILURES = 3


class StageRun:
    """Records one stage.

    A server that fails after the start costs one warning and never the stage: what is unsent is
    tried again every 30 s and at the end.
    """

    def __init__(self, tracker: Tracker, run_id: str, parent_id: str) -> None:
        self.run_id = run_id
        self.parent_id = parent_id
        self._tracker = tracker
        self._metrics: list[entries.MetricRow] = []
        self._unsent: collections.deque[Callable[[], None]] = collections.deque()
        self._next_flush = time.monotonic() + _FLUSH_SECONDS
        self._offline = False
        self._last_stage = False

    def log_step(self, step: int, metrics: Mapping[str, float]) -> None:
        """Record metrics of one training step; they are sent together every 2 s."""
        self._metrics.extend(_rows(step, metrics))
        if time.monotonic() >= self._next_flush:
            self._flush()

    def log_row(self, row: Mapping[str, float]) -> None:
        """Record one row of a training curve: its column `step` and the metrics beside it."""
        self.log_step(int(row["step"]), {k: v for k, v in row.items() if k != "step"})

    def log_metrics(self, metrics: Mapping[str, float]) -> None:
        """Record final numbers of the stage."""
        self.log_step(0, metrics)

    def log_params(self, params: Mapping[str, Scalar]) -> None:
        """Record parameters of the stage; one over 6000 characters goes to a text artifact."""
        texts = param_texts(params)
        self._send(lambda: entries.log_params(self._tracker, self.run_id, texts))

    def log_inputs(self, inputs: Mapping[str, str]) -> None:
        """Record input paths with their digests.

        Raises:
            DataError: a digest is empty or over 36 characters.
        """
        entries.check_digests(inputs)
        self._send(lambda: entries.log_inputs(self._tracker, self.run_id, inputs))

    def log_table(self, name: str, table: "pd.DataFrame") -> None:
        """Store a table as `NAME.json`, which the MLflow page shows as a table."""
        check_name(name)
        client = self._tracker.client
        self._send(lambda: client.log_table(self.run_id, table, f"{name}.json"))

    def log_file(
        self, path: Path, artifact_path: str | None = None, *, of_execution: bool = False
    ) -> None:
        """Store a file among the artifacts of this run, or of the execution's run.

        It lies in the folder `artifact_path`.

        Raises:
            DataError: there is no such file.
        """
        if not path.is_file():
            raise DataError(f"{path}: no such file to store with the MLflow run; write it first")
        client = self._tracker.client
        run_id = self.parent_id if of_execution else self.run_id
        self._send(lambda: client.log_artifact(run_id, str(path), artifact_path))

    def headline(
        self,
        *,
        params: Mapping[str, Scalar] | None = None,
        metrics: Mapping[str, float] | None = None,
        title: str = "",
    ) -> None:
        """Record what a reader compares executions by, on this run and on the execution's run.

        `title` says in a few words what the execution did; it becomes part of its run's name.

        Raises:
            ParallaxError: the execution's run has another value of a parameter.
        """
        texts, rows = param_texts(params or {}), _rows(0, metrics or {})
        for run_id in (self.run_id, self.parent_id):
            self._send(functools.partial(entries.log_params, self._tracker, run_id, texts))
            self._send(functools.partial(entries.log_metrics, self._tracker, run_id, rows))
        if title:
            experiment = execution.current_execution().experiment
            name = f"{experiment}: {title}" if experiment else title
            self._send(lambda: self._tracker.client.update_run(self.parent_id, name=name))

    def finish_parent(self) -> None:
        """Say that this is the pipeline's last stage: the execution's run ends with this one."""
        self._last_stage = True
        digests = execution.output_tags(Path("dvc.lock"))
        self._send(lambda: entries.log_tags(self._tracker, self.parent_id, digests))

    def close(self, status: str, reason: str = "") -> None:
        """Send what is unsent and end the run as FINISHED, FAILED or KILLED."""
        client = self._tracker.client
        ended = [self.run_id]
        if status != "FINISHED" or self._last_stage or not execution.in_pipeline():
            ended.append(self.parent_id)
        for run_id in ended:
            # In front: an artifact that cannot be stored must not leave the run open.
            self._unsent.appendleft(functools.partial(client.set_terminated, run_id, status))
        if reason:
            tags = {"parallax.error": reason[:500]}
            self._unsent.append(lambda: entries.log_tags(self._tracker, self.run_id, tags))
        self._flush(_LAST_FAILURES)
        if self._unsent:
            _logger.warning("MLflow run %s is incomplete; the stage's files are not", self.run_id)

    def _send(self, action: Callable[[], None]) -> None:
        self._unsent.append(action)
        if not self._offline or time.monotonic() >= self._next_flush:
            self._flush()

    def _flush(self, failures: int = 1) -> None:
        """Send what is unsent, and stop after so many failures; what failed goes last."""
        from mlflow.exceptions import MlflowException

        if self._metrics:
            rows, self._metrics = self._metrics, []
            self._unsent.append(lambda: entries.log_metrics(self._tracker, self.run_id, rows))
        while self._unsent and failures:
            action = self._unsent.popleft()
            try:
                action()
            except (MlflowException, OSError) as error:
                reason = hide_password(" ".join(str(error).split()))
                if getattr(error, "error_code", "") == "INVALID_PARAMETER_VALUE":
                    raise ParallaxError(f"MLflow refuses an entry: {reason}") from None
                if not self._offline:
                    _logger.warning("MLflow fails, going on without it: %.160s", reason)
                self._offline = True
                self._unsent.append(action)
                failures -= 1
        self._offline = bool(self._unsent)
        pause = _RETRY_SECONDS if self._offline else _FLUSH_SECONDS
        self._next_flush = time.monotonic() + pause


class SilentRun(StageRun):
    """The run of a process that is not the main one of its stage: it records nothing."""

    def __init__(self) -> None:
        pass

    def log_step(self, step: int, metrics: Mapping[str, float]) -> None:
        """Do nothing."""

    def log_table(self, name: str, table: "pd.DataFrame") -> None:
        """Do nothing."""

    def log_file(
        self, path: Path, artifact_path: str | None = None, *, of_execution: bool = False
    ) -> None:
        """Do nothing."""

    def headline(
        self,
        *,
        params: Mapping[str, Scalar] | None = None,
        metrics: Mapping[str, float] | None = None,
        title: str = "",
    ) -> None:
        """Do nothing."""

    def _send(self, action: Callable[[], None]) -> None:
        pass


@contextlib.contextmanager
def stage_run(
    stage: str,
    params: Mapping[str, Scalar] | None = None,
    inputs: Mapping[str, str] | None = None,
    title: str = "",
) -> Iterator[StageRun]:
    """Record the block as one stage of the current pipeline execution.

    `params` are flat names and values, `inputs` maps a path to its digest (at most 36 characters),
    `title` names the execution where DVC has no experiment name. The run ends as FINISHED, as
    FAILED after an exception, as KILLED after SIGTERM or Ctrl-C. Of a stage's several processes
    the main one records it.

    Raises:
        ParallaxError: the tracking address, a name or a digest is not usable.
    """
    if not is_main():
        yield SilentRun()
        return
    store = find_store(project_root())
    whose = execution.current_execution()
    with startup_errors(store), locked(store):
        tracker = connect(store)
        close_orphans(tracker)
        parent_id = open_parent(tracker, whose, title)
        run_id = open_child(tracker, whose, parent_id, stage)
    run = StageRun(tracker, run_id, parent_id)
    with _sigterm_exits():
        try:
            run.log_params(params or {})
            run.log_inputs(inputs or {})
            yield run
        except BaseException as error:  # SIGTERM and Ctrl-C too: recorded, then raised again
            with contextlib.suppress(ParallaxError):
                run.close(_status(error), f"{type(error).__name__}: {error}")
            raise
        run.close("FINISHED")


class _Terminated(SystemExit):
    """SIGTERM arrived; the exit status is the shell's 128 + 15."""


@contextlib.contextmanager
def _sigterm_exits() -> Iterator[None]:
    """Turn SIGTERM into an exception; only the main thread may do so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        raise _Terminated(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _status(error: BaseException) -> str:
    if isinstance(error, _Terminated | KeyboardInterrupt):
        return "KILLED"
    return "FINISHED" if isinstance(error, SystemExit) and not error.code else "FAILED"


def _rows(step: int, metrics: Mapping[str, float]) -> list[entries.MetricRow]:
    now = int(time.time() * 1000)
    for name in metrics:
        check_name(name)
    return [(name, float(value), now, step) for name, value in metrics.items()]
