"""Checkpoints of a training in progress: outside DVC's outputs, gone when the stage succeeds.

DVC removes a stage's outputs before it runs it, and `persist` would let a changed parameter go on
from the old one's finished weights. So checkpoints lie in `.checkpoints/` of the repository, under
a key of everything that the result depends on: parameters, inputs and code.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from parallax.files import digest, replace_file

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# A checkpoint is written after this many seconds of training, and after at least
# `COST_FACTOR` times as long as the last one took to write.
INTERVAL = 20.0
COST_FACTOR = 20.0


def checkpoint_root() -> Path:
    """Return `.checkpoints` of the main repository, also in DVC's temporary copies of it."""
    return Path(os.environ.get("DVC_ROOT", ".")) / ".checkpoints"


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
    """The checkpoint of one training; a killed training goes on from it bit for bit."""

    def __init__(self, folder: Path | None, interval: float = INTERVAL) -> None:
        """Keep the checkpoint in `folder`; None keeps none. `interval` is in seconds."""
        self._folder = folder
        self._interval = interval
        self._due = time.monotonic() + interval

    def restore(
        self, model: "PreTrainedModel", optimizers: Sequence[torch.optim.Optimizer]
    ) -> list[Any]:
        """Load the checkpoint, if there is one, and return the rows of the steps already made."""
        if self._folder is None or not (self._folder / "state.pt").exists():
            return []
        state = torch.load(self._folder / "state.pt", weights_only=True)
        with torch.no_grad():
            for name, weight in _trained(model).items():
                weight.copy_(state["weights"][name])
        for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        torch.set_rng_state(state["rng"])
        if torch.cuda.is_available():
            torch.cuda.set_rng_state_all(state["cuda_rng"])
        rows: list[Any] = state["rows"]
        return rows

    def save_if_due(
        self, model: "PreTrainedModel", optimizers: Sequence[torch.optim.Optimizer], rows: list[Any]
    ) -> None:
        """Write the checkpoint when the interval is over."""
        if self._folder is None or time.monotonic() < self._due:
            return
        started = time.monotonic()
        state = {
            "weights": {name: weight.detach() for name, weight in _trained(model).items()},
            "optimizers": [optimizer.state_dict() for optimizer in optimizers],
            "rng": torch.get_rng_state(),
            "cuda_rng": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
            "rows": rows,
        }
        with replace_file(self._folder / "state.pt") as part:
            torch.save(state, part)
        now = time.monotonic()
        self._due = now + max(self._interval, COST_FACTOR * (now - started))

    def remove(self) -> None:
        """Delete the checkpoint: the training's result is safe."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _trained(model: "PreTrainedModel") -> dict[str, torch.nn.Parameter]:
    return {name: w for name, w in model.named_parameters() if w.requires_grad}
