import contextlib
import json
import logging
import multiprocessing
import os
import shutil
import signal
import sqlite3
import time
from pathlib import Path

import pandas as pd
import pytest
from mlflow.tracking import MlflowClient

from parallax.errors import DataError, ParallaxError
from parallax.tracking import stage_run

# Forked, so that a child need not import mlflow; each connects to the database by itself.
FORK = multiprocessing.get_context("fork")


def runs_of(database, parent_id):
    client = MlflowClient(database)
    experiment = client.get_experiment_by_name("parallax").experiment_id
    return client.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{parent_id}'")


def get(database, run_id):
    return MlflowClient(database).get_run(run_id)


def test_steps_params_inputs_and_headline_arrive(shared, database):
    digest = "a" * 32 + ".dir"
    params = {"unlearn.alpha": 1.0, "unlearn.method": "npo"}
    with stage_run("unlearn", params, {"data/experiment": digest}, "npo a=1 b=1") as run:
        for step in range(1500):
            run.log_step(step, {"loss/forget_image": step / 2})
        run.log_metrics({"seconds": 3})
        run.headline(params={"unlearn.alpha": 1}, metrics={"acc_F_forget": 0.25})

    child, parent = get(database, run.run_id), get(database, run.parent_id)
    history = MlflowClient(database).get_metric_history(run.run_id, "loss/forget_image")
    # 1500 steps need two batches of at most 1000; the last value is 1499 / 2.
    assert [(m.step, m.value) for m in history] == [(s, s / 2) for s in range(1500)]
    assert child.data.metrics == {
        "loss/forget_image": 749.5,
        "seconds": 3.0,
        "acc_F_forget": 0.25,
    }
    assert child.data.params == {"unlearn.alpha": "1", "unlearn.method": "npo"}
    (inputs,) = child.inputs.dataset_inputs
    assert (inputs.dataset.name, inputs.dataset.digest) == ("data/experiment", digest)
    assert parent.data.params == {"unlearn.alpha": "1"}
    assert parent.data.metrics == {"acc_F_forget": 0.25}
    assert parent.info.run_name == "npo a=1 b=1"
    assert child.data.tags["mlflow.parentRunId"] == run.parent_id
    assert (child.info.status, parent.info.status) == ("FINISHED", "FINISHED")
    assert "MLFLOW_RUN_ID" not in os.environ


def test_a_second_stage_and_a_second_try_share_the_parent(shared, database):
    parents = []
    for value in (0.5, 0.25):
        with stage_run("score") as run:
            run.headline(params={"alpha": 2}, metrics={"acc": value})
        parents.append(run.parent_id)
    assert parents[0] == parents[1]
    assert len(runs_of(database, parents[0])) == 2
    assert get(database, parents[0]).data.metrics == {"acc": 0.25}


def test_other_params_are_another_execution(shared):
    with stage_run("score") as first:
        pass
    (shared / "params.yaml").write_text("test: other\n")
    with stage_run("score") as second:
        pass
    assert first.parent_id != second.parent_id


def test_dvcs_environment_names_the_run_and_becomes_tags(shared, database, monkeypatch):
    monkeypatch.setenv("DVC_STAGE", "evaluate@sft")
    monkeypatch.setenv("DVC_EXP_NAME", "loud-ibex")
    monkeypatch.setenv("DVC_EXP_BASELINE_REV", "b" * 40)
    with stage_run("evaluate", title="unused") as run:
        pass
    # Within DVC more stages follow: the execution is still running.
    parent = get(database, run.parent_id)
    assert (parent.info.run_name, parent.info.status) == ("loud-ibex", "RUNNING")
    assert parent.data.tags["mlflow.source.git.commit"] == "b" * 40
    child = get(database, run.run_id)
    assert child.info.run_name == "evaluate@sft"
    assert child.data.tags["DVC_STAGE"] == "evaluate@sft"
    assert child.data.tags["DVC_EXP_BASELINE_REV"] == "b" * 40
    assert child.data.tags["git.dirty"] == "false"

    lock = "stages:\n  a:\n    outs:\n    - {path: data/x, md5: 0123.dir}\n    - {path: m.json}\n"
    (shared / "dvc.lock").write_text(lock)
    with stage_run("report") as last:
        last.finish_parent()
    parent = get(database, last.parent_id)
    assert (last.parent_id, parent.info.status) == (run.parent_id, "FINISHED")
    assert parent.data.tags["md5/data/x"] == "0123.dir"
    assert "md5/m.json" not in parent.data.tags


