"""Where runs are recorded, and how several processes share that place."""

import contextlib
import dataclasses
import gc
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.errors import ParallaxError

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

EXPERIMENT = "parallax"
_LOCK_SECONDS = 120.0
# MLflow's own defaults (7 retries of 120 s) would hold a training for minutes.
_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
}


@dataclasses.dataclass(frozen=True)
class Store:
    """An address of MLflow; `artifacts` is None where the server decides."""

    uri: str
    folder: Path
    artifacts: str | None


@dataclasses.dataclass(frozen=True)
class Tracker:
    """A connected client and the experiment that all runs belong to."""

    client: "MlflowClient"
    experiment_id: str
    store: Store


def git(*arguments: str) -> str:
    """Return a git command's output without line ends; "" without git or outside a repository."""
    return git_bytes(*arguments).decode().rstrip("\n")


def git_bytes(*arguments: str) -> bytes:
    """Return a git command's output as it is; empty where `git` fails."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return b""
    return done.stdout


def project_root() -> Path:
    """Return DVC's root (the main repository, in `--temp` runs too), git's top, or the folder."""
    return Path(os.environ.get("DVC_ROOT") or git("rev-parse", "--show-toplevel") or Path.cwd())


def find_store(root: Path) -> Store:
    """Return MLFLOW_TRACKING_URI if it is set, else the database `.mlflow/mlflow.db` under `root`.

    A relative SQLite path is taken from `root`, so that temporary copies of the project share it.

    Raises:
        ParallaxError: the address is a folder or a file store, which MLflow 3 refuses.
    """
    home = root / ".mlflow"
    uri = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home / 'mlflow.db'}"
    scheme, _, rest = uri.partition("://")
    if scheme in ("http", "https"):
        return Store(uri, home, None)
    if scheme == "sqlite":
        database = root / rest.removeprefix("/")
        folder = database.parent
        return Store(f"sqlite:///{database}", folder, (folder / "artifacts").as_uri())
    if not rest or scheme == "file":
        raise ParallaxError(
            f"MLFLOW_TRACKING_URI = {uri!r}: MLflow 3 refuses folders; use sqlite:///FILE or"
            " http(s)://SERVER, or unset it"
        )
    return Store(uri, home, (home / "artifacts").as_uri())


@contextlib.contextmanager
def locked(store: Store) -> Iterator[None]:
    """Hold the store's file lock.

    Raises:
        ParallaxError: the folder cannot be written, or another process keeps the lock for long.
    """
    import filelock

    path = store.folder / "mlflow.lock"
    try:
        store.folder.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path, timeout=_LOCK_SECONDS)
        lock.acquire()
    except filelock.Timeout:
        raise ParallaxError(
            f"{path}: held by another process for {_LOCK_SECONDS:g} s; end it, then try again"
        ) from None
    except OSError as error:
        raise ParallaxError(
            f"{path}: {error.strerror}; make the folder writable or set MLFLOW_TRACKING_URI"
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def startup_errors(store: Store) -> Iterator[None]:
    """Import MLflow, and turn what it raises in the block into one line about the address.

    Raises:
        ParallaxError: MLflow failed.
    """
    _import_mlflow()
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, SQLAlchemyError, OSError, ImportError) as error:
        reason = " ".join(str(error).split())[:500]
        message = f"tracking address {store.uri}: {reason}; check MLFLOW_TRACKING_URI"
        raise ParallaxError(hide_password(message)) from None


def hide_password(text: str) -> str:
    """Return the text without what stands before the @ of an address."""
    return re.sub(r"//[^/@\s]+@", "//***@", text)


def _import_mlflow() -> None:
    """Import MLflow with the garbage collector at rest, which takes 1.6 s instead of 2.9 s.

    Imports make hundreds of thousands of objects that live to the end: looking through them again
    and again costs 0.4 s now, and 0.7 s when the interpreter ends unless they are frozen.
    """
    if "mlflow" in sys.modules:
        return
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    collecting = gc.isenabled()
    gc.disable()
    try:
        import mlflow.store.tracking.sqlalchemy_store
        import mlflow.tracking  # noqa: F401 - loaded here once, with collection off
    finally:
        gc.freeze()
        if collecting:
            gc.enable()


def connect(store: Store) -> Tracker:
    """Open the store and its experiment, and make them where they lack.

    The caller holds the lock, and turns MLflow's errors with `startup_errors`.

    Raises:
        ParallaxError: the experiment was deleted.
    """
    from mlflow.tracking import MlflowClient

    logging.getLogger("mlflow").setLevel(logging.WARNING)
    # These two would report a failure several times before we do, one with its traceback.
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
    logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)
    client = MlflowClient(store.uri)
    found = client.get_experiment_by_name(EXPERIMENT)
    if found is None:
        identifier = client.create_experiment(EXPERIMENT, artifact_location=store.artifacts)
        return Tracker(client, str(identifier), store)
    if found.lifecycle_stage == "deleted":
        raise ParallaxError(
            f"experiment {EXPERIMENT!r} in {store.uri} is deleted; bring it back with `mlflow"
            f" experiments restore --experiment-id {found.experiment_id}`"
        )
    return Tracker(client, str(found.experiment_id), store)
