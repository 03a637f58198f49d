"""Parameters, metrics, tags and inputs of one run, sent in as few requests as MLflow allows."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from parallax.errors import DataError, ParallaxError
from parallax.tracking.execution import md5
from parallax.tracking.store import Tracker

T = TypeVar("T")
# Name, value, time in ms, step.
MetricRow = tuple[str, float, int, int]

_METRICS_A_BATCH = 1000
_ENTRIES_A_BATCH = 100
_PARAM_LIMIT = 6000
_DIGEST_LIMIT = 36


def log_params(tracker: Tracker, run_id: str, params: Mapping[str, str]) -> None:
    """Send parameters; one over 6000 characters becomes an artifact, its digest the parameter.

    Raises:
        ParallaxError: the run has another value of a parameter.
    """
    from mlflow.entities import Param

    if not params:
        return
    client = tracker.client
    known = client.get_run(run_id).data.params
    entries = []
    for name, text in params.items():
        if len(text) > _PARAM_LIMIT:
            client.log_text(run_id, text, f"params/{name}.txt")
            text = f"artifact params/{name}.txt, md5 {md5(text.encode())}"
        if known.get(name, text) != text:
            raise ParallaxError(
                f"MLflow run {run_id}: {name} is {known[name]!r} already, not {text!r}: two"
                " executions share this run; delete it or give the experiment another name"
            )
        entries.append(Param(name, text))
    for batch in _batches(entries, _ENTRIES_A_BATCH):
        client.log_batch(run_id, params=batch)


def log_metrics(tracker: Tracker, run_id: str, rows: Sequence[MetricRow]) -> None:
    """Send metrics."""
    from mlflow.entities import Metric

    for batch in _batches(rows, _METRICS_A_BATCH):
        tracker.client.log_batch(run_id, metrics=[Metric(*row) for row in batch])


def log_tags(tracker: Tracker, run_id: str, tags: Mapping[str, str]) -> None:
    """Send tags."""
    from mlflow.entities import RunTag

    for batch in _batches(sorted(tags.items()), _ENTRIES_A_BATCH):
        tracker.client.log_batch(run_id, tags=[RunTag(*tag) for tag in batch])


def check_digests(inputs: Mapping[str, str]) -> None:
    """Refuse a digest that MLflow's data set inputs cannot hold.

    Raises:
        DataError: a digest is empty or over 36 characters (an md5 and `.dir` just fit).
    """
    for path, digest in inputs.items():
        if not 0 < len(digest) <= _DIGEST_LIMIT:
            raise DataError(
                f"{path}: digest {digest!r} has {len(digest)} characters, MLflow takes 1 to"
                f" {_DIGEST_LIMIT}; give the md5"
            )


def log_inputs(tracker: Tracker, run_id: str, inputs: Mapping[str, str]) -> None:
    """Send input paths and their digests as MLflow data set inputs."""
    from mlflow.entities import Dataset, DatasetInput

    datasets = [
        DatasetInput(Dataset(path, digest, "local", json.dumps({"uri": path})), tags=[])
        for path, digest in sorted(inputs.items())
    ]
    if datasets:
        tracker.client.log_inputs(run_id, datasets)


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    whole = list(items)
    for start in range(0, len(whole), size):
        yield whole[start : start + size]