def test_an_exception_fails_both_runs_and_leaves(shared, database):
    with pytest.raises(ZeroDivisionError), stage_run("sft") as run:
        run.log_step(1, {"loss": 2.0})
        raise ZeroDivisionError("division by zero")
    child = get(database, run.run_id)
    assert child.info.status == get(database, run.parent_id).info.status == "FAILED"
    assert child.data.metrics == {"loss": 2.0}
    assert child.data.tags["parallax.error"] == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("error", "status"), [(SystemExit(0), "FINISHED"), (SystemExit("no"), "FAILED")]
)
def test_an_exit_counts_by_its_code(shared, database, error, status):
    with pytest.raises(SystemExit), stage_run("sft") as run:
        raise error
    assert get(database, run.run_id).info.status == status


def test_ctrl_c_kills(shared, database):
    with pytest.raises(KeyboardInterrupt), stage_run("sft") as run:
        raise KeyboardInterrupt
    assert get(database, run.run_id).info.status == "KILLED"


def _wait_inside(connection):
    with stage_run("sft") as run:
        connection.send((run.run_id, run.parent_id))
        time.sleep(60)


@contextlib.contextmanager
def waiting_stage():
    ours, theirs = FORK.Pipe()
    process = FORK.Process(target=_wait_inside, args=(theirs,))
    process.start()
    try:
        assert ours.poll(30)
        yield process, *ours.recv()
    finally:
        process.kill()
        process.join()


def test_sigterm_kills_the_run_and_keeps_the_exit_status(shared, database):
    with waiting_stage() as (process, run_id, parent_id):
        process.terminate()
        process.join(30)
        assert process.exitcode == 128 + signal.SIGTERM
    assert get(database, run_id).info.status == "KILLED"
    assert get(database, parent_id).info.status == "KILLED"


def test_sigterm_is_handled_as_before_after_the_run(shared):
    before = signal.getsignal(signal.SIGTERM)
    with stage_run("sft"):
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_next_start_ends_what_a_dead_process_left_and_nothing_else(shared, database):
    with waiting_stage() as (_, alive, _), waiting_stage() as (process, run_id, _):
        process.kill()
        process.join()
        assert get(database, run_id).info.status == "RUNNING"
        (shared / "params.yaml").write_text("test: next\n")
        with stage_run("sft"):
            assert get(database, run_id).info.status == "KILLED"
            assert get(database, alive).info.status == "RUNNING"


def test_an_execution_whose_stages_ended_well_is_finished_at_the_next_start(shared, database):
    with stage_run("sft") as run:
        pass
    client = MlflowClient(database)
    client.update_run(run.parent_id, status="RUNNING")
    client.set_tag(run.parent_id, "parallax.started", "1.0")
    (shared / "params.yaml").write_text("test: next\n")
    with stage_run("sft"):
        assert get(database, run.parent_id).info.status == "FINISHED"


def _record(index):
    with stage_run("respond", {"index": index}) as run:
        run.log_step(1, {"loss": index})
        run.headline(metrics={f"acc_{index}": index})


