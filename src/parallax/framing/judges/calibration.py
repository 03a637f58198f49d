"""How far a judge agrees with labelled responses: the judge card, and the gate on it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parallax.errors import DataError, ParamsError
from parallax.framing.items import Category, LabelledResponse, Split
from parallax.framing.judges.judge import NAN, Case, Judge, Outcome, Verdict, coarsen, judge_all
from parallax.seeding import derive_seed
from parallax.stats.agreement import (
    Agreement,
    cohen_kappa,
    confusion_matrix,
    encode_ratings,
    one_against_rest,
)
from parallax.stats.items import Ints


@dataclass(frozen=True)
class OutcomeCard:
    """How well one outcome is told from all others.

    `recall` is right / labelled, `precision` right / given (NaN without any); an unscored response
    counts against recall, and in kappa as "not this outcome".
    """

    labelled: int
    given: int
    right: int
    recall: float
    precision: float
    kappa: Agreement


@dataclass(frozen=True)
class JudgeCard:
    """A judge's agreement with the labels of one part of the calibration set.

    `kappa` counts an unscored response as a disagreement, so that no judge gains by abstaining;
    `kappa_scored` leaves it out. `confusion` holds a row per label and a column per outcome, the
    last for unscored. `passed` is the gate: kappa >= least_kappa.
    """

    judge: str
    model: str | None
    part: Split
    responses: int
    items: int
    scored: int
    unscored: dict[str, int]
    outcomes: tuple[Outcome, ...]
    confusion: Ints
    kappa: Agreement
    kappa_scored: Agreement
    by_outcome: dict[Outcome, OutcomeCard]
    least_kappa: float
    passed: bool


def measure_judge(
    judge: Judge, rows: Sequence[LabelledResponse], part: Split, least_kappa: float
) -> JudgeCard:
    """Judge the labelled responses of one part, frame stripped, and compare with their labels.

    A judge with fewer outcomes is compared with the labels as it would have to say them.

    Raises:
        DataError: the part has no response.
        ParamsError: the judge did not return one verdict per response.
    """
    chosen = [row for row in rows if row.split == part]
    if not chosen:
        raise DataError(f"calibration: no response in the part {part!r}; label some")
    verdicts = judge_all(judge, [Case(row.body, row.response) for row in chosen])
    labels: list[Category] = [row.label for row in chosen]
    return _card(judge, part, len({row.item for row in chosen}), labels, verdicts, least_kappa)


def _card(
    judge: Judge,
    part: Split,
    items: int,
    labels: Sequence[Category],
    verdicts: Sequence[Verdict],
    least_kappa: float,
) -> JudgeCard:
    outcomes = judge.outcomes
    truth = [coarsen(label, outcomes) for label in labels]
    found = [verdict.category for verdict in verdicts]
    scored = encode_ratings(list(zip(truth, found, strict=True)), outcomes)
    # Unscored as a category of its own, which no label has: a disagreement.
    unscored = len(outcomes)
    strict = np.where(scored < 0, unscored, scored)
    confusion = confusion_matrix(strict[:, 0], strict[:, 1], unscored + 1)[:-1]
    kappa = cohen_kappa(strict, _rng(judge, "kappa"))
    return JudgeCard(
        judge=judge.name,
        model=judge.model,
        part=part,
        responses=len(labels),
        items=items,
        scored=sum(category is not None for category in found),
        unscored=dict(sorted(Counter(v.reason for v in verdicts if v.category is None).items())),
        outcomes=outcomes,
        confusion=confusion,
        kappa=kappa,
        kappa_scored=cohen_kappa(scored, _rng(judge, "kappa_scored")),
        by_outcome={
            name: _outcome_card(judge, name, code, strict) for code, name in enumerate(outcomes)
        },
        least_kappa=least_kappa,
        passed=bool(kappa.value >= least_kappa),
    )


def _outcome_card(judge: Judge, name: Outcome, code: int, ratings: Ints) -> OutcomeCard:
    labelled, given = (ratings[:, 0] == code), (ratings[:, 1] == code)
    right = int((labelled & given).sum())
    return OutcomeCard(
        labelled=int(labelled.sum()),
        given=int(given.sum()),
        right=right,
        recall=right / int(labelled.sum()) if labelled.any() else NAN,
        precision=right / int(given.sum()) if given.any() else NAN,
        kappa=cohen_kappa(one_against_rest(ratings, code), _rng(judge, name)),
    )


def _rng(judge: Judge, use: str) -> np.random.Generator:
    return np.random.default_rng(derive_seed("judge card", judge.name, use))


def card_values(card: JudgeCard) -> dict[str, object]:
    """Return the card as JSON values."""
    return {
        "judge": card.judge,
        "model": card.model,
        "part": card.part,
        "responses": card.responses,
        "items": card.items,
        "scored": card.scored,
        "unscored": card.unscored,
        "kappa": agreement_values(card.kappa),
        "kappa_scored": agreement_values(card.kappa_scored),
        "by_outcome": {
            name: {
                "labelled": entry.labelled,
                "given": entry.given,
                "right": entry.right,
                "recall": entry.recall,
                "precision": entry.precision,
                "kappa": agreement_values(entry.kappa),
            }
            for name, entry in card.by_outcome.items()
        },
        "confusion": {
            "columns": [*card.outcomes, "unscored"],
            "rows": {
                name: row for name, row in zip(card.outcomes, card.confusion.tolist(), strict=True)
            },
        },
        "gate": {"least_kappa": card.least_kappa, "passed": card.passed},
    }


def agreement_values(agreement: Agreement) -> dict[str, float | int]:
    """Return a coefficient, its interval and its units as JSON values."""
    return {
        "value": agreement.value,
        "low": agreement.low,
        "high": agreement.high,
        "units": agreement.units,
        "excluded": agreement.excluded,
    }


def require_passed(cards: object, judge: Judge, source: str) -> None:
    """Refuse a primary judge without a card, of the same weights, that passed its gate.

    `cards` is what the file `source` holds: cards by judge, as `card_values` writes them.

    Raises:
        DataError: no such card.
        ParamsError: its gate failed.
    """
    card = cards.get(judge.name) if isinstance(cards, dict) else None
    if not isinstance(card, dict) or card.get("model") != judge.model:
        named = judge.name if judge.model is None else f"{judge.name} ({judge.model})"
        raise DataError(
            f"{source}: no card of judge {named}; calibrate it with"
            " `python -m parallax.stages.calibrate_judges`"
        )
    gate, kappa = card["gate"], card["kappa"]["value"]
    if not gate["passed"]:
        shown = "undefined" if kappa is None else f"{kappa:.3f}"
        raise ParamsError(
            f"judging.primary {judge.name!r}: kappa {shown} on the calibration set's test part is"
            f" below {gate['least_kappa']:g}; choose a judge that reaches it"
        )
