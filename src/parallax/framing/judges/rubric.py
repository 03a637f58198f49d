"""A judge that reads: a language model chooses one of four lettered categories.

Each category stands at each letter once (four rotations), so that a liking for a letter adds the
same to all four and cancels in the mean of the log-probabilities; see `split_table`.

A liking for a category is left in. Contextual calibration (Zhao et al. 2021, arXiv 2102.09690)
would take out what the model says of a case without content, where it should know nothing. Here it
knows something: a response "N/A" is off topic, and a judge that reads well says so. `content_free`
reports it all the same.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import special

from parallax.errors import ModelError
from parallax.framing.items import CATEGORIES, Category
from parallax.framing.judges.judge import JUDGES, Case, Outcome, Prior, Setup, Verdict
from parallax.framing.judges.local import LocalModel, load_local
from parallax.framing.judges.wordings import JUDGING, REWORDINGS, Wording
from parallax.params import JudgeModel
from parallax.records import LETTERS
from parallax.stats.items import Floats

ROTATIONS = len(CATEGORIES)
_TURNS = range(ROTATIONS)
LEAST_MASS = 0.1
"""Least probability that the four letters share; below it the model is not answering."""
LEAST_ORDERS = 3
"""Orders, of four, in which a category must lead, the letters' prior taken out: more than half."""
TIE = 1e-6
"""Difference of log-probabilities, nats, that rounding can make."""
CONTENT_FREE = tuple(Case(text, text) for text in ("N/A", "[MASK]", ""))
"""The inputs without content of Zhao et al."""


class LetterScorer(Protocol):
    """Something that gives the log-probability of each letter as the answer to a question."""

    def score_letters(self, questions: Sequence[str]) -> Floats:
        """Return log P(letter | question), nats, over the whole vocabulary; shape (N, 4)."""
        ...


def ask(case: Case, rotation: int, wording: Wording = JUDGING) -> str:
    """Return the question about a case with the categories' order rotated."""
    return wording.ask(case, rotate(rotation))


def rotate(rotation: int) -> tuple[Category, ...]:
    """Return the categories in the order of the letters."""
    return (*CATEGORIES[rotation:], *CATEGORIES[:rotation])


def split_table(table: Floats) -> tuple[Floats, Floats]:
    """Tell what a model thinks of the categories from its liking for letters.

    `table` holds log P(letter), shape (rotations, letters). With p normalised over the four letters
    of an order r,

        log p(l | r) = s_c + b_l - Z_r + rest,    c = the category at l in r

    and each category stands at each letter once, so that means over the orders separate the two:

        s_c = mean_r log p(letter of c | r)    b_l = mean_r log p(l | r)

    each up to a constant, the same for all c (or l). That is the prior of option letters of Zheng
    et al. 2024 (arXiv 2309.03882, PriDe), estimated on the case itself since all its orders are
    asked. Returned are s, shape (4,), and log p - b by (rotation, category), shape (4, 4): the
    orders' votes without the letters' prior.
    """
    logs = special.log_softmax(table, axis=1)
    debiased = logs - logs.mean(axis=0)
    places = np.array([[rotate(turn).index(name) for name in CATEGORIES] for turn in _TURNS])
    return (
        np.take_along_axis(logs, places, axis=1).mean(axis=0),
        np.take_along_axis(debiased, places, axis=1),
    )


