"""Checkpoints of a training in progress: outside DVC's outputs, gone when the stage succeeds.

DVC removes a stage's outputs before it runs it, and `persist` would let a changed parameter go on
from the old one's finished weights. So checkpoints lie in `.checkpoints/` of the repository, under
a key of everything that the result depends on: parameters, inputs and code.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from parallax.files import digest

if TYPE_CHECKING:
    from parallax.training.engine import Engine

# A checkpoint is written after this many seconds of training, and after at least
# `COST_FACTOR` times as long as the last one took to write.
INTERVAL = 20.0
COST_FACTOR = 20.0


def checkpoint_key(params: Mapping[str, Any], inputs: Iterable[Path]) -> str:
    """Return 16 hexadecimal digits that change with any parameter, input file or line of code."""
    code = digest_code(Path(__file__).resolve().parents[1])
    parts = [json.dumps(params, sort_keys=True), code, *(digest(path) for path in inputs)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def digest_code(package: Path) -> str:
    """Return the md5 over the package's Python files."""
    md5 = hashlib.md5(usedforsecurity=False)
    for file in sorted(package.rglob("*.py")):
        md5.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes())
    return md5.hexdigest()


class Checkpoints:
    """The checkpoint of one training; a killed training goes on from it bit for bit.

    A checkpoint is a folder `step-N` with a file of each process. It is written beside, as
    `step-N.part`, and gets its name when all files are whole: a process killed while it writes
    leaves the one before. Files name how many processes there are and how they divide the work,
    and are read by the same only: with others the training starts anew. Processes on several nodes
    share the folder's file system.
    """

    def __init__(self, folder: Path | None, interval: float = INTERVAL) -> None:
        """Keep the checkpoint in `folder`; None keeps none. `interval` is in seconds."""
        self._folder = folder
        self._interval = interval
        self._due = time.monotonic() + interval

    def restore(self, engine: "Engine") -> list[Any]:
        """Load the checkpoint, if there is one, and return the rows of the steps already made."""
        if self._folder is None or not engine.resumes:
            return []
        whole = [file.parent for file in self._folder.glob(f"step-*/{_name(engine, 0)}")]
        steps = [int(name) for path in whole if (name := path.name[len("step-") :]).isdigit()]
        if not (last := engine.processes.gather(max(steps, default=0))[0]):
            return []
        latest = self._folder / f"step-{last}"
        own = _read(latest / _name(engine, engine.processes.rank))
        whole_in_own = engine.shards or engine.processes.main
        engine.load_state(own if whole_in_own else _read(latest / _name(engine, 0)))
        torch.set_rng_state(own["rng"])
        if own["cuda_rng"] is not None and torch.cuda.is_available():
            torch.cuda.set_rng_state(own["cuda_rng"])
        rows: list[Any] = own["rows"]
        return rows

    def save_if_due(self, engine: "Engine", rows: list[Any]) -> None:
        """Write the checkpoint when the interval is over on any process."""
        if self._folder is None or not engine.resumes:
            return
        if not engine.processes.sum([time.monotonic() >= self._due])[0]:
            return
        started = time.monotonic()
        final = self._folder / f"step-{len(rows)}"
        part = final.with_suffix(".part")
        if engine.processes.main:
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
        engine.processes.wait()
        state = {
            "rng": torch.get_rng_state(),
            "cuda_rng": torch.cuda.get_rng_state() if torch.cuda.is_available() else None,
            "rows": rows,
        }
        if engine.processes.main or engine.shards:
            state |= engine.state()
        torch.save(state, part / _name(engine, engine.processes.rank))
        engine.processes.wait()
        if engine.processes.main:
            shutil.rmtree(final, ignore_errors=True)  # by another number of processes
            part.rename(final)
            for path in self._folder.iterdir():
                if path != final:
                    shutil.rmtree(path, ignore_errors=True)
        now = time.monotonic()
        self._due = now + max(self._interval, COST_FACTOR * (now - started))

    def remove(self) -> None:
        """Delete the checkpoint: the training's result is safe."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _name(engine: "Engine", rank: int) -> str:
    return f"{engine.kind}-{rank}-of-{engine.processes.count}.pt"


def _read(file: Path) -> dict[str, Any]:
    # Into main memory: the GPU holds the model that is loaded into.
    state: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
    return state
