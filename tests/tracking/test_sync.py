import subprocess

import pytest
from mlflow.tracking import MlflowClient

from parallax.errors import ParallaxError
from parallax.tracking import stage_run
from parallax.tracking.sync import outdated_params, sync

PIPELINE = """\
stages:
  score:
    cmd: >-
      mkdir -p metrics;
      printf '{"forget":{"acc_F":0.25,"gap":null},"set":"x"}' > metrics/unlearning.json
    params:
    - unlearn
    outs:
    - metrics/unlearning.json:
        cache: false
metrics:
- metrics/unlearning.json
"""
LOCK = """\
schema: '2.0'
stages:
  unlearn:
    cmd: x
    params:
      params.yaml:
        unlearn.alpha: 1.0
        data:
          people: 60
"""


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


def commit(message):
    run("git", "add", ".")
    run("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", message)


@pytest.fixture
def repository(shared, monkeypatch):
    monkeypatch.setenv("DVC_NO_ANALYTICS", "1")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "a")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "a@b")
    run("git", "init", "-q", ".")
    run("dvc", "init", "-q")
    (shared / "params.yaml").write_text("unlearn:\n  alpha: 1\n  method: npo\n")
    (shared / "dvc.yaml").write_text(PIPELINE)
    commit("Start")
    return shared


def executions(database):
    client = MlflowClient(database)
    experiment = client.get_experiment_by_name("parallax").experiment_id
    runs = client.search_runs([experiment], "tags.`parallax.role` = 'execution'")
    return {run.info.run_name: run for run in runs}


def test_experiments_and_commits_without_a_run_get_one_and_only_one(
    repository, database, monkeypatch
):
    # The stage of this pipeline records nothing, as one restored from the run cache.
    run("dvc", "exp", "run", "-q", "-n", "far", "-S", "unlearn.alpha=0.5")
    run("git", "checkout", "-q", ".")
    run("dvc", "repro", "-q")
    commit("Record results")
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], text=True).strip()

    assert [line for line in sync() if line.endswith("added")] == [
        f"commit {head[:7]}: added",
        "far: added",
    ]
    assert sync()[:-1] == []

    found = executions(database)
    far, plain = found["far"], found[f"commit {head[:7]}"]
    assert far.data.params == {"unlearn.alpha": "0.5", "unlearn.method": "npo"}
    assert plain.data.params == {"unlearn.alpha": "1", "unlearn.method": "npo"}
    # DVC leaves out null.
    assert far.data.metrics == {"forget.acc_F": 0.25}
    assert far.data.tags["parallax.synced"] == "true"
    assert (
        far.data.tags["md5/metrics/unlearning.json"]
        == plain.data.tags["md5/metrics/unlearning.json"]
    )
    assert (far.info.status, plain.info.status) == ("FINISHED", "FINISHED")

    # A stage that runs in the recorded experiment after all goes on in its run.
    baseline = far.data.tags["mlflow.source.git.commit"]
    monkeypatch.setenv("DVC_EXP_NAME", "far")
    monkeypatch.setenv("DVC_EXP_BASELINE_REV", baseline)
    run("git", "checkout", "-q", f"refs/exps/{baseline[:2]}/{baseline[2:]}/far")
    with stage_run("score") as stage:
        stage.headline(params={"unlearn.alpha": 0.5})
    assert stage.parent_id == far.info.run_id


def test_a_commit_of_what_was_recorded_before_it_is_known(repository, database):
    with stage_run("score", title="npo a=1"):
        run("dvc", "repro", "-q")
    commit("Record results")
    assert sync()[:-1] == []
    assert "npo a=1" in executions(database)


def test_results_of_other_params_are_left_out(repository):
    run("dvc", "repro", "-q")
    (repository / "params.yaml").write_text("unlearn:\n  alpha: 2\n  method: npo\n")
    commit("Change alpha without running")
    (line, _) = sync()
    assert line.endswith("left out, params.yaml and dvc.lock differ in unlearn")


def test_outside_dvc_is_one_clear_line(shared):
    with pytest.raises(ParallaxError, match="run it in the project's folder"):
        sync()


def test_outdated_params_looks_up_dotted_and_whole_names():
    # 1.0 == 1: an override that DVC writes as 1 is no change.
    assert outdated_params(LOCK, {"unlearn": {"alpha": 1}, "data": {"people": 60}}) == []
    assert outdated_params(LOCK, {"unlearn": {"alpha": 2}, "data": {"people": 9}}) == [
        "data",
        "unlearn.alpha",
    ]
    assert outdated_params(LOCK, {"data": {"people": 60}}) == ["unlearn.alpha"]
