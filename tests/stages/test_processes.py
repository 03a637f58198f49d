"""A stage that params.yaml makes two processes, from its command line."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import safetensors.torch

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def run(folder, set_params):
    """`run(stage, argument, ...)` runs a stage of two processes in the finished folder's copy."""
    set_params("accelerate", processes=2)

    def start(stage, *arguments):
        return subprocess.run(
            [sys.executable, "-m", f"parallax.stages.{stage}", *arguments],
            env=os.environ | {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return start


def weights(folder):
    return safetensors.torch.load_file(Path(folder) / "model.safetensors")


UNLEARN = (
    *("--model", "models/sft", "--experiment", "data/experiment"),
    *("--out", "models/again", "--curve", "c/again.csv"),
)


def test_unlearning_in_two_processes_writes_once_what_one_writes(run):
    done = run("unlearn", *UNLEARN)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("unlearn: npo, alpha 1, beta 1, 2 people, 4 steps -> models/again\n")
    # One bar: the other process shows none.
    assert done.stderr.count("unlearn:   0%") == 1
    curve, again = pd.read_csv("c/unlearn.csv"), pd.read_csv("c/again.csv")
    pd.testing.assert_frame_equal(curve, again, rtol=0, atol=1e-5)
    before, after = weights("models/unlearned"), weights("models/again")
    assert before.keys() == after.keys()
    for name in before:
        assert (before[name] - after[name]).abs().max() <= 1e-5, name
    assert {path.name for path in Path(".checkpoints").iterdir()} == {"locks"}
