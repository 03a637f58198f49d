"""The training loop: every base, fine-tuning and unlearning step is made here."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from tqdm import tqdm

from parallax.errors import ModelError
from parallax.params import Optimization
from parallax.seeding import derive_seed
from parallax.training.checkpoint import Checkpoints
from parallax.training.engine import Engine
from parallax.training.schedule import learning_rate_factor


class Term(NamedTuple):
    """One summand of a step's loss: `weight * loss`, with `loss` a scalar in nats.

    With several processes `loss` is this one's share, and their sum is the loss (`Part.mean`).
    """

    name: str
    loss: torch.Tensor
    weight: float


Objective = Callable[[int], Iterator[Term]]
Row = dict[str, float]
Observer = Callable[[Row], None]

CURVE = ("step", "epoch", "learning_rate", "loss", "gradient_norm")


@dataclass(frozen=True)
class Plan:
    """How long to train and how fast: `steps` in all, `steps_per_epoch` of them an epoch."""

    steps: int
    steps_per_epoch: float
    learning_rate: float
    optimization: Optimization


def train(
    engine: Engine,
    objective: Objective,
    plan: Plan,
    checkpoints: Checkpoints,
    observe: Observer,
    label: str,
) -> list[Row]:
    """Minimise the sum of an objective's terms and return one row of figures per step.

    `objective(step)` yields the step's terms one at a time; each is back-propagated before the next
    is computed, so that only one graph is alive. Gradients are clipped once, to norm 1, after the
    last term, and one optimizer step follows. A row holds step, epoch, learning_rate, loss (the
    weighted sum, nats), gradient_norm (before clipping) and every term's own value; `observe` is
    told of it on the main process. Training goes on from the last checkpoint where there is one;
    the result is the same bit for bit.

    Raises:
        ModelError: the loss or its gradient is not finite; the message names step and terms.
    """
    processes, seed = engine.processes, plan.optimization.seed
    engine.open(plan.optimization, plan.learning_rate)
    # Dropout is drawn from it: not the same in rows of different processes.
    torch.manual_seed(seed if processes.main else derive_seed("process", seed, processes.rank))
    rows = checkpoints.restore(engine)
    for step in tqdm(range(len(rows), plan.steps), label, plan.steps, initial=len(rows)):
        rate = plan.learning_rate * learning_rate_factor(
            step, plan.steps, plan.optimization.warmup_fraction, plan.optimization.schedule
        )
        engine.set_rate(rate)
        shares, weights = {}, []
        for term in objective(step):
            engine.backward(term.weight * term.loss)
            shares[term.name] = term.loss.item()
            weights.append(term.weight)
        values = dict(zip(shares, processes.sum(list(shares.values())), strict=True))
        loss = 0.0
        for weight, value in zip(weights, values.values(), strict=True):
            loss += weight * value
        norm = engine.clip()
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise ModelError(
                f"{label}: the loss or its gradient is not finite at step {step} ({values});"
                " lower the learning rate"
            )
        engine.step()
        rows.append(
            {
                "step": step,
                "epoch": (step + 1) / plan.steps_per_epoch,
                "learning_rate": rate,
                "loss": loss,
                "gradient_norm": norm,
                **values,
            }
        )
        if processes.main:
            observe(rows[-1])
        checkpoints.save_if_due(engine, rows)
    engine.close()
    return rows
