"""Greedy answers and option log-probabilities, in batches."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch

from parallax.models.batches import Batch, answer_logits, answer_nll, collate
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

    Prompts are padded on the left. The answer does not depend on what else is in the batch: the
    attention mask hides the padding and positions count from the prompt's first token.
    """
    outputs = [""] * len(prompts)
    for rows in by_length(prompts, batch_size):
        batch = collate([prompts[i] for i in rows], pixels, encoder.pad, "left", model.device)
        answers = _continue(model, batch, encoder.eos, max_new_tokens)
        texts = encoder.tokenizer.batch_decode(answers, skip_special_tokens=True)
        for row, text in zip(rows, texts, strict=True):
            outputs[row] = text.strip()
        progress(len(rows))
    return outputs


def _continue(
    model: "PreTrainedModel", batch: Batch, end: int, max_new_tokens: int
) -> list[list[int]]:
    """Return each row's most likely next tokens, without the end token that stops a row.

    A row leaves the batch when it ends, so that one long answer does not keep short ones busy:
    most answers have a few tokens, some have fifty.
    """
    answers: list[list[int]] = [[] for _ in batch.input_ids]
    going = torch.arange(len(answers), device=batch.input_ids.device)  # rows, (G,)
    mask = batch.attention_mask  # (G, T), one column more a step
    inputs = {"input_ids": batch.input_ids, "position_ids": (mask.cumsum(1) - 1).clamp(min=0)}
    if batch.pixel_values is not None:
        inputs["pixel_values"] = batch.pixel_values.to(model.dtype)
    cache = None
    for _ in range(max_new_tokens):
        output = model(
            **inputs,
            attention_mask=mask,
            cache=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        cache = output.cache
        tokens = output.logits[:, -1].argmax(-1)  # (G,)
        kept = (tokens != end).nonzero()[:, 0]
        if len(kept) < len(tokens):
            going, tokens, mask = going[kept], tokens[kept], mask[kept]
            cache.batch_select_indices(kept)
        for row, token in zip(going.tolist(), tokens.tolist(), strict=True):
            answers[row].append(token)
        if len(going) == 0:
            break
        mask = torch.cat([mask, mask.new_ones(len(mask), 1)], dim=1)
        inputs = {"input_ids": tokens[:, None], "position_ids": mask.sum(1, keepdim=True) - 1}
    return answers


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
