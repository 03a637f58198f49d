"""The rubric's question put to a model behind an OpenAI-compatible endpoint.

Not every server tells token probabilities, so each of the four orders of the options casts one
vote, with the letter that the model writes. A liking for one letter makes four unlike votes: a tie.
"""

import dataclasses
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from parallax.framing.endpoint import Completion, endpoint_from_environment
from parallax.framing.items import CATEGORIES, Category
from parallax.framing.judges.ensemble import count_votes
from parallax.framing.judges.judge import JUDGES, Case, Outcome, Setup, Verdict
from parallax.framing.judges.rubric import ROTATIONS, ask, rotate
from parallax.framing.judges.wordings import JUDGING, REWORDINGS, Wording
from parallax.records import LETTERS

MAX_NEW_TOKENS = 8
"""Enough for "The answer is B."."""
WORKERS = 8
"""Questions under way at once."""
# The letter alone or marked, not the article in "A response that ...".
_LETTER = re.compile(r"\W*(?:(?:the )?(?:answer|option)\W*(?:is\W*)?)?([A-D])(?!\w| \w)", re.I)


class Client(Protocol):
    """What is needed of `parallax.framing.endpoint.Endpoint`."""

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    def complete(
        self,
        prompt: str | Sequence[dict[str, str]],
        *,
        temperature: float,
        top_p: float,
        max_new_tokens: int,
        seed: int,
    ) -> Completion:
        """Return the answer to one prompt."""
        ...


@dataclass(frozen=True)
class EndpointRubric:
    """Judges by a served model's written letters; a server's batching may change a verdict."""

    client: Client
    wording: Wording = JUDGING
    name: str = "endpoint"
    outcomes: tuple[Outcome, ...] = CATEGORIES

    @property
    def model(self) -> str:
        """The served model's name."""
        return self.client.model

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """The margin is (most votes - second most) / 4."""
        with ThreadPoolExecutor(WORKERS) as pool:
            return list(pool.map(self._judge_one, cases))

    def reword(self) -> tuple["EndpointRubric", ...]:
        """Return the judge with the rubric in other words."""
        return tuple(dataclasses.replace(self, wording=wording) for wording in REWORDINGS)

    def _judge_one(self, case: Case) -> Verdict:
        if not case.response.strip():
            return Verdict(None, "empty response")
        answers = [self._answer(ask(case, turn, self.wording)) for turn in range(ROTATIONS)]
        votes = [read_letter(answer, turn) for turn, answer in enumerate(answers)]
        if not any(votes):
            return Verdict(None, f"answers no letter: {' '.join(answers[0].split())[:40]!r}")
        return count_votes(votes, "orders")

    def _answer(self, question: str) -> str:
        return self.client.complete(
            [{"role": "user", "content": question}],
            temperature=0.0,
            top_p=1.0,
            max_new_tokens=MAX_NEW_TOKENS,
            seed=0,
        ).text


def read_letter(answer: str, rotation: int) -> Category | None:
    """Return the category at the letter that an answer names; None where it names none."""
    found = _LETTER.match(answer)
    return rotate(rotation)[LETTERS.index(found[1].upper())] if found else None


@JUDGES.register("endpoint")
def _build(setup: Setup) -> EndpointRubric:
    return EndpointRubric(endpoint_from_environment(setup.settings.endpoint))
