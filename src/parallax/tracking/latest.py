"""What a stage measured last, read back."""

from pathlib import Path

from parallax.tracking.store import connect, find_store, locked, project_root, startup_errors


def latest_metric(name: str) -> float | None:
    """Return a metric of the newest finished run that has it; None without such a run or store.

    Raises:
        ParallaxError: the tracking address is not usable.
    """
    store = find_store(project_root())
    scheme, _, rest = store.uri.partition(":///")
    if scheme == "sqlite" and not Path(rest).exists():
        return None
    with startup_errors(store):
        with locked(store):
            tracker = connect(store)
        found = tracker.client.search_runs(
            [tracker.experiment_id],
            f"metrics.`{name}` > 0",
            max_results=1,
            order_by=["attributes.start_time DESC"],
        )
    return float(found[0].data.metrics[name]) if found else None
