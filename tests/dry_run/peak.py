"""Fine-tune the embedded model for a few steps in a process of its own, and watch its memory.

`python peak.py EXPERIMENT`, in a folder with a params.yaml, prints as JSON the estimate's parts and
what the process had before the model was there and at its peak, in bytes.
"""

import json
import sys
from pathlib import Path

import torch

from parallax.dry_run.assessment import Assessor, outline_base
from parallax.dry_run.workload import Questions
from parallax.files import read_table
from parallax.models.embedded import build_model
from parallax.models.encoding import Encoder
from parallax.models.loading import Loaded
from parallax.models.tuning import open_weights, recompute_activations
from parallax.params import load_params
from parallax.training.checkpoint import Checkpoints
from parallax.training.engine import Engine
from parallax.training.supervised import fit


def read_memory(key):
    """Resident memory now (VmRSS) or at its peak (VmHWM), bytes.

    The peak of `getrusage` counts that of the process that started this one, too.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(f"{key}:")]
    return int(line.split()[1]) * 1024


def main(experiment):
    params = load_params()
    memory = Assessor(params, experiment, "cpu").assess("sft", params).memory
    outline = outline_base(params, experiment)
    questions = Questions(outline, experiment, params)
    before = read_memory("VmRSS")
    torch.manual_seed(0)
    model = build_model(params.embedded, outline.processor)
    if params.model.gradient_checkpointing:
        recompute_activations(model)
    portraits = read_table(experiment / "portraits.parquet")
    loaded = Loaded(model, outline.processor)
    encoder = Encoder(loaded.processor, loaded.family, portraits)
    open_weights(loaded, params.sft.tuning, params.sft.lora, 0)
    fit(
        Engine(model),
        questions.sources,
        params.sft,
        encoder,
        Checkpoints(None),
        lambda row: None,
        "sft",
    )
    print(json.dumps({**memory.device, "before": before, "peak": read_memory("VmHWM")}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
