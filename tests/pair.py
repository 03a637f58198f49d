"""What a test does twice: in one process, and in two that torch's launcher starts.

python -m torch.distributed.run --nproc-per-node 2 tests/pair.py INPUTS OUT
"""

import dataclasses
import functools
import pickle
import sys
from pathlib import Path

import pandas as pd
import torch

from parallax.files import write_table
from parallax.framing.choosing import Decoding
from parallax.framing.contamination import measure_familiarity
from parallax.framing.logodds import Openings, measure_log_odds
from parallax.framing.respond import DrawStore, LocalResponder, plan_cells, respond
from parallax.framing.subjects import load_subject
from parallax.models.answering import answer_questions
from parallax.models.embedded import build_model
from parallax.models.encoding import Encoder
from parallax.models.families import FAMILIES
from parallax.models.loading import Loaded
from parallax.models.tuning import open_weights
from parallax.params import Lora, Optimization, Unlearn
from parallax.processes import join_processes
from parallax.training import checkpoint
from parallax.training.checkpoint import Checkpoints
from parallax.training.engine import Engine
from parallax.training.knowledge import Knowledge
from parallax.training.loop import Plan, train
from parallax.training.sharding import Sharded
from parallax.training.supervised import supervised_objective
from parallax.unlearn.objective import Steps, unlearning_objective

METHODS = ("ga", "gd", "kl", "po", "npo")
# Of two processes the second has 2 rows of 5, one text of an image and a text, none of one, and
# one of three texts.
BATCHES = [[0, 13, 2, 15, 4], [1, 14], [3], [16, 17, 18], [5, 19, 6, 20, 7, 21]]
STEPS = Steps(forget=[[3, 1, 0], [2]], retain=[[4, 0, 7], [5]])
STEADY = Optimization(
    seed=3,
    optimizer="adamw",
    batch_size=5,
    warmup_fraction=0.25,
    schedule="linear",
    weight_decay=0.01,
)


@dataclasses.dataclass(frozen=True)
class Inputs:
    """What trainings and tables are made of."""

    shape: object
    processor: object
    portraits: object
    knowledge: Knowledge
    unlearn: dict[str, Unlearn]
    instances: list
    subject: Path
    prompts: list


class KilledError(Exception):
    """Stands for a killed process."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A training: `method` of unlearning, or "sft"."""

    method: str
    tuning: str = "full"
    optimizer: str = "adamw"
    dtype: torch.dtype = torch.float64
    dropout: float = 0.0
    rate: float = 1e-3
    sharded: bool = False


CASES = {
    **{f"{method}-full": Case(method) for method in ("sft", *METHODS)},
    **{f"{method}-lora": Case(method, "lora") for method in ("sft", *METHODS)},
    "sft-single": Case("sft", dtype=torch.float32),
    "npo-single": Case("npo", dtype=torch.float32),
    "sft-muon": Case("sft", optimizer="muon"),
    "sft-full-fsdp": Case("sft", sharded=True),
    "sft-lora-fsdp": Case("sft", "lora", sharded=True),
    "npo-full-fsdp": Case("npo", sharded=True),
    "kl-lora-fsdp": Case("kl", "lora", sharded=True),
    "sft-dropout-fsdp": Case("sft", "lora", dropout=0.3, sharded=True),
    "sft-dropout": Case("sft", "lora", dropout=0.3),
}


def run(case, inputs, processes, checkpoints=None, observe=lambda row: None):
    """Return the curve, and the trained weights by name."""
    torch.manual_seed(0)
    model = build_model(inputs.shape, inputs.processor).to(case.dtype)
    loaded = Loaded(model, inputs.processor)
    open_weights(loaded, case.tuning, Lora(rank=2, alpha=4, dropout=case.dropout), seed=0)
    shards = case.sharded and processes.count > 1
    engine = Sharded(model, processes) if shards else Engine(model, processes)
    encoder = Encoder(inputs.processor, FAMILIES["llava"], inputs.portraits)
    image, text = inputs.knowledge.image, inputs.knowledge.text
    if case.method == "sft":
        steps = len(BATCHES)
        objective = supervised_objective(engine, [*image, *text], BATCHES, encoder)
    else:
        steps = len(STEPS.forget)
        parts = Knowledge(image[:4], text[:4]), Knowledge(image[4:], text[4:])
        objective = unlearning_objective(
            engine, inputs.unlearn[case.method], *parts, STEPS, encoder
        )
    how = STEADY.model_copy(update={"optimizer": case.optimizer})
    plan = Plan(steps, steps, case.rate, how)
    rows = train(engine, objective, plan, checkpoints or Checkpoints(None), observe, case.method)
    trained = [name for name, weight in model.named_parameters() if weight.requires_grad]
    weights = dict(model.named_parameters())
    return rows, {
        name: weights[name].detach() for name in trained if engine.processes.main or not shards
    }


def resume(case, inputs, processes, folder):
    """Return what `run` does, of a training that was killed after three steps and went on."""
    checkpoint.COST_FACTOR = 0
    keep, calls = Checkpoints(folder, interval=0), []
    save = keep.save_if_due

    def save_and_die(engine, rows):
        save(engine, rows)
        if len(rows) == 3:
            raise KilledError

    keep.save_if_due = save_and_die
    try:
        run(case, inputs, processes, keep)
    except KilledError:
        torch.rand(5)  # another process has drawn other numbers
    found = run(case, inputs, processes, Checkpoints(folder), calls.append)
    steps = [row["step"] for row in calls]
    return *found, steps


def tables(inputs, processes, folder):
    """Return tables of answers by both ways, responses, log-odds and familiarity."""
    torch.manual_seed(0)
    model = build_model(inputs.shape, inputs.processor).eval()
    found = {}
    for way in ("shared", "plain"):
        towers = FAMILIES["llava"].shared_towers if way == "shared" else frozenset()
        family = dataclasses.replace(FAMILIES["llava"], shared_towers=towers)
        encoder = Encoder(inputs.processor, family, inputs.portraits)
        found[way] = answer_questions(model, encoder, inputs.instances, 8, 5, processes)
    subject = load_subject("tiny", inputs.subject, "chat")
    store = DrawStore(folder / "draws.jsonl")
    local = LocalResponder(subject, Decoding(max_new_tokens=4), 16)
    cells = plan_cells(inputs.prompts, 2, 0)
    found["responses"] = respond(local, cells, store, processes=processes)
    openings = Openings(("I can't", "No"), ("Sure", "Here"))
    found["log_odds"] = measure_log_odds(subject, inputs.prompts, openings, processes=processes)
    bodies = list(dict.fromkeys(prompt.text for prompt in inputs.prompts))[:5]
    measure = functools.partial(measure_familiarity, subject, least_likely=0.2, batch_size=16)
    found["familiarity"] = pd.DataFrame(map(vars, processes.spread(bodies, measure)))
    return found


def main(inputs_file, out):
    processes = join_processes()
    inputs = Inputs(**pickle.loads(Path(inputs_file).read_bytes()))
    results = {name: run(case, inputs, processes) for name, case in CASES.items()}
    for name in ("sft-dropout", "sft-dropout-fsdp"):
        results[f"{name} resumed"] = resume(CASES[name], inputs, processes, Path(out).parent / name)
    made = tables(inputs, processes, Path(out).parent)
    for name, table in made.items():
        write_table(Path(out).parent / f"{name}-{processes.rank}.parquet", table)
    everybodys = processes.gather({name: weights for name, (_, weights, *_) in results.items()})
    if processes.main:
        torch.save({"results": results, "weights": everybodys}, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
