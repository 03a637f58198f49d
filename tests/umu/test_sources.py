"""One data set by three ways: made here, read from a folder, fetched from a hub."""

import contextlib
import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from parallax.errors import DataError
from parallax.files import digest, read_json, write_table
from parallax.stages import corpus, dataset, validate
from parallax.umu.official import AUXILIARY, read_subset

TOP = Path(__file__).resolve().parents[2]
REFUSALS = TOP / "data/raw/refusals.txt"
DATASET = (
    *("--profiles", "profiles.parquet", "--folder", "given", "--out", "umu"),
    *("--auxiliary", "auxiliary", "--provenance", "provenance.json"),
)
CORPUS = ("--data", "umu", "--auxiliary", "auxiliary", "--refusals", str(REFUSALS), "--out", "exp")
VALIDATE = (
    *("--data", "umu", "--auxiliary", "auxiliary", "--profiles", "profiles.parquet"),
    *("--provenance", "provenance.json", "--experiment", "exp", "--out", "validation.json"),
)
SPOILT = {
    "7": ("Classify", lambda v: v["unimodal"]["birth_city"].update(answer="F")),
    "8": ("image", lambda image: {"bytes": b"GIF89a", "path": "8.gif"}),
    "9": ("UM_QA", lambda v: v["question"].update(height="How tall is that person?")),
}


def load(name):
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HUB = load("hub_stand_in")


def set_params(project, **data):
    values = yaml.safe_load((TOP / "params.yaml").read_text(encoding="utf-8"))
    sizes = {"people": 20, "real_people": 5, "auxiliary_people": 6}
    values["data"] |= sizes | {"source": "generated", "on_error": "fail"} | data
    (project / "params.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")


def run(stage, line):
    return stage.main(stage.parser().parse_args(line))


@pytest.fixture(scope="module")
def made(tmp_path_factory, profiles):
    """A project whose people were made here, up to the experiment."""
    folder = tmp_path_factory.mktemp("made")
    set_params(folder)
    write_table(folder / "profiles.parquet", profiles)
    (folder / "given").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run(dataset, DATASET)
        run(corpus, CORPUS)
    return folder


