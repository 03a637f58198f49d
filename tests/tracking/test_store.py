import subprocess
from pathlib import Path

import pytest

from parallax.errors import ParallaxError
from parallax.tracking.store import find_store, hide_password, locked, project_root


def test_the_database_stands_in_the_root_with_the_artifacts_beside_it(project):
    store = find_store(Path("/srv/project"))
    assert store.uri == "sqlite:////srv/project/.mlflow/mlflow.db"
    assert store.artifacts == "file:///srv/project/.mlflow/artifacts"
    assert store.folder == Path("/srv/project/.mlflow")


def test_a_relative_database_is_taken_from_the_root(project, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///runs/m.db")
    store = find_store(Path("/srv/project"))
    assert store.uri == "sqlite:////srv/project/runs/m.db"
    assert store.artifacts == "file:///srv/project/runs/artifacts"


def test_an_absolute_database_keeps_its_place(project, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:////var/m.db")
    assert find_store(Path("/srv/project")).uri == "sqlite:////var/m.db"


def test_a_server_decides_about_artifacts_and_the_lock_stays_here(project, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://mlflow.example/")
    store = find_store(Path("/srv/project"))
    assert (store.uri, store.artifacts) == ("https://mlflow.example/", None)
    assert store.folder == Path("/srv/project/.mlflow")


@pytest.mark.parametrize("uri", ["./mlruns", "file:///tmp/mlruns", "mlruns"])
def test_a_folder_is_refused_with_what_is_allowed(project, monkeypatch, uri):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    with pytest.raises(ParallaxError, match=r"refuses folders; use sqlite:///FILE"):
        find_store(project)


def test_the_root_is_dvcs_then_gits_then_this_folder(project, monkeypatch):
    assert project_root() == project
    subprocess.run(["git", "init", "-q"], check=True)
    (project / "below").mkdir()
    monkeypatch.chdir(project / "below")
    assert project_root() == project
    monkeypatch.setenv("DVC_ROOT", "/srv/project")
    assert project_root() == Path("/srv/project")


def test_a_folder_that_cannot_be_made_is_named(project, monkeypatch):
    (project / "file").write_text("")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///file/m.db")
    store = find_store(project)
    with pytest.raises(ParallaxError, match=r"file/mlflow\.lock: .*URI"), locked(store):
        pass


def test_a_password_is_not_shown():
    text = "tracking address postgresql://me:secret@db/x: no"
    assert hide_password(text) == "tracking address postgresql://***@db/x: no"
    assert hide_password("https://db/x@y") == "https://db/x@y"
