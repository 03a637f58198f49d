"""The rubric's question put to a model behind an OpenAI-compatible endpoint."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from parallax.framing.judges.rubric import Rubric
from parallax.records import LETTERS
from parallax.stats.items import Floats

TOP = 20
"""Tokens whose log-probabilities are asked for: the most that the interface allows."""


class TokenClient(Protocol):
    """Something that tells how a served model would begin its answer."""

    def first_token(self, question: str, top: int) -> Mapping[str, float]:
        """Return the likeliest first tokens of the answer and their log-probabilities, nats."""
        ...


@dataclass(frozen=True, eq=False)
class EndpointLetters:
    """Letters' log-probabilities from an endpoint's first token."""

    client: TokenClient

    def score_letters(self, questions: Sequence[str]) -> Floats:
        """Return log P(letter | question), shape (N, 4)."""
        return np.array([read_letters(self.client.first_token(q, TOP)) for q in questions])


def read_letters(tokens: Mapping[str, float]) -> list[float]:
    """Return each letter's log-probability, nats, over the tokens that spell it ("A", " A").

    A letter that is not among the likeliest tokens is at most as likely as the least likely of
    them and as what they leave over, and is counted as that.
    """
    found = []
    for letter in LETTERS:
        logs = [value for token, value in tokens.items() if token.strip() == letter]
        found.append(float(np.logaddexp.reduce(logs)) if logs else _bound(tokens))
    return found


def _bound(tokens: Mapping[str, float]) -> float:
    left = max(1.0 - sum(math.exp(value) for value in tokens.values()), 1e-12)
    return min(math.log(left), min(tokens.values(), default=0.0))


def build_endpoint_rubric(client: TokenClient, model: str) -> Rubric:
    """Return the judge; as a server's batching may change a verdict, it is not deterministic."""
    return Rubric(EndpointLetters(client), model=model, name="endpoint", deterministic=False)