def decide(table: Floats) -> Verdict:
    """Return the verdict from log P(letter), shape (rotations, letters).

    The category with the largest s_c of `split_table`; the margin is that minus the second largest,
    nats. Unscored where the letters are hardly likely at all, on a tie, and where the category
    leads in fewer than LEAST_ORDERS orders, the letters' prior taken out.

    Raises:
        ModelError: the table holds a NaN or an infinite number.
    """
    if not np.isfinite(table).all():
        raise ModelError("rubric: a letter's log-probability is no number; judge in float32")
    mass = float(np.exp(table).sum(axis=1).mean())
    if mass < LEAST_MASS:
        return Verdict(None, f"answers no letter: their probability is {mass:.3f}")
    scores, orders = split_table(table)
    best = int(scores.argmax())
    second, first = np.sort(scores)[-2:]
    margin = round(float(first - second), 6)
    if margin <= TIE:
        return Verdict(None, "tie", margin)
    votes = int((orders.argmax(axis=1) == best).sum())
    if votes < LEAST_ORDERS:
        letters = {LETTERS[place] for place in table.argmax(axis=1)}
        if len(letters) == 1:
            return Verdict(None, f"answers {letters.pop()} whatever it stands for", margin)
        return Verdict(None, f"no majority: {votes} of {ROTATIONS} orders", margin)
    return Verdict(CATEGORIES[best], f"{votes} of {ROTATIONS} orders", margin)


@dataclass(frozen=True, eq=False)
class Rubric:
    """Judges by the letters' likelihood under `scorer`; nothing is sampled."""

    scorer: LetterScorer
    model: str
    wording: Wording = JUDGING
    name: str = "rubric"
    outcomes: tuple[Outcome, ...] = CATEGORIES

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """The margin is a mean log-probability ratio, nats."""
        written = [case for case in cases if case.response.strip()]
        found = iter(self._score(written))
        return [
            decide(next(found)) if case.response.strip() else Verdict(None, "empty response")
            for case in cases
        ]

    def reword(self) -> tuple["Rubric", ...]:
        """Return the judge with the rubric in other words."""
        return tuple(dataclasses.replace(self, wording=wording) for wording in REWORDINGS)

    def content_free(self) -> Prior:
        """Return what it answers where there is nothing to judge, probabilities."""
        logs = special.log_softmax(self._score(CONTENT_FREE), axis=2)  # (cases, rotations, letters)
        split = [split_table(table) for table in logs]
        letters = special.softmax(logs.mean(axis=(0, 1)))
        categories = special.softmax(np.mean([scores for scores, _ in split], axis=0))
        return Prior(
            dict(zip(LETTERS, letters.tolist(), strict=True)),
            dict(zip(CATEGORIES, categories.tolist(), strict=True)),
        )

    def _score(self, cases: Sequence[Case]) -> Floats:
        """Return log P(letter) of shape (cases, rotations, letters)."""
        questions = [ask(case, turn, self.wording) for case in cases for turn in _TURNS]
        if not questions:
            return np.zeros((0, ROTATIONS, len(LETTERS)))
        return self.scorer.score_letters(questions).reshape(-1, ROTATIONS, len(LETTERS))


@dataclass(frozen=True, eq=False)
class LocalLetters:
    """Letters' log-probabilities from a local model's next token."""

    local: LocalModel
    batch_size: int

    def score_letters(self, questions: Sequence[str]) -> Floats:
        """Return log P(letter | question), shape (N, 4).

        Raises:
            ModelError: the tokenizer has no single token for a letter after the question.
        """
        prompts = [self.local.render_question(question) for question in questions]
        letters = [self.local.next_token(prompts[0], letter) for letter in LETTERS]
        if None in letters or len(set(letters)) < len(LETTERS):
            raise ModelError(
                f"judge model {self.local.name!r}: its tokenizer has no single token for each of"
                f" {', '.join(LETTERS)}; choose another model"
            )
        logs = self.local.next_logprobs(
            prompts, [x for x in letters if x is not None], self.batch_size
        )
        return logs


def build_local_rubric(chosen: JudgeModel) -> Rubric:
    """Load the model and wrap it."""
    local = load_local(chosen)
    return Rubric(LocalLetters(local, chosen.batch_size), model=chosen.name_or_path)


@JUDGES.register("rubric")
def _build(setup: Setup) -> Rubric:
    return build_local_rubric(setup.settings.rubric)
