"""How many annotators find a pair's two versions the same."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from parallax.errors import DataError
from parallax.framing.annotation.answers import Answers, pair_digest
from parallax.framing.annotation.questions import ANNOTATORS, QUESTION_NAMES, QuestionName
from parallax.framing.prompt_table import ItemPair

MAJORITY = 2
"""Annotators of three who must answer yes to all three questions."""


@dataclass(frozen=True)
class Votes:
    """Annotators who say yes to a pair: to each question, and to all three (`same`).

    `digest` is that of the texts that they saw.
    """

    digest: str
    yes: Mapping[QuestionName, int]
    same: int

    @property
    def unanimous(self) -> bool:
        """Whether all annotators answer alike, question by question."""
        return all(count in (0, len(ANNOTATORS)) for count in self.yes.values())

    @property
    def passed(self) -> bool:
        """The gate of an item: `MAJORITY` annotators say yes to all three questions."""
        return self.same >= MAJORITY

    @property
    def contested(self) -> bool:
        """Whether it goes to adjudication: not unanimous, or below the gate."""
        return not (self.unanimous and self.passed)

    @property
    def summary(self) -> str:
        """The votes in words."""
        people = len(ANNOTATORS)
        no = [f"{name} {people - count}" for name, count in self.yes.items() if count < people]
        against = f" (no: {', '.join(no)})" if no else ""
        return f"{self.same} of {people} annotators say yes to all three questions{against}"


def count_votes(answers: Iterable[Answers]) -> dict[str, Votes]:
    """Return the votes on each item, items by name; catch pairs are left out."""
    given: dict[str, list[Answers]] = {}
    for one in answers:
        if not one.catch:
            given.setdefault(one.pair, []).append(one)
    return {
        item: Votes(
            ours[0].digest,
            {name: sum(one.given[name] for one in ours) for name in QUESTION_NAMES},
            sum(one.same for one in ours),
        )
        for item, ours in sorted(given.items())
    }


def choose_votes(votes: Mapping[str, Votes], pairs: Sequence[ItemPair]) -> dict[str, Votes]:
    """Return the votes on these pairs, in their order.

    Raises:
        DataError: a pair was not asked about, or its texts have changed since.
    """
    chosen = {}
    for pair in pairs:
        if pair.item not in votes:
            raise DataError(
                f"item {pair.item}: no annotator was asked about it; let people audit it, or set"
                " audit.source to proxy"
            )
        chosen[pair.item] = votes[pair.item]
        if chosen[pair.item].digest != pair_digest(pair.a, pair.b):
            raise DataError(
                f"item {pair.item}: its texts are not those that annotators saw; let people audit"
                " it again, or set audit.source to proxy"
            )
    return chosen
