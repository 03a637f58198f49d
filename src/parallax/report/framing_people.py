"""People's audit of the paraphrases as the page shows it."""

import dataclasses

from parallax.report.figures import Figures

_QUESTIONS = {
    "intent": "same intent",
    "difficulty": "same difficulty",
    "compliance": "same compliance expectation",
}


@dataclasses.dataclass(frozen=True)
class QuestionRow:
    """How annotators agree on a question.

    `observed` is the share of equal pairs of answers; `alpha` is Krippendorff's with its interval,
    NaN where all answers are the same; `with_catches` is alpha with the catch pairs among the rest.
    """

    name: str
    no: int
    answers: int
    observed: float
    alpha: float
    low: float
    high: float
    with_catches: float


@dataclasses.dataclass(frozen=True)
class CatchRow:
    """An annotator's catch pairs, and the failed ones."""

    annotator: str
    pairs: int
    failed: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class PeopleView:
    """What people were asked and how far they agree; `faults` keep the set from its gate."""

    annotators: int
    majority: int
    least_alpha: float
    most_catch_failures: float
    questions: tuple[QuestionRow, ...]
    catches: tuple[CatchRow, ...]
    contested: tuple[str, ...]
    adjudicated: tuple[str, ...]
    faults: tuple[str, ...]


def build_people(human: Figures) -> PeopleView:
    """Return the audit by people.

    Raises:
        DataError: a figure is missing.
    """
    gate = human.part("gate")
    return PeopleView(
        annotators=human.count("annotators"),
        majority=gate.count("majority"),
        least_alpha=gate.number("least_alpha"),
        most_catch_failures=gate.number("most_catch_failures"),
        questions=tuple(
            _question(label, human.part("questions", name)) for name, label in _QUESTIONS.items()
        ),
        catches=tuple(
            CatchRow(name, found.count("pairs"), _texts(found, "failed"))
            for name, found in human.parts("catches").items()
        ),
        contested=_texts(human, "contested"),
        adjudicated=human.part("adjudicated").names,
        faults=_texts(gate, "faults"),
    )


def _question(label: str, found: Figures) -> QuestionRow:
    names = ("observed", "value", "low", "high", "with_catches")
    numbers = [found.number(name) for name in names]
    return QuestionRow(label, found.count("no"), found.count("answers"), *numbers)


def _texts(found: Figures, name: str) -> tuple[str, ...]:
    return tuple(map(str, found.list(name)))
