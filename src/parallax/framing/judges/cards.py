"""Judge cards as JSON values, and the gate on them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from parallax.errors import DataError, ParamsError
from parallax.framing.items import Category
from parallax.framing.judges.calibration import JudgeCard, OutcomeCard
from parallax.framing.judges.judge import Judge, Outcome
from parallax.framing.judges.robustness import Robustness
from parallax.stats.agreement import Agreement
from parallax.stats.items import Ints
from parallax.stats.proportions import Proportion

PREREGISTERED: tuple[Category, ...] = ("refusal", "harmful_compliance")
"""The outcomes of the preregistered contrasts, `stats.labels.PRIMARY_FAMILY`."""


def card_values(card: JudgeCard, robustness: Robustness) -> dict[str, object]:
    """Return a judge card as JSON values; what was not measured is null."""
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
        "robustness": {
            "retest": _flip_values(robustness.retest),
            "rewordings": [_flip_values(flips) for flips in robustness.rewordings],
            "surfaces": {name: _flip_values(f) for name, f in robustness.surfaces.items()},
            "content_free": None
            if robustness.content_free is None
            else asdict(robustness.content_free),
        },
    }


def _share_values(share: Proportion) -> dict[str, float]:
    return {"value": share.value, "low": share.low, "high": share.high}


def _flip_values(flips: Proportion) -> dict[str, float | int]:
    return {"responses": flips.trials, "flipped": flips.hits, **_share_values(flips)}


def _outcome_values(cards: Mapping[Outcome, OutcomeCard]) -> dict[str, object]:
    return {
        name: {
            "labelled": entry.labelled,
            "given": entry.given,
            "right": entry.right,
            "recall": _share_values(entry.recall),
            "precision": _share_values(entry.precision),
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