def test_six_processes_start_on_a_fresh_database(project):
    (project / "params.yaml").write_text("a: 1\n")
    processes = [FORK.Process(target=_record, args=(index,)) for index in range(6)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 6
    client = MlflowClient(f"sqlite:///{project}/.mlflow/mlflow.db")
    experiment = client.get_experiment_by_name("parallax")
    assert experiment.artifact_location == (project / ".mlflow" / "artifacts").as_uri()
    runs = client.search_runs([experiment.experiment_id])
    assert client.search_runs(["0"]) == []
    (parent,) = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    children = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    assert sorted(run.data.params["index"] for run in children) == list("012345")
    assert {run.info.status for run in children} == {"FINISHED"}
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {parent.info.run_id}
    assert parent.data.metrics == {f"acc_{index}": float(index) for index in range(6)}


def test_a_changed_headline_parameter_is_one_clear_line(shared):
    with stage_run("unlearn") as run:
        run.headline(params={"alpha": 1})
    with (
        pytest.raises(ParallaxError, match=r"alpha is '1' already, not '2'.*another name"),
        stage_run("unlearn") as run,
    ):
        run.headline(params={"alpha": 2})


@pytest.mark.parametrize("name", ["acc@5", "p=1", "f(x)", "acc%"])
def test_a_refused_name_stops_at_once(shared, name):
    with stage_run("sft") as run:
        for record in (
            lambda: run.log_step(1, {name: 1.0}),
            lambda: run.headline(metrics={name: 1.0}),
            lambda: run.headline(params={name: 1.0}),
        ):
            with pytest.raises(ParallaxError, match="tracking name"):
                record()


def test_a_digest_over_36_characters_is_refused(shared):
    with (
        pytest.raises(DataError, match=r"data/x: digest .* has 64 characters"),
        stage_run("sft", inputs={"data/x": "f" * 64}),
    ):
        pass


def test_a_long_parameter_and_tables_and_files_are_artifacts(shared, database):
    text = "x" * 6001
    (shared / "plot.svg").write_text("<svg/>")
    with stage_run("score", {"long": text, "short": text[:6000]}) as run:
        run.log_table("errors", pd.DataFrame({"field": ["residence"], "acc": [0.5]}))
        run.log_file(shared / "plot.svg", "plots")
        with pytest.raises(DataError, match=r"none\.svg: no such file"):
            run.log_file(shared / "none.svg")
    child = get(database, run.run_id)
    assert child.data.params["long"].startswith("artifact params/long.txt, md5 ")
    assert child.data.params["short"] == text[:6000]
    client = MlflowClient(database)
    assert [file.path for file in client.list_artifacts(run.run_id)] == [
        "errors.json",
        "params",
        "plots",
    ]

    def stored(name):
        return Path(client.download_artifacts(run.run_id, name)).read_text()

    assert json.loads(stored("errors.json")) == {
        "columns": ["field", "acc"],
        "data": [["residence", 0.5]],
    }
    assert stored("params/long.txt") == text
    assert stored("plots/plot.svg") == "<svg/>"


def rename(database, old, new):
    with contextlib.closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as connection:
        connection.execute(f"alter table {old} rename to {new}")


def test_an_outage_costs_one_warning_and_what_is_unsent_arrives_later(shared, database, caplog):
    with stage_run("sft") as run, caplog.at_level(logging.WARNING):
        rename(database, "runs", "away")
        run.headline(metrics={"acc": 0.5})
        run.headline(metrics={"gap": 0.25})
        rename(database, "away", "runs")
    assert [record.message[:40] for record in caplog.records if "parallax" in record.name] == [
        "MLflow fails, going on without it: (sqli"
    ]
    assert get(database, run.run_id).info.status == "FINISHED"
    assert get(database, run.parent_id).data.metrics == {"acc": 0.5, "gap": 0.25}


def test_an_outage_to_the_end_does_not_fail_the_stage(shared, database, caplog):
    done = False
    with caplog.at_level(logging.WARNING):
        with stage_run("sft") as run:
            rename(database, "runs", "away")
            run.log_step(1, {"loss": 1.0})
            done = True
        rename(database, "away", "runs")
    assert done
    ours = [record.message for record in caplog.records if "parallax" in record.name]
    assert len(ours) == 2 and "is incomplete" in ours[1]
    MlflowClient(database).set_terminated(run.run_id, "KILLED")


def test_a_server_that_is_not_there_at_the_start_is_an_error(shared, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    with (
        pytest.raises(ParallaxError, match=r"http://127\.0\.0\.1:9: .*check MLFLOW_TRACKING_URI"),
        stage_run("sft"),
    ):
        pass


def test_a_deleted_experiment_is_named_with_the_way_back(shared, database, monkeypatch):
    with stage_run("sft"):
        pass
    shutil.copy(database.removeprefix("sqlite:///"), shared / "copy.db")
    copy = f"sqlite:///{shared}/copy.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", copy)
    client = MlflowClient(copy)
    client.delete_experiment(client.get_experiment_by_name("parallax").experiment_id)
    with (
        pytest.raises(ParallaxError, match=r"mlflow experiments restore --experiment-id 1"),
        stage_run("sft"),
    ):
        pass
