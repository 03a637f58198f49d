"""Effects against familiarity, between models and between judges, as their tables print them."""

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from parallax.report.figures import Figures
from parallax.report.framing_words import OUTCOME_LABELS, contrast_label, outcome_order
from parallax.report.numbers import MINUS, UNDEFINED, change, span

if TYPE_CHECKING:
    import pandas as pd

_OUTCOMES = {"refusal": "refusal", "harmful": "harmful_compliance", "log_odds": "log_odds"}
_NATS = "log_odds"


@dataclasses.dataclass(frozen=True)
class TertileRow:
    """A contrast's effect by tertile of familiarity, and outside the highest one with its p.

    `descriptive`: too few items to infer.
    """

    name: str
    effects: tuple[str, ...]
    counts: tuple[int, ...]
    items: int
    correlation: float
    p: float
    rest: str
    rest_p: float
    descriptive: bool


@dataclasses.dataclass(frozen=True)
class ItemFamiliarity:
    """How familiar a model is with one body; NaN where it was not measured."""

    item: str
    tertile: str
    min_k_pp: float
    zlib_ratio: float
    rouge_l: float
    overlap: float


@dataclasses.dataclass(frozen=True)
class DifferenceRow:
    """A difference of differences under one judge, as printed."""

    judge: str
    name: str
    estimate: str
    interval: str
    p: float
    adjusted: float
    label: str


@dataclasses.dataclass(frozen=True)
class Span:
    """A difference with its interval, fractions of 1, its p-values and its label."""

    value: float
    low: float
    high: float
    p: float
    adjusted: float
    exact: bool
    label: str


@dataclasses.dataclass(frozen=True)
class JudgeRow:
    """A preregistered contrast under one judge.

    `difference` is the effect under the primary judge minus this one, item by item; None for the
    primary judge itself.
    """

    name: str
    judge: str
    effect: Span
    difference: Span | None


def name_contrast(short: str) -> str:
    """Return the words for a contrast's short name: "harmful_E-D" is "harmful compliance E − D"."""
    outcome, contrast = split_name(short)
    return f"{OUTCOME_LABELS[outcome]} {contrast_label(contrast)}"


def ordered(contrasts: Mapping[str, Figures]) -> list[tuple[str, Figures]]:
    """Return contrasts by short name in the order in which they are listed."""
    return sorted(contrasts.items(), key=lambda entry: outcome_order(*split_name(entry[0])))


def split_name(short: str) -> tuple[str, str]:
    """Return the outcome and contrast of a short name: ("harmful_compliance", "E-D")."""
    outcome, _, contrast = short.rpartition("_")
    return _OUTCOMES[outcome], contrast


def tertile_rows(subject: Figures) -> tuple[TertileRow, ...]:
    """Return a subject's effects by tertile; none where familiarity was not measured."""
    if not subject.has("contamination"):
        return ()
    rows = []
    for short, found in ordered(subject.parts("contamination")):
        effects = (math.nan if e is None else float(e) for e in found.list("tertile_effects"))
        rows.append(
            TertileRow(
                name=name_contrast(short),
                effects=tuple(_effect(effect, short) for effect in effects),
                counts=found.list("tertile_items"),
                items=found.count("items"),
                correlation=found.number("correlation"),
                p=found.number("p_value"),
                rest=_effect(found.number("rest_effect"), short),
                rest_p=found.number("rest_p"),
                descriptive=found.flag("descriptive"),
            )
        )
    return tuple(rows)


def item_familiarity(table: "pd.DataFrame", subject: str) -> tuple[ItemFamiliarity, ...]:
    """Return the measures of each body, the most familiar tertile first."""
    own = table[table["subject"] == subject].sort_values(
        ["tertile", "item"], ascending=[False, True]
    )
    columns = ("min_k_pp", "zlib_ratio", "rouge_l", "overlap")
    tertiles = (UNDEFINED if value is None else str(value) for value in _missing_none(own))
    values = zip(own["item"], tertiles, *(own[name].tolist() for name in columns), strict=True)
    return tuple(ItemFamiliarity(*row) for row in values)


def _missing_none(table: "pd.DataFrame") -> list[int | None]:
    import pandas as pd

    return [None if pd.isna(value) else int(value) for value in table["tertile"]]


def judge_rows(subject: Figures, primary: str) -> tuple[JudgeRow, ...]:
    """Return a subject's preregistered contrasts, each under every judge, the primary one first."""
    judges = sorted(subject.part("judges").names, key=lambda name: (name != primary, name))
    names = [short for short, _ in ordered(subject.parts("judges", primary, "primary"))]
    return tuple(
        JudgeRow(
            name=name_contrast(short),
            judge=judge,
            effect=_span(subject.part("judges", judge, "primary", short), "p_adjusted"),
            difference=None
            if judge == primary
            else _span(subject.part("judge_differences", judge, short), "p_holm"),
        )
        for short in names
        for judge in judges
    )


def _span(entry: Figures, adjusted: str) -> Span:
    value, low, high, p = (entry.number(key) for key in ("estimate", "low", "high", "p"))
    return Span(
        *(value, low, high, p, entry.number(adjusted)), entry.flag("exact"), entry.text("label")
    )


def pair_rows(metrics: Figures) -> dict[str, tuple[DifferenceRow, ...]]:
    """Return the differences between the models of each pair, under each judge."""
    return {
        pair.replace(" - ", f" {MINUS} "): tuple(
            row for judge in judges.names for row in difference_rows(judge, judges.part(judge))
        )
        for pair, judges in metrics.parts("models", "pairs").items()
    }


def difference_rows(judge: str, contrasts: Figures) -> tuple[DifferenceRow, ...]:
    """Return differences of differences by short name as rows."""
    rows = []
    for short, found in ordered(contrasts.parts()):
        scale, digits = _unit(short)
        rows.append(
            DifferenceRow(
                judge=UNDEFINED if judge == _NATS else judge,
                name=name_contrast(short),
                estimate=_effect(found.number("estimate"), short),
                interval=span(scale * found.number("low"), scale * found.number("high"), digits),
                p=found.number("p"),
                adjusted=found.number("p_holm" if "p_holm" in found.names else "p_bh"),
                label=found.text("label"),
            )
        )
    return tuple(rows)


def across_rows(metrics: Figures) -> tuple[tuple[str, str, float, float, float], ...]:
    """Return (judge, contrast, p of the omnibus, Cochran's Q, its p) over all models."""
    rows = []
    for judge, contrasts in metrics.parts("models", "across").items():
        for short, found in ordered(contrasts.parts()):
            cochran: Mapping[str, float] = found.numbers("cochran") if found.has("cochran") else {}
            rows.append(
                (
                    UNDEFINED if judge == _NATS else judge,
                    name_contrast(short),
                    found.number("omnibus", "p_value"),
                    cochran.get("statistic", math.nan),
                    cochran.get("p_value", math.nan),
                )
            )
    return tuple(rows)


def _unit(short: str) -> tuple[float, int]:
    return (1.0, 2) if short.startswith(_NATS) else (100.0, 1)


def _effect(value: float, short: str) -> str:
    scale, digits = _unit(short)
    return change(scale * value, digits)
