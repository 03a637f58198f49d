from parallax.tracking import stage_run
from parallax.tracking.latest import latest_metric


def test_the_newest_run_that_has_the_metric_is_read(shared):
    name = "tokens_per_second/of-this-test"
    assert latest_metric(name) is None
    for metrics in ({name: 20.0}, {name: 30.0}, {"other": 1.0}):
        with stage_run("respond", {}, {}) as run:
            run.log_metrics(metrics)
    assert latest_metric(name) == 30.0
    assert latest_metric("tokens_per_second/other") is None


def test_no_store_is_made_for_reading(project, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{project / 'none.db'}")
    assert latest_metric("tokens_per_second/tiny") is None
    assert list(project.iterdir()) == []
