"""The unlearning objective: L = alpha * L_mul + beta * L_uni (UMU-Bench, section 4)."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parallax.errors import ModelError
from parallax.models.batches import answer_nll, answer_rows, collate
from parallax.models.encoding import Encoder, Sample
from parallax.params import RetainedDescent, Unlearn
from parallax.records import MODALITIES, Modality
from parallax.seeding import generator
from parallax.training.engine import Engine
from parallax.training.knowledge import Knowledge
from parallax.training.loop import Objective, Term
from parallax.training.order import draw
from parallax.training.parts import take_part
from parallax.unlearn.methods import METHODS
from parallax.unlearn.methods.method import Answers
from parallax.unlearn.reference import Reference, compute_reference


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
    engine: Engine,
    params: Unlearn,
    forget: Knowledge,
    retain: Knowledge,
    steps: Steps,
    encoder: Encoder,
) -> Objective:
    """Return the objective of `params.method`, in up to four terms per step.

    L_m = mean_b forget_m(b) + retain_weight * mean_b retain_m(b) for modality m, weighted by alpha
    (image) and beta (text). Both modalities of a step hold the same instances. What the method
    needs of the reference model is computed here, once, with the weights that the model now has.
    """
    method = METHODS[params.method]
    descent = params.descent
    weights: dict[Modality, float] = {"image": params.alpha, "text": params.beta}
    active = list_modalities(params)
    keeps = has_retain_term(params)
    reference = compute_reference(engine, method, forget, retain, steps, active, encoder)

    def answers(samples: Sequence[Sample], rows: Sequence[int], known: Reference) -> Answers:
        batch = collate([samples[i] for i in rows], encoder, device=engine.model.device)
        logits = engine.logits(batch)
        return Answers(
            answer_nll(logits, batch),
            logits,
            answer_rows(batch),
            known.nll_of(rows, logits.device),
            known.logits_of(rows, logits.device),
        )

    def objective(step: int) -> Iterator[Term]:
        for m in active:
            gone = take_part(steps.forget[step], forget.side(m), engine.processes)
            seen = answers(forget.side(m), gone.rows, reference["forget", m])
            yield Term(f"forget_{m}", gone.mean(method.forget(seen, descent)), weights[m])
            if keeps and method.retain is not None:
                kept = take_part(steps.retain[step], retain.side(m), engine.processes)
                seen = answers(retain.side(m), kept.rows, reference["retain", m])
                value = kept.mean(method.retain(seen, descent))
                yield Term(f"retain_{m}", value, weights[m] * _retain_weight(params))

    return objective


def for_text_alone(params: Unlearn) -> Unlearn:
    """Return the parameters for a model that takes text alone: alpha counts as 0.

    Raises:
        ModelError: beta is 0, so that nothing would be unlearned.
    """
    if params.beta == 0:
        raise ModelError("unlearn.beta 0: the model takes text alone; give beta a weight")
    return params.model_copy(update={"alpha": 0.0})


def list_modalities(params: Unlearn) -> list[Modality]:
    """Return the modalities whose loss has a weight."""
    weights: dict[Modality, float] = {"image": params.alpha, "text": params.beta}
    return [m for m in MODALITIES if weights[m] > 0]


def has_retain_term(params: Unlearn) -> bool:
    """Say whether the steps also run over retain instances."""
    return METHODS[params.method].retain is not None and _retain_weight(params) > 0


def _retain_weight(params: Unlearn) -> float:
    descent = params.descent
    return descent.retain_weight if isinstance(descent, RetainedDescent) else 0.0
