"""Padded batches and the log-probabilities of their answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch

from parallax.models.encoding import Encoder, Sample

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Progress = Callable[[int], object]
"""Told how many rows have been finished."""


@dataclass(frozen=True)
class Batch:
    """Samples padded to one length: `input_ids` and `attention_mask` (B, T), `answers` (B, T) bool.

    `answers[b, t]` says that token t of row b belongs to the answer. `images` holds what the model
    takes beside tokens, by name: the portraits of the rows that show one, in row order.
    """

    input_ids: torch.Tensor
    attention_mask: torch.Tensor
    answers: torch.Tensor
    images: Mapping[str, torch.Tensor]

    def inputs(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """Return the model's inputs by name; real numbers in the model's format."""
        images = {
            name: values.to(dtype) if values.is_floating_point() else values
            for name, values in self.images.items()
        }
        return {"input_ids": self.input_ids, "attention_mask": self.attention_mask, **images}


def collate(
    samples: Sequence[Sample],
    encoder: Encoder,
    side: Literal["left", "right"] = "right",
    device: torch.device | str = "cpu",
) -> Batch:
    """Pad samples on one side and put their portraits together."""
    width = max(len(sample.tokens) for sample in samples)
    input_ids = torch.full((len(samples), width), encoder.pad)  # (B, T)
    attention_mask = torch.zeros_like(input_ids)
    answers = torch.zeros_like(input_ids, dtype=torch.bool)
    for row, sample in enumerate(samples):
        start = width - len(sample.tokens) if side == "left" else 0
        end = start + len(sample.tokens)
        input_ids[row, start:end] = torch.tensor(sample.tokens)
        attention_mask[row, start:end] = 1
        answers[row, start + sample.answer_start : end] = True
    images = encoder.images([s.portrait for s in samples if s.portrait is not None])
    if images and encoder.family.marks_image_tokens:
        images["mm_token_type_ids"] = (input_ids == encoder.image_token_id).long()
    return Batch(
        input_ids.to(device),
        attention_mask.to(device),
        answers.to(device),
        {name: values.to(device) for name, values in images.items()},
    )


def answer_states(model: "PreTrainedModel", batch: Batch) -> torch.Tensor:
    """Return the last states (A, D) that predict the batch's A answer tokens, row by row."""
    inputs = batch.inputs(model.dtype)
    hidden = model.base_model(**inputs, use_cache=False).last_hidden_state  # (B, T, D)
    predicting = batch.answers[:, 1:]  # token t is predicted at t - 1
    states: torch.Tensor = hidden[:, :-1][predicting]
    return states


def by_length(samples: Sequence[Sample], batch_size: int) -> list[list[int]]:
    """Cut the samples' indices into batches of similar length, longest first."""
    order = sorted(range(len(samples)), key=lambda i: (-len(samples[i].tokens), i))
    return [order[start : start + batch_size] for start in range(0, len(order), batch_size)]


def answer_logits(model: "PreTrainedModel", batch: Batch) -> torch.Tensor:
    """Return the logits (A, V) that predict the batch's A answer tokens, row by row.

    The output layer sees the answer positions alone: prompts, image tokens and padding cost nothing
    there and can't enter a loss.
    """
    logits: torch.Tensor = model.get_output_embeddings()(answer_states(model, batch))
    return logits


def answer_tokens(batch: Batch) -> torch.Tensor:
    """Return the batch's answer tokens (A,), row by row."""
    return batch.input_ids[batch.answers]


def answer_rows(batch: Batch) -> torch.Tensor:
    """Return the row of each answer token, (A,)."""
    return batch.answers.nonzero()[:, 0]


@dataclass(frozen=True)
class AnswerNll:
    """Per sequence: S (B,), the sum of the answer tokens' NLL in nats, and T (B,), their number."""

    total: torch.Tensor
    tokens: torch.Tensor

    @property
    def mean(self) -> torch.Tensor:
        """M = S / T, nats per token, (B,)."""
        return self.total / self.tokens


def answer_nll(logits: torch.Tensor, batch: Batch) -> AnswerNll:
    """Sum the answer tokens' negative log-likelihood per sequence.

    S = sum_t -log p(y_t | x, y_<t); prompts, image tokens and padding are not in it.
    """
    nll = torch.nn.functional.cross_entropy(
        logits.float(), answer_tokens(batch), reduction="none"
    )  # (A,)
    rows = answer_rows(batch)
    size = batch.input_ids.shape[0]
    total = nll.new_zeros(size).index_add(0, rows, nll)
    return AnswerNll(total, torch.bincount(rows, minlength=size))
