"""The unlearning objective: L = alpha * L_mul + beta * L_uni (UMU-Bench, section 4)."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from parallax.models.batches import answer_logits, answer_nll, answer_rows, collate
from parallax.models.encoding import Sample
from parallax.params import RetainedDescent, Unlearn
from parallax.records import MODALITIES, Modality
from parallax.seeding import generator
from parallax.training.knowledge import Knowledge
from parallax.training.loop import Objective, Term
from parallax.training.order import draw
from parallax.unlearn.methods import METHODS
from parallax.unlearn.methods.method import Answers
from parallax.unlearn.reference import Reference, compute_reference

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class Steps:
    """Which instances each step takes, as indices into the forget and the retain knowledge."""

    forget: Sequence[Sequence[int]]
    retain: Sequence[Sequence[int]]


TERMS = tuple(f"{part}_{modality}" for part in ("forget", "retain") for modality in MODALITIES)


def plan_steps(forget: int, retain: int, size: int, epochs: int, seed: int) -> Steps:
    """Plan `epochs` passes over `forget` instances in steps of `size`, with as many retain ones.

    The last step of an epoch may be smaller. Retain instances come in whole permutations, anew in
    every epoch: none is seen twice before all have been seen.
    """
    rng = generator("unlearning order", seed)
    forgotten = [
        order[start : start + size]
        for order in (rng.sample(range(forget), forget) for _ in range(epochs))
        for start in range(0, forget, size)
    ]
    kept = iter(draw(range(retain), forget * epochs, rng))
    return Steps(forgotten, [list(itertools.islice(kept, len(rows))) for rows in forgotten])


def unlearning_objective(
    model: "PreTrainedModel",
    params: Unlearn,
    forget: Knowledge,
    retain: Knowledge,
    steps: Steps,
    pixels: torch.Tensor,
    pad: int,
) -> Objective:
    """Return the objective of `params.method`, in up to four terms per step.

    L_m = mean_b forget_m(b) + retain_weight * mean_b retain_m(b) for modality m, weighted by alpha
    (image) and beta (text). Both modalities of a step hold the same instances. What the method
    needs of the reference model is computed here, once, with the weights that `model` now has.
    """
    method = METHODS[params.method]
    descent = params.descent
    weights: dict[Modality, float] = {"image": params.alpha, "text": params.beta}
    active = [m for m in MODALITIES if weights[m] > 0]
    keeps = method.retain is not None and _retain_weight(params) > 0
    reference = compute_reference(model, method, forget, retain, steps, active, pixels, pad)

    def answers(samples: Sequence[Sample], rows: Sequence[int], known: Reference) -> Answers:
        batch = collate([samples[i] for i in rows], pixels, pad, device=model.device)
        logits = answer_logits(model, batch)
        return Answers(
            answer_nll(logits, batch),
            logits,
            answer_rows(batch),
            known.nll_of(rows, model.device),
            known.logits_of(rows, model.device),
        )

    def objective(step: int) -> Iterator[Term]:
        for m in active:
            seen = answers(forget.side(m), steps.forget[step], reference["forget", m])
            yield Term(f"forget_{m}", method.forget(seen, descent).mean(), weights[m])
            if keeps and method.retain is not None:
                kept = answers(retain.side(m), steps.retain[step], reference["retain", m])
                value = method.retain(kept, descent).mean()
                yield Term(f"retain_{m}", value, weights[m] * _retain_weight(params))

    return objective


def _retain_weight(params: Unlearn) -> float:
    descent = params.descent
    return descent.retain_weight if isinstance(descent, RetainedDescent) else 0.0
