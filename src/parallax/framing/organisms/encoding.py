"""Prompts with their answers as tokens, and batches of what follows a shared beginning."""

from collections.abc import Sequence

import torch

from parallax.framing.organisms.examples import Example
from parallax.framing.prompts import Prompt
from parallax.framing.subjects import Subject
from parallax.models.batches import Batch
from parallax.models.encoding import Sample


def encode_examples(subject: Subject, examples: Sequence[Example]) -> list[Sample]:
    """Tokenise prompts as they are put to the subject, with the response and an end token."""
    end = int(subject.tokenizer.eos_token_id)
    samples = [encode_answer(subject, example.prompt, example.response) for example in examples]
    return [Sample((*s.tokens, end), s.answer_start, None) for s in samples]


def encode_answer(subject: Subject, prompt: Prompt, answer: str) -> Sample:
    """Tokenise a prompt as it is put to the subject, with an answer and nothing behind it."""
    asked = subject.encode(subject.render(prompt))
    answered = subject.tokenizer(answer, add_special_tokens=False)["input_ids"]
    return Sample((*asked, *answered), len(asked), None)


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
