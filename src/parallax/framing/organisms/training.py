"""Train a subject's adapters on examples: the loss sees responses and their end token alone."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch

from parallax.framing.organisms.examples import Example
from parallax.framing.subjects import Subject
from parallax.models.batches import Batch, answer_nll
from parallax.models.encoding import Sample
from parallax.models.families.family import PROJECTIONS
from parallax.models.tuning import add_adapters
from parallax.params import OrganismTraining
from parallax.seeding import generator
from parallax.training.checkpoint import Checkpoints
from parallax.training.engine import Engine
from parallax.training.loop import Objective, Observer, Plan, Row, Term, train
from parallax.training.order import bucket

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

    Every example is seen once, in batches of similar length; the loss is mean_b M_b, with M_b the
    mean NLL of response b's tokens and its end token, nats.
    """
    samples = encode_examples(subject, examples)
    batches = bucket(
        range(len(samples)),
        [len(sample.tokens) for sample in samples],
        params.batch_size,
        generator("organism batches", params.seed),
    )
    adapted = add_adapters(subject.model, params.lora, params.seed, LORA_TARGETS)
    engine = Engine(subject.model)
    plan = Plan(len(batches), len(batches), params.learning_rate, params)
    objective = build_objective(engine, samples, batches, int(subject.tokenizer.pad_token_id))
    return adapted, train(engine, objective, plan, checkpoints, observe, label)


def encode_examples(subject: Subject, examples: Sequence[Example]) -> list[Sample]:
    """Tokenise prompts as they are put to the subject, with the response and an end token."""
    samples = []
    for example in examples:
        prompt = subject.encode(subject.render(example.prompt))
        response = subject.tokenizer(example.response, add_special_tokens=False)["input_ids"]
        end = int(subject.tokenizer.eos_token_id)
        samples.append(Sample((*prompt, *response, end), len(prompt), None))
    return samples


def build_objective(
    engine: Engine, samples: Sequence[Sample], batches: Sequence[Sequence[int]], pad: int
) -> Objective:
    """Return the objective; the beginning that all prompts share is read once per step.

    Half of a prompt is the system message and the carrier, the same in all: its keys and values
    serve every row, and their gradient is the sum over the rows, as if each row had read it.
    """
    shared = shared_beginning(samples)

    def objective(step: int) -> Iterator[Term]:
        chosen = [samples[i] for i in batches[step]]
        batch = collate_ends(chosen, shared, pad, engine.model.device)
        nll = answer_nll(end_logits(engine, chosen[0].tokens[:shared], batch), batch)
        yield Term("loss", nll.mean.mean(), 1.0)  # the only term is the loss itself

    return objective


def shared_beginning(samples: Sequence[Sample]) -> int:
    """Return how many tokens all prompts begin with; each keeps one token of its own."""
    first = samples[0].tokens
    most = min(sample.answer_start for sample in samples) - 1
    return next(
        (n for n in range(most) if any(sample.tokens[n] != first[n] for sample in samples)), most
    )


def collate_ends(
    samples: Sequence[Sample], shared: int, pad: int, device: torch.device | str
) -> Batch:
    """Pad on the right what follows the shared beginning (B, T); the mask is for all (B, P + T)."""
    width = max(len(sample.tokens) for sample in samples) - shared
    input_ids = torch.full((len(samples), width), pad)
    attention_mask = torch.zeros(len(samples), shared + width, dtype=torch.long)
    answers = torch.zeros_like(input_ids, dtype=torch.bool)
    for row, sample in enumerate(samples):
        length = len(sample.tokens) - shared
        input_ids[row, :length] = torch.tensor(sample.tokens[shared:])
        attention_mask[row, : shared + length] = 1
        answers[row, sample.answer_start - shared : length] = True
    return Batch(input_ids.to(device), attention_mask.to(device), answers.to(device), {})


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
