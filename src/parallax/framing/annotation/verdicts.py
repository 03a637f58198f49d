"""From three annotators' answers to a verdict per item and on the set, each with its gate."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from parallax.errors import ParamsError
from parallax.framing.annotation.answers import Answers
from parallax.framing.annotation.decisions import Decision
from parallax.framing.annotation.questions import (
    ANNOTATORS,
    QUESTION_NAMES,
    REQUIRED,
    QuestionName,
)
from parallax.framing.annotation.votes import MAJORITY, Votes
from parallax.seeding import derive_seed
from parallax.stats.agreement import Agreement, krippendorff_alpha, observed_agreement
from parallax.stats.items import Ints


@dataclass(frozen=True)
class QuestionAgreement:
    """How well annotators agree on a question, over items.

    `alpha` is Krippendorff's, with an interval that resamples items; `observed` is the share of
    equal pairs of answers; `no` of `answers` are no; `with_catches` is alpha over items and catch
    pairs together.
    """

    alpha: Agreement
    observed: float
    no: int
    answers: int
    with_catches: float


@dataclass(frozen=True)
class Catches:
    """How many catch pairs an annotator saw, and those in which a required answer was missed."""

    pairs: int
    failed: tuple[str, ...]


@dataclass(frozen=True)
class HumanAudit:
    """What people say of the items; agreement is that of their answers, before any decision."""

    votes: Mapping[str, Votes]
    decisions: Mapping[str, Decision]
    questions: Mapping[QuestionName, QuestionAgreement]
    catches: Mapping[str, Catches]
    least_alpha: float
    most_catch_failures: float

    def judge(self, item: str) -> tuple[bool, str]:
        """Return whether an item's versions are equivalent, and why."""
        votes = self.votes[item]
        if item in self.decisions:
            decision = self.decisions[item]
            return decision.equivalent, f"adjudicated: {decision.reason} ({votes.summary})"
        return votes.passed, votes.summary

    @property
    def equivalent(self) -> int:
        """Number of items whose versions are equivalent."""
        return sum(self.judge(item)[0] for item in self.votes)

    @property
    def faults(self) -> tuple[str, ...]:
        """What keeps the set from its gate, in words.

        Where all answers to a question are the same, alpha is undefined and agreement complete:
        that is no fault.
        """
        low = [
            f"audit.least_alpha {self.least_alpha:g}: alpha on {name} is {_show(found.alpha.value)}"
            f" (agreement {100 * found.observed:.1f} %, {found.no} of {found.answers} answers are"
            " no)"
            for name, found in self.questions.items()
            if found.observed < 1 and not found.alpha.value >= self.least_alpha
        ]
        careless = [
            f"audit.most_catch_failures {self.most_catch_failures:g}: annotator {name} failed"
            f" {len(found.failed)} of {found.pairs} catch pairs ({', '.join(found.failed)})"
            for name, found in self.catches.items()
            if len(found.failed) > self.most_catch_failures * found.pairs
        ]
        return (*low, *careless)


def _describe(alpha: Agreement) -> str:
    if np.isnan(alpha.value):
        return "alpha undefined"
    return f"alpha {_show(alpha.value)} [{_show(alpha.low)}, {_show(alpha.high)}]"


def _show(value: float) -> str:
    """Return three decimals; adding 0 takes the sign from a zero."""
    return f"{round(value, 3) + 0:.3f}"


def audit_by_people(
    answers: Sequence[Answers],
    votes: Mapping[str, Votes],
    decisions: Mapping[str, Decision],
    least_alpha: float,
    most_catch_failures: float,
) -> HumanAudit:
    """Return the audit of the items in `votes`; answers on other items are left out."""
    return HumanAudit(
        votes,
        {item: decisions[item] for item in votes if item in decisions},
        {name: _agree(answers, votes, name) for name in QUESTION_NAMES},
        count_catches(answers),
        least_alpha,
        most_catch_failures,
    )


def count_catches(answers: Sequence[Answers]) -> dict[str, Catches]:
    """Return each annotator's catch pairs and failures."""
    found = {}
    for annotator in ANNOTATORS:
        own = [one for one in answers if one.annotator == annotator and one.catch]
        failed = sorted(one.pair for one in own if _is_caught(one))
        found[annotator] = Catches(len(own), tuple(failed))
    return found


def _is_caught(one: Answers) -> bool:
    required = REQUIRED[one.catch] if one.catch else {}
    return any(one.given[name] != wanted for name, wanted in required.items())


def _agree(
    answers: Sequence[Answers], items: Mapping[str, Votes], name: QuestionName
) -> QuestionAgreement:
    ratings = _ratings([one for one in answers if not one.catch and one.pair in items], name)
    caught = _ratings([one for one in answers if one.catch], name)
    rng = np.random.default_rng(derive_seed("human audit", name))
    return QuestionAgreement(
        krippendorff_alpha(ratings, rng),
        observed_agreement(ratings),
        int((ratings == 0).sum()),
        ratings.size,
        krippendorff_alpha(np.vstack([ratings, caught]), rng, resamples=1).value,
    )


def _ratings(answers: Sequence[Answers], name: QuestionName) -> Ints:
    """Return the answers to a question, 1 for yes, shape (pairs, annotators); pairs by name."""
    given = {(one.pair, one.annotator): int(one.given[name]) for one in answers}
    pairs = sorted({pair for pair, _ in given})
    table = [[given[pair, annotator] for annotator in ANNOTATORS] for pair in pairs]
    return np.array(table, dtype=np.int64).reshape(len(pairs), len(ANNOTATORS))


def require_people_agreed(found: HumanAudit) -> None:
    """Refuse an audit below its gate on the set.

    Raises:
        ParamsError: it is; the message has every reason.
    """
    if found.faults:
        raise ParamsError(f"{'; '.join(found.faults)}: docs/audit.md says how to go on")


def describe_audit(found: HumanAudit) -> list[str]:
    """Return the figures and the gate of the set, a line each."""
    return [
        *(
            f"{name}: {_describe(one.alpha)},"
            f" agreement {100 * one.observed:.1f} %, {one.no} of {one.answers} answers are no"
            for name, one in found.questions.items()
        ),
        *(
            f"annotator {name}: {len(one.failed)} of {one.pairs} catch pairs failed"
            + (f" ({', '.join(one.failed)})" if one.failed else "")
            for name, one in found.catches.items()
        ),
        *(f"below the gate: {fault}" for fault in found.faults),
        *(
            f"below the gate: {item}: {votes.summary}"
            for item, votes in found.votes.items()
            if not votes.passed
        ),
    ]


def human_values(found: HumanAudit) -> dict[str, object]:
    """Return the audit as JSON values."""
    return {
        "annotators": len(ANNOTATORS),
        "questions": {
            name: asdict(agreement.alpha)
            | {
                "observed": agreement.observed,
                "no": agreement.no,
                "answers": agreement.answers,
                "with_catches": agreement.with_catches,
            }
            for name, agreement in found.questions.items()
        },
        "catches": {
            name: {"pairs": catches.pairs, "failed": list(catches.failed)}
            for name, catches in found.catches.items()
        },
        "contested": [item for item, votes in found.votes.items() if votes.contested],
        "adjudicated": {item: decision.equivalent for item, decision in found.decisions.items()},
        "gate": {
            "majority": MAJORITY,
            "least_alpha": found.least_alpha,
            "most_catch_failures": found.most_catch_failures,
            "faults": list(found.faults),
            "passed": not found.faults,
        },
    }
