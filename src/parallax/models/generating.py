"""Greedy answers and option log-probabilities, in batches."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch

from parallax.models.batches import answer_logits, answer_nll, collate
from parallax.models.encoding import Encoder, Sample

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Progress = Callable[[int], object]


def by_length(samples: Sequence[Sample], batch_size: int) -> list[list[int]]:
    """Cut the samples' indices into batches of similar length, longest first."""
    order = sorted(range(len(samples)), key=lambda i: (-len(samples[i].tokens), i))
    return [order[start : start + batch_size] for start in range(0, len(order), batch_size)]


@torch.inference_mode()
def generate(
    model: "PreTrainedModel",
    encoder: Encoder,
    prompts: Sequence[Sample],
    pixels: torch.Tensor,
    batch_size: int,
    max_new_tokens: int,
    progress: Progress = lambda count: None,
) -> list[str]:
    """Return the greedy answer to each prompt.

    Prompts are padded on the left and sliced off by length. The answer does not depend on what
    else is in the batch: the attention mask hides the padding and positions count from the
    prompt's first token.
    """
    outputs = [""] * len(prompts)
    for rows in by_length(prompts, batch_size):
        batch = collate([prompts[i] for i in rows], pixels, encoder.pad, "left", model.device)
        inputs = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
        if batch.pixel_values is not None:
            inputs["pixel_values"] = batch.pixel_values.to(model.dtype)
        tokens = model.generate(
            **inputs,
            do_sample=False,
            max_new_tokens=max_new_tokens,
            pad_token_id=encoder.pad,
            eos_token_id=encoder.eos,
        )
        new = tokens[:, batch.input_ids.shape[1] :]
        texts = encoder.tokenizer.batch_decode(new, skip_special_tokens=True)
        for row, text in zip(rows, texts, strict=True):
            outputs[row] = text.strip()
        progress(len(rows))
    return outputs


@torch.inference_mode()
def score_answers(
    model: "PreTrainedModel",
    encoder: Encoder,
    samples: Sequence[Sample],
    pixels: torch.Tensor,
    batch_size: int,
    progress: Progress = lambda count: None,
) -> list[tuple[float, int]]:
    """Return for each sample its answer's log-probability (nats, end token included) and tokens."""
    scores = [(0.0, 0)] * len(samples)
    for rows in by_length(samples, batch_size):
        batch = collate([samples[i] for i in rows], pixels, encoder.pad, device=model.device)
        nll = answer_nll(answer_logits(model, batch), batch)
        pairs = zip((-nll.total).tolist(), nll.tokens.tolist(), strict=True)
        for row, pair in zip(rows, pairs, strict=True):
            scores[row] = pair
        progress(len(rows))
    return scores
