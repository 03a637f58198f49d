import os
from pathlib import Path

import pytest

PLACE = ("MLFLOW_TRACKING_URI", "DVC_ROOT", "DVC_STAGE", "DVC_EXP_NAME", "DVC_EXP_BASELINE_REV")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder outside git and DVC, as the current one."""
    for name in PLACE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One database for all tests: making its tables takes seconds."""
    return f"sqlite:///{tmp_path_factory.mktemp('store') / 'mlflow.db'}"


@pytest.fixture
def shared(project: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with a parameter file of its own, and the common database."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", database)
    (project / "params.yaml").write_text(f"test: {os.environ['PYTEST_CURRENT_TEST']}\n")
    return project