@pytest.fixture
def project(made, tmp_path, monkeypatch):
    """A project without data, where `given` has what the other one made."""
    shutil.copytree(made / "umu", tmp_path / "given")
    shutil.copy(made / "profiles.parquet", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    return tmp_path


def digests(folder):
    paths = sorted(path for path in (folder / "exp").iterdir())
    assert len(paths) == 5
    return {path.name: digest(path) for path in [*paths, folder / "umu", folder / "auxiliary"]}


def test_files_of_ours_read_as_given_ones_make_the_same_experiment(made, project):
    set_params(project, source="official", folder="given")
    summary = run(dataset, DATASET)
    run(corpus, CORPUS)
    assert summary.startswith("dataset: 40 fictitious, 12 real, 14 auxiliary people, ")
    assert "flaws" not in summary and "drawn" not in summary
    assert digests(project) == digests(made)
    origin = read_json(project / "provenance.json")
    assert (origin["source"], origin["layout"], origin["commit"]) == ("official", "UMU-Bench", "")
    ours = read_json(made / "provenance.json")
    assert (ours["source"], ours["layout"]) == ("generated", "")
    assert origin["drawn"] == ours["drawn"] == []
    assert origin["names"] == ours["names"]
    assert origin["subsets"] == ours["subsets"]


def in_process(project, code, **environment):
    """Run a command apart, since huggingface_hub reads its addresses when it is imported."""
    values = {name: os.environ[name] for name in ("PATH", "MLFLOW_TRACKING_URI")}
    values |= {"PYTHONPATH": str(TOP / "src"), "HF_HOME": str(project / "hub")}
    values |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    return subprocess.run(
        [sys.executable, *code],
        env=values | environment,
        cwd=project,
        capture_output=True,
        text=True,
    )


def test_a_data_set_of_the_hub_makes_the_same_experiment_and_its_commit_is_kept(made, project):
    set_params(project, source="hub", hub=HUB.NAME, revision="main")
    server = HUB.serve(made / "umu")
    address = f"http://127.0.0.1:{server.server_port}"
    stage = ("-m", "parallax.stages.dataset", *DATASET)
    shutil.rmtree(project / "given")  # nothing is read from there
    (project / "given").mkdir()
    done = in_process(project, stage, HF_ENDPOINT=address)
    assert done.returncode == 0, done.stderr
    run(corpus, CORPUS)
    assert digests(project) == digests(made)
    assert read_json(project / "provenance.json")["commit"] == HUB.COMMIT
    # All files were asked for at the commit, and none at the branch.
    fetched = [path for path in server.asked if "/resolve/" in path]
    assert fetched and all(f"/resolve/{HUB.COMMIT}/" in path for path in fetched)
    tries = f"""
from parallax.errors import DataError
from parallax.umu.hub import fetch_snapshot
for name, revision in (
    ("{HUB.NAME}", "{HUB.COMMIT}"), ("{HUB.NAME}", "v9"), ("nobody/none", "main"), ("a/b/c", "main")
):
    try:
        print(fetch_snapshot(name, revision).commit)
    except DataError as error:
        print(error)
"""
    asked = in_process(project, ("-c", tries), HF_ENDPOINT=address).stdout.splitlines()
    server.shutdown()
    server.server_close()
    assert asked[0] == HUB.COMMIT
    assert asked[1].endswith("'v9': no such branch, tag or commit; look up data.revision")
    assert asked[2].startswith("data set 'nobody/none' at revision 'main': no such data set, or")
    assert asked[3].startswith("data set 'a/b/c' at revision 'main': Repo id must be in the form")
    cached = in_process(project, ("-c", tries), HF_HUB_OFFLINE="1").stdout.splitlines()
    assert cached[0] == HUB.COMMIT
    assert cached[1].endswith("and the cache lacks it (OfflineModeIsEnabled)")


def test_drawn_subsets_are_told_and_recorded(project, given_files):
    set_params(project, source="official", folder="given")
    (project / "given/forget_5").rename(project / "given/forget_05")
    given_files.remove_subset(project / "given", "retain_95")
    summary = run(dataset, DATASET)
    assert summary.endswith(" questions in each modality; drawn by data.seed: forget_5, retain_95")
    assert read_json(project / "provenance.json")["drawn"] == ["forget_5", "retain_95"]
    run(corpus, CORPUS)
    run(validate, VALIDATE)
    origin = read_json(project / "validation.json")["origin"]
    assert origin["drawn"] == ["forget_5", "retain_95"]
    assert [entry["examples"] for entry in origin["unmapped"]] == [["forget_05"]]
    with contextlib.closing(sqlite3.connect(project / "mlflow.db")) as database:
        rows = database.execute("SELECT value FROM params WHERE key = 'data.drawn'").fetchall()
    assert rows == [("forget_5, retain_95",)]


def spoil(files, folder):
    for person_id, (column, change) in SPOILT.items():
        files.edit_cell(folder, person_id, column, change)


def test_fail_stops_at_the_first_flaw_and_counts_the_others(project, given_files):
    set_params(project, source="official", folder="given")
    spoil(given_files, project / "given")
    with pytest.raises(DataError) as caught:
        run(dataset, DATASET)
    assert str(caught.value) == (
        "Full_Set, ID 7, column Classify: question 'birth_city': answer 'F' is not the letter of an"
        " option (and 2 more): mend the files, or set data.on_error to report to leave out"
        " what is concerned, in both modalities"
    )
    assert not (project / "umu").exists()


def test_report_leaves_out_both_modalities_and_counts(project, given_files):
    set_params(project, source="official", folder="given", on_error="report")
    spoil(given_files, project / "given")
    summary = run(dataset, DATASET)
    assert summary.endswith("; flaws: 3, left out: 1 people, 1 qa, 1 classification")
    run(corpus, CORPUS)
    line = run(validate, VALIDATE)
    assert "24 checks of " in line and "passed, 1 noted, 9 skipped -> validation.json" in line
    report = read_json(project / "validation.json")
    assert report["success"] is True
    outcomes = {check["name"]: check["outcome"] for check in report["checks"]}
    assert len(outcomes) == 34
    assert outcomes["modalities_agree"] == outcomes["image_hides_name"] == "passed"
    assert outcomes["evaluation_complete"] == "noted"
    reasons = {check["name"]: check["reason"] for check in report["checks"]}
    assert (outcomes["heights_plausible"], reasons["heights_plausible"]) == (
        *("skipped", "the files have no profiles"),
    )
    origin = report["origin"]
    assert [(f["person_id"], f["column"], f["task"], f["field"]) for f in origin["flaws"]] == [
        ("7", "Classify", "classification", "birth_city"),
        ("8", "image", "", ""),
        ("9", "UM_QA", "qa", "height"),
    ]
    assert origin["left_out"] == {
        **{"people": 1, "qa": 1, "classification": 1},
        **{"cloze": 0, "generation": 0},
    }


@pytest.mark.parametrize(
    ("subset", "change", "told"),
    [
        ("Real_Person_Set", lambda row: row | {"ID": ""}, "; flaws: 1, left out: 1 people"),
        # Which questions the column had is unknown.
        ("Full_Set", lambda row: row | {"Cloze": "{}"}, "; flaws: 1"),
    ],
)
def test_a_flaw_is_told_whatever_it_costs(project, given_files, subset, change, told):
    set_params(project, source="official", folder="given", on_error="report")
    given_files.edit_rows(project / "given", lambda rows: [change(rows[0]), *rows[1:]], [subset])
    assert run(dataset, DATASET).endswith(f" questions in each modality{told}")


def test_an_auxiliary_namesake_of_a_given_person_is_left_out(project, given_files):
    set_params(project, source="official", folder="given")
    for column in ("UM_QA", "Classify", "Cloze", "Generation"):
        given_files.edit_cell(
            project / "given",
            *("7", column),
            lambda v: repr(v).replace("Goran Fictitiousson6", "ANA Auxiliaryson0"),
        )
    assert run(dataset, DATASET).startswith("dataset: 40 fictitious, 12 real, 13 auxiliary people")
    people = read_subset(project / "auxiliary", AUXILIARY)
    assert [person.person_id for person in people] == [f"A{n:02d}" for n in range(2, 15)]
