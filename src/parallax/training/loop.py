"""The training loop: every base, fine-tuning and unlearning step is made here."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch
from tqdm import tqdm

from parallax.errors import ModelError
from parallax.params import Optimization
from parallax.training.checkpoint import Checkpoints
from parallax.training.optimizers import build_optimizers
from parallax.training.schedule import learning_rate_factor

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CLIP = 1.0


class Term(NamedTuple):
    """One summand of a step's loss: `weight * loss`, with `loss` a scalar in nats."""

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
    model: "PreTrainedModel",
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
    weighted sum, nats), gradient_norm (before clipping) and every term's own value. Training goes
    on from the last checkpoint where there is one; the result is the same bit for bit.

    Raises:
        ModelError: the loss or its gradient is not finite; the message names step and terms.
    """
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizers = build_optimizers(model, plan.optimization, plan.learning_rate)
    torch.manual_seed(plan.optimization.seed)
    rows = checkpoints.restore(model, optimizers)
    model.train()
    for step in tqdm(range(len(rows), plan.steps), label, plan.steps, initial=len(rows)):
        rate = plan.learning_rate * learning_rate_factor(
            step, plan.steps, plan.optimization.warmup_fraction, plan.optimization.schedule
        )
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
        values: Row = {}
        loss = 0.0
        for term in objective(step):
            (term.weight * term.loss).backward()
            values[term.name] = term.loss.item()
            loss += term.weight * values[term.name]
        norm = torch.nn.utils.clip_grad_norm_(trained, CLIP)
        if not (math.isfinite(loss) and torch.isfinite(norm)):
            raise ModelError(
                f"{label}: the loss or its gradient is not finite at step {step} ({values});"
                " lower the learning rate"
            )
        for optimizer in optimizers:
            optimizer.step()
        model.zero_grad(set_to_none=True)
        rows.append(
            {
                "step": step,
                "epoch": (step + 1) / plan.steps_per_epoch,
                "learning_rate": rate,
                "loss": loss,
                "gradient_norm": norm.item(),
                **values,
            }
        )
        observe(rows[-1])
        checkpoints.save_if_due(model, optimizers, rows)
    model.eval()
    return rows
