"""Greedy answers and option log-probabilities by the library's own generation: for any family."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch

from parallax.models.batches import Progress, answer_logits, answer_nll, by_length, collate
from parallax.models.encoding import Encoder, Sample
from parallax.processes import Processes

if TYPE_CHECKING:
    from transformers import GenerationConfig, PreTrainedModel


@torch.inference_mode()
def generate(
    model: "PreTrainedModel",
    encoder: Encoder,
    prompts: Sequence[Sample],
    batch_size: int,
    max_new_tokens: int,
    progress: Progress,
    processes: Processes,
) -> list[str]:
    """Return the greedy answer to each prompt, from batches that are padded on the left.

    The model computes positions and masks from the attention mask, so that a row's padding does
    not enter its answer.
    """
    with _greedy(model, encoder, max_new_tokens) as settings:

        def answer(rows: list[int]) -> list[str]:
            chosen = [prompts[row] for row in rows]
            batch = collate(chosen, encoder, side="left", device=model.device)
            tokens = model.generate(**batch.inputs(model.dtype), generation_config=settings)
            texts = []
            for new in tokens[:, batch.input_ids.shape[1] :].tolist():
                end = next((n for n, token in enumerate(new) if token in encoder.ends), len(new))
                texts.append(encoder.tokenizer.decode(new[:end], skip_special_tokens=True).strip())
            progress(len(rows))
            return texts

        batches = by_length(prompts, batch_size)
        return processes.spread_batches(batches, lambda own: [answer(rows) for rows in own])


@contextlib.contextmanager
def _greedy(
    model: "PreTrainedModel", encoder: Encoder, max_new_tokens: int
) -> "Iterator[GenerationConfig]":
    """Take a checkpoint's own settings away: a repetition penalty would change what is measured."""
    from transformers import GenerationConfig

    own = model.generation_config
    settings = GenerationConfig(
        do_sample=False,
        max_new_tokens=max_new_tokens,
        pad_token_id=encoder.pad,
        eos_token_id=sorted(encoder.ends),
    )
    model.generation_config = settings
    try:
        yield settings
    finally:
        model.generation_config = own


@torch.inference_mode()
def score_answers(
    model: "PreTrainedModel",
    encoder: Encoder,
    samples: Sequence[Sample],
    batch_size: int,
    progress: Progress,
    processes: Processes,
) -> list[tuple[float, int]]:
    """Return for each sample its answer's log-probability (nats, end token included) and tokens."""

    def score(rows: list[int]) -> list[tuple[float, int]]:
        batch = collate([samples[row] for row in rows], encoder, device=model.device)
        nll = answer_nll(answer_logits(model, batch), batch)
        progress(len(rows))
        return list(zip((-nll.total).tolist(), nll.tokens.tolist(), strict=True))

    batches = by_length(samples, batch_size)
    return processes.spread_batches(batches, lambda own: [score(rows) for rows in own])
