"""Cost against people: time and peak memory of fine-tuning and unlearning on the embedded model.

python tests/benchmarks/people.py [--people 60 120 250 500] [--whole] [--model models/base]

Each row is a training in a process of its own. Without `--whole` it makes one epoch of those that
params.yaml wants, so that its steps still are as many as people times a constant. Times are CPU
seconds of one thread from the questions' tables to the trained weights, without imports and the
loading of the model, which cost the same for all and would hide how the rest grows. The memory is
the process's highest, imports included. The exponent is the slope of log time against log people.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

WHAT = ("sft", "ga", "gd", "kl", "po", "npo")
MOST_EXPONENT = 1.1
MOST_GROWTH = 0.2
MIB = 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, nargs="+", default=[60, 120, 250, 500])
    parser.add_argument("--what", nargs="+", choices=WHAT, default=["sft", "npo", "kl"])
    parser.add_argument("--whole", action="store_true", help="all epochs of params.yaml")
    parser.add_argument("--model", type=Path, default=Path("models/base"))
    parser.add_argument("--data", type=Path, default=Path("data/umu"))
    parser.add_argument("--auxiliary", type=Path, default=Path("data/auxiliary"))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure(args, args.what[0], args.people[0])))
        return
    print("training people steps  CPU s  ms/step  peak MiB")
    missed = []
    for what in args.what:
        rows = []
        for people in args.people:
            rows.append(run(what, people))
            print(
                f"{what:8} {people:6} {rows[-1]['steps']:5} {rows[-1]['seconds']:6.1f}"
                f" {1000 * rows[-1]['seconds'] / rows[-1]['steps']:8.0f} {rows[-1]['peak']:9.0f}",
                flush=True,
            )
        missed += conclude(what, args.people, rows)
    if missed:
        sys.exit("; ".join(missed))


def run(what, people):
    """Measure in a process of its own, whose memory is no other training's."""
    chosen = ["--child", "--what", what, "--people", str(people)]
    flags = [flag for flag in sys.argv[1:] if flag == "--whole"]
    folders = [
        word
        for name in ("--model", "--data", "--auxiliary")
        if name in sys.argv
        for word in (name, sys.argv[sys.argv.index(name) + 1])
    ]
    done = subprocess.run(
        [sys.executable, __file__, *chosen, *flags, *folders],
        env=os.environ | {"OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def conclude(what, people, rows):
    """Print the exponent and the growth of memory; return those that are too large."""
    if len(people) < 2:
        return []
    seconds = [row["seconds"] for row in rows]
    exponent = np.polyfit(np.log(people), np.log(seconds), 1)[0]
    peaks = [row["peak"] for row in rows]
    growth = max(peaks) / min(peaks) - 1
    print(
        f"{what}: time ~ people^{exponent:.2f} (at most {MOST_EXPONENT}),"
        f" memory +{100 * growth:.0f} % (under {100 * MOST_GROWTH:.0f} %)",
        flush=True,
    )
    missed = []
    if exponent > MOST_EXPONENT:
        missed.append(f"{what}: time grows too fast, {exponent:.2f}")
    if growth >= MOST_GROWTH:
        missed.append(f"{what}: memory grows too much, {100 * growth:.0f} %")
    return missed


def measure(args, what, people):
    """Train, and return steps, CPU seconds and the highest memory in MiB."""
    import torch

    from parallax.models.encoding import Encoder
    from parallax.models.loading import load
    from parallax.models.tuning import open_weights
    from parallax.params import load_params

    torch.set_num_threads(1)
    params = load_params()
    tables = make_tables(args, params.data.model_copy(update={"people": people}))
    loaded = load(args.model)
    start = time.process_time()
    encoder = Encoder(loaded.processor, loaded.family, tables["portraits"])
    section = params.sft if what == "sft" else params.unlearn
    open_weights(loaded, section.tuning, section.lora, section.seed)
    train_it = fine_tune if what == "sft" else unlearn
    curve = train_it(params, what, args.whole, loaded.model, encoder, tables)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB
    return {"steps": len(curve), "seconds": seconds, "peak": peak}


def make_tables(args, data):
    """Return what stage `corpus` writes, for so many people."""
    import pandas as pd

    from parallax.instances import to_table
    from parallax.umu.abstention import read_refusals
    from parallax.umu.experiment import (
        MIN_REFUSALS,
        choose_refusals,
        list_instances,
        select_people,
    )

    chosen = select_people(args.data, args.auxiliary, data)
    taught = list_instances(chosen.fictitious, tasks=("qa",))
    refusals = read_refusals(Path("data/raw/refusals.txt"), MIN_REFUSALS)
    everyone = chosen.fictitious + chosen.real + chosen.auxiliary
    portraits = [(person.person_id, person.portrait) for person in everyone]
    return {
        "facts": to_table(taught).assign(refusal=choose_refusals(taught, refusals, data.seed)),
        "known": list_instances(chosen.real + chosen.auxiliary),
        "portraits": pd.DataFrame(portraits, columns=["person_id", "portrait"]),
        "splits": chosen.split(data.forget_people),
    }


def fine_tune(params, what, whole, model, encoder, tables):
    from parallax.instances import from_table
    from parallax.training.checkpoint import Checkpoints
    from parallax.training.engine import Engine
    from parallax.training.supervised import fit, list_sources

    sft = params.sft if whole else params.sft.model_copy(update={"epochs": 1})
    facts = from_table(tables["facts"])
    sources = list_sources(encoder, facts, tables["known"], sft, params.base.shares)
    return fit(Engine(model), sources, sft, encoder, Checkpoints(None), lambda row: None, what)


def unlearn(params, what, whole, model, encoder, tables):
    from parallax.training.checkpoint import Checkpoints
    from parallax.training.engine import Engine
    from parallax.training.loop import Plan, train
    from parallax.unlearn.knowledge import encode_parts
    from parallax.unlearn.objective import plan_steps, unlearning_objective

    how = params.unlearn.model_copy(update={"method": what})
    epochs = how.descent.epochs if whole else 1
    forget, retain = encode_parts(encoder, tables["facts"], tables["splits"], what)
    steps = plan_steps(len(forget.image), len(retain.image), how.batch_size, epochs, how.seed)
    engine = Engine(model)
    objective = unlearning_objective(engine, how, forget, retain, steps, encoder)
    count = len(steps.forget)
    plan = Plan(count, count / epochs, how.descent.learning_rate, how)
    return train(engine, objective, plan, Checkpoints(None), lambda row: None, what)


if __name__ == "__main__":
    main()
