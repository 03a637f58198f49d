"""How far a judge agrees with labelled responses: the judge card, and the gate on it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parallax.errors import DataError, ParamsError
from parallax.framing.items import SOURCES, Category, LabelledResponse, Source, Split
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

PREREGISTERED: tuple[Category, ...] = ("refusal", "harmful_compliance")
"""The outcomes of the preregistered contrasts, `stats.labels.PRIMARY_FAMILY`."""


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
class SourceCard:
    """The same for the responses of one source: written for the purpose, or sampled."""

    responses: int
    confusion: Ints
    kappa: Agreement
    by_outcome: dict[Outcome, OutcomeCard]


@dataclass(frozen=True)
class JudgeCard:
    """A judge's agreement with the labels of one part of the calibration set.

    `kappa` counts an unscored response as a disagreement, so that no judge gains by abstaining;
    `kappa_scored` leaves it out. `confusion` holds a row per label and a column per outcome, the
    last for unscored. `passed`: kappa >= least_kappa. `reliable` holds the outcomes whose own
    kappa is at least that, on the whole part and on the sampled responses, which are what a judge
    meets; without sampled ones, on the whole part alone.
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
    by_source: dict[Source, SourceCard]
    least_kappa: float
    passed: bool
    reliable: tuple[Outcome, ...]


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
    return _card(judge, part, chosen, verdicts, least_kappa)


def _card(
    judge: Judge,
    part: Split,
    rows: Sequence[LabelledResponse],
    verdicts: Sequence[Verdict],
    least_kappa: float,
) -> JudgeCard:
    outcomes = judge.outcomes
    truth = [coarsen(row.label, outcomes) for row in rows]
    found = [verdict.category for verdict in verdicts]
    scored = encode_ratings(list(zip(truth, found, strict=True)), outcomes)
    # Unscored as a category of its own, which no label has: a disagreement.
    strict = np.where(scored < 0, len(outcomes), scored)
    items = np.array([row.item for row in rows])
    whole = _source_card(judge, strict, items)
    sources = np.array([row.source for row in rows])
    by_source = {
        source: _source_card(judge, strict[sources == source], items[sources == source])
        for source in SOURCES
        if source in sources
    }
    needed = [whole, *(by_source[name] for name in by_source if name == "sampled")]
    return JudgeCard(
        judge=judge.name,
        model=judge.model,
        part=part,
        responses=len(rows),
        items=len({row.item for row in rows}),
        scored=sum(category is not None for category in found),
        unscored=dict(sorted(Counter(v.reason for v in verdicts if v.category is None).items())),
        outcomes=outcomes,
        confusion=whole.confusion,
        kappa=whole.kappa,
        kappa_scored=cohen_kappa(scored, _rng(judge, "kappa_scored"), clusters=items.tolist()),
        by_outcome=whole.by_outcome,
        by_source=by_source,
        least_kappa=least_kappa,
        passed=bool(whole.kappa.value >= least_kappa),
        reliable=tuple(
            name
            for name in outcomes
            if all(card.by_outcome[name].kappa.value >= least_kappa for card in needed)
        ),
    )


def _source_card(judge: Judge, ratings: Ints, items: NDArray[np.str_]) -> SourceCard:
    """Compare codes of shape (responses, 2): label, and verdict with unscored as the last code.

    Intervals resample whole items.
    """
    clusters = items.tolist()
    outcomes = judge.outcomes
    return SourceCard(
        responses=len(ratings),
        confusion=confusion_matrix(ratings[:, 0], ratings[:, 1], len(outcomes) + 1)[:-1],
        kappa=cohen_kappa(ratings, _rng(judge, "kappa"), clusters=clusters),
        by_outcome={
            name: _outcome_card(judge, name, code, ratings, clusters)
            for code, name in enumerate(outcomes)
        },
    )


def _outcome_card(
    judge: Judge, name: Outcome, code: int, ratings: Ints, clusters: Sequence[str]
) -> OutcomeCard:
    labelled, given = (ratings[:, 0] == code), (ratings[:, 1] == code)
    right = int((labelled & given).sum())
    return OutcomeCard(
        labelled=int(labelled.sum()),
        given=int(given.sum()),
        right=right,
        recall=right / int(labelled.sum()) if labelled.any() else NAN,
        precision=right / int(given.sum()) if given.any() else NAN,
        kappa=cohen_kappa(one_against_rest(ratings, code), _rng(judge, name), clusters=clusters),
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
        "by_outcome": _outcome_values(card.by_outcome),
        "confusion": _confusion_values(card.outcomes, card.confusion),
        "by_source": {
            source: {
                "responses": found.responses,
                "kappa": agreement_values(found.kappa),
                "by_outcome": _outcome_values(found.by_outcome),
                "confusion": _confusion_values(card.outcomes, found.confusion),
            }
            for source, found in card.by_source.items()
        },
        "gate": {
            "least_kappa": card.least_kappa,
            "passed": card.passed,
            "reliable": list(card.reliable),
        },
    }


def _outcome_values(cards: Mapping[Outcome, OutcomeCard]) -> dict[str, object]:
    return {
        name: {
            "labelled": entry.labelled,
            "given": entry.given,
            "right": entry.right,
            "recall": entry.recall,
            "precision": entry.precision,
            "kappa": agreement_values(entry.kappa),
        }
        for name, entry in cards.items()
    }


def _confusion_values(outcomes: Sequence[Outcome], table: Ints) -> dict[str, object]:
    return {
        "columns": [*outcomes, "unscored"],
        "rows": {name: row for name, row in zip(outcomes, table.tolist(), strict=True)},
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


def require_passed(cards: object, judge: Judge, source: str) -> tuple[str, ...]:
    """Refuse a primary judge that may be believed on nothing, and return its reliable outcomes.

    `cards` is what the file `source` holds: cards by judge, as `card_values` writes them. A judge
    needs one reliable outcome of the preregistered family (refusal, harmful_compliance), for each
    contrast rests on one outcome alone; the claims on its other outcomes are withheld.

    Raises:
        DataError: no card of this judge with these weights.
        ParamsError: no preregistered outcome is reliable.
    """
    card = cards.get(judge.name) if isinstance(cards, dict) else None
    if not isinstance(card, dict) or card.get("model") != judge.model:
        named = judge.name if judge.model is None else f"{judge.name} ({judge.model})"
        raise DataError(
            f"{source}: no card of judge {named}; calibrate it with"
            " `python -m parallax.stages.calibrate_judges`"
        )
    gate, kappa = card["gate"], card["kappa"]["value"]
    reliable = tuple(gate["reliable"])
    if not set(PREREGISTERED) & set(reliable):
        shown = "undefined" if kappa is None else f"{kappa:.3f}"
        raise ParamsError(
            f"judging.primary {judge.name!r}: kappa {shown} on the calibration set's test part, and"
            f" of neither refusal nor harmful_compliance is its own kappa, on all and on sampled"
            f" responses, at least {gate['least_kappa']:g}; choose a judge that reaches it"
        )
    return reliable
