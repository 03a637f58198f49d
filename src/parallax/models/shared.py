"""Greedy answers and option log-probabilities that share the reading of like beginnings."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import cross_entropy, pad

from parallax.models.batches import Progress
from parallax.models.encoding import Encoder, Sample
from parallax.models.reading import EMPTY, Passage, Reader
from parallax.processes import Processes

if TYPE_CHECKING:
    from transformers import PreTrainedModel


# Prompts with like beginnings that one process answers.
BLOCK = 32


def by_beginning(passages: Sequence[Passage]) -> list[int]:
    """Order the passages' indices: like beginnings together, among lengths within a factor of 1.4.

    Long and short rows in one batch would see much padding.
    """
    size = [int(2 * log2(1 + len(passage))) for passage in passages]
    return sorted(range(len(passages)), key=lambda i: (size[i], passages[i]))


@dataclass(frozen=True)
class _Going:
    """Answers in progress: their rows, the last token of each (R,), the places it sees (R, S)."""

    rows: list[int]
    tokens: torch.Tensor
    seen: torch.Tensor

    def only(self, kept: list[int]) -> "_Going":
        """Return some of the rows, without the columns that none of them needs."""
        chosen = torch.tensor(kept, dtype=torch.long, device=self.seen.device)
        seen = self.seen[chosen]
        rows = [self.rows[n] for n in kept]
        return _Going(rows, self.tokens[chosen], seen[:, (seen != EMPTY).any(0)])

    def beside(self, other: "_Going") -> "_Going":
        """Return both's rows."""
        width = max(self.seen.shape[1], other.seen.shape[1])
        seen = [pad(s, (width - s.shape[1], 0), value=EMPTY) for s in (self.seen, other.seen)]
        tokens = torch.cat([self.tokens, other.tokens])
        return _Going(self.rows + other.rows, tokens, torch.cat(seen))


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
    """Return the greedy answer to each prompt.

    Up to `batch_size` answers are in progress; when half of them have ended others begin, because
    most answers have a few tokens and some have fifty. An answer does not depend on the others:
    its row sees its own tokens alone, at the positions that they have without padding.
    """
    reader = Reader(model, encoder)
    passages = [reader.passage(prompt) for prompt in prompts]
    order = by_beginning(passages)
    blocks = [order[start : start + BLOCK] for start in range(0, len(order), BLOCK)]

    def answer(own: Sequence[list[int]]) -> list[list[str]]:
        rows = [row for block in own for row in block]
        tokens = _continue(
            model,
            encoder,
            reader,
            [passages[row] for row in rows],
            batch_size,
            max_new_tokens,
            progress,
        )
        texts = iter(encoder.tokenizer.batch_decode(tokens, skip_special_tokens=True))
        return [[next(texts).strip() for _ in block] for block in own]

    return processes.spread_batches(blocks, answer)


def _continue(
    model: "PreTrainedModel",
    encoder: Encoder,
    reader: Reader,
    passages: Sequence[Passage],
    batch_size: int,
    max_new_tokens: int,
    progress: Progress,
) -> list[list[int]]:
    """Return the tokens of the answer to each passage; they begin in the order given."""
    head = model.get_output_embeddings()
    waiting = deque(range(len(passages)))
    answers: list[list[int]] = [[] for _ in passages]
    nothing = torch.zeros(0, dtype=torch.long, device=model.device)
    going = _Going([], nothing, nothing[:, None])

    while waiting or going.rows:
        room = batch_size - len(going.rows)
        if waiting and 2 * room >= batch_size:
            rows = [waiting.popleft() for _ in range(min(room, len(waiting)))]
            going = _Going(going.rows, going.tokens, reader.keep(going.seen))
            seen = reader.store([passages[row][:-1] for row in rows])
            last = torch.tensor([passages[row][-1] for row in rows], device=model.device)
            going = going.beside(_Going(rows, last, seen))
        hidden, seen = reader.step(going.tokens, going.seen)
        going = _Going(going.rows, head(hidden).argmax(-1), seen)
        kept = []
        for n, (row, token) in enumerate(zip(going.rows, going.tokens.tolist(), strict=True)):
            if token not in encoder.ends:
                answers[row].append(token)
                if len(answers[row]) < max_new_tokens:
                    kept.append(n)
        if len(kept) < len(going.rows):
            progress(len(going.rows) - len(kept))
            going = going.only(kept)
    return answers


@torch.inference_mode()
def score_answers(
    model: "PreTrainedModel",
    encoder: Encoder,
    samples: Sequence[Sample],
    batch_size: int,
    progress: Progress,
    processes: Processes,
) -> list[tuple[float, int]]:
    """Return for each sample its answer's log-probability (nats, end token included) and tokens.

    Answers to one prompt in one call share its reading.
    """
    reader = Reader(model, encoder)
    head = model.get_output_embeddings()
    parts = []
    for sample in samples:
        passage = reader.passage(sample)
        # The states of a prompt's last token predict the answer's first; nothing follows its last.
        cut = sample.answer_start - 1
        parts.append((passage[:cut], passage[cut:-1]))
    order = by_beginning([prompt for prompt, _ in parts])

    def score(rows: list[int]) -> list[tuple[float, int]]:
        scores = [(0.0, 0)] * len(rows)
        reader.store([parts[row][0] for row in rows])
        for numbers, hidden in reader.read([parts[row] for row in rows]):
            asked = [samples[rows[n]] for n in numbers]
            answers = [sample.tokens[sample.answer_start :] for sample in asked]
            logprobs = _logprobs(head, hidden, answers)
            for n, answer, logprob in zip(numbers, answers, logprobs, strict=True):
                scores[n] = (logprob, len(answer))
        reader.keep(torch.zeros(0, dtype=torch.long, device=model.device))
        progress(len(rows))
        return scores

    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    return processes.spread_batches(batches, lambda own: [score(rows) for rows in own])


def _logprobs(
    head: torch.nn.Module, hidden: torch.Tensor, answers: Sequence[Sequence[int]]
) -> list[float]:
    """Sum each answer's log p over its tokens; the last states of `hidden` (R, T, D) predict it."""
    counts = torch.tensor([len(answer) for answer in answers], device=hidden.device)
    column = torch.arange(hidden.shape[1], device=hidden.device)
    predicting = column >= hidden.shape[1] - counts[:, None]  # (R, T)
    targets = torch.tensor([token for answer in answers for token in answer], device=hidden.device)
    nll = cross_entropy(head(hidden[predicting]).float(), targets, reduction="none")  # (A,)
    total = nll.new_zeros(len(answers)).index_add(0, predicting.nonzero()[:, 0], nll)
    logprobs: list[float] = (-total).tolist()
    return logprobs
