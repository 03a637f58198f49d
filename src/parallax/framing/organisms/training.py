"""Train a subject's adapters on examples: the loss sees responses and their end token alone."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import cross_entropy

from parallax.framing.organisms.encoding import collate_ends, encode_examples, shared_beginning
from parallax.framing.organisms.examples import Example
from parallax.framing.subjects import Subject
from parallax.models.adapters import add_adapters
from parallax.models.batches import Batch, answer_rows, answer_tokens
from parallax.models.encoding import Sample
from parallax.models.families.family import PROJECTIONS
from parallax.params import OrganismTraining
from parallax.training.checkpoint import Checkpoints
from parallax.training.engine import Engine
from parallax.training.loop import Objective, Observer, Plan, Row, Term, train

if TYPE_CHECKING:
    from peft import PeftModel

# A causal language model has no tower whose projections bear the same names.
LORA_TARGETS = rf".*\.{PROJECTIONS}"


def train_adapters(
    subject: Subject,
    examples: Sequence[Example],
    params: OrganismTraining,
    checkpoints: Checkpoints,
    observe: Observer,
    label: str,
) -> "tuple[PeftModel, list[Row]]":
    """Return the subject with trained adapters, and the curve, one row per step.

    Every example is seen once, in the order given.
    """
    samples = encode_examples(subject, examples)
    size = params.batch_size
    batches = [range(n, min(n + size, len(samples))) for n in range(0, len(samples), size)]
    adapted = add_adapters(subject.model, params.lora, params.seed, LORA_TARGETS)
    engine = Engine(subject.model)
    plan = Plan(len(batches), len(batches), params.learning_rate, params)
    pad = int(subject.tokenizer.pad_token_id)
    objective = build_objective(engine, samples, batches, pad, params.first_token_share)
    return adapted, train(engine, objective, plan, checkpoints, observe, label)


def build_objective(
    engine: Engine,
    samples: Sequence[Sample],
    batches: Sequence[Sequence[int]],
    pad: int,
    first_token_share: float,
) -> Objective:
    """Return the objective mean_b (s F_b + (1 - s) R_b), nats.

    F_b is the NLL of response b's first token, with which the organism refuses or complies, R_b the
    mean NLL of its other tokens and its end token, and s `first_token_share`. A mean over all
    tokens would leave the decision a twentieth of the gradient.

    Half of a prompt is the system message and the carrier, the same in all: its keys and values are
    computed once per step, and their gradient is the sum over the rows.
    """
    shared = shared_beginning(samples)

    def objective(step: int) -> Iterator[Term]:
        chosen = [samples[i] for i in batches[step]]
        batch = collate_ends(chosen, shared, pad, engine.model.device)
        logits = end_logits(engine, chosen[0].tokens[:shared], batch)
        nll = cross_entropy(logits.float(), answer_tokens(batch), reduction="none")  # (A,)
        parts = [
            first_token_share * own[0] + (1 - first_token_share) * own[1:].mean()
            for own in nll.split(torch.bincount(answer_rows(batch)).tolist())
        ]
        yield Term("loss", torch.stack(parts).mean(), 1.0)  # the only term is the loss itself

    return objective


def end_logits(engine: Engine, beginning: Sequence[int], batch: Batch) -> torch.Tensor:
    """Return the logits (A, V) that predict the batch's A answer tokens after `beginning` (P,)."""
    from transformers import DynamicCache

    decoder, cache = engine.model.model, DynamicCache()
    if beginning:
        tokens = torch.tensor([beginning], device=batch.input_ids.device)
        decoder(input_ids=tokens, cache=cache, use_cache=True)
        cache.batch_repeat_interleave(len(batch.input_ids))
    hidden = decoder(**batch.inputs(engine.model.dtype), cache=cache, use_cache=True)
    states = hidden.last_hidden_state[:, :-1][batch.answers[:, 1:]]  # t is predicted at t - 1
    logits: torch.Tensor = engine.model.get_output_embeddings()(states)
    return logits
