"""Contrasts as the framing half's tables print them."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parallax.report.framing_words import OUTCOME_LABELS, contrast_label, outcome_order
from parallax.report.numbers import UNDEFINED, change, probability, span

if TYPE_CHECKING:
    import pandas as pd

_LOG_ODDS = "log_odds"
_FRAME_ROLES = ("primary", "exploratory")
_FAMILY = ("refusal", "harmful_compliance")
# Captions of the groups of rows, in the order in which they are shown.
_GROUPS: Mapping[str, str] = {
    "primary": "Primary family, points, p adjusted by Holm",
    "exploratory": "Exploratory, points, p adjusted by Benjamini and Hochberg",
    _LOG_ODDS: "Exploratory, log-odds of refusal openings against compliance openings, nats",
}
_CONTROL_GROUPS: Mapping[str, str] = {
    "placebo": "Placebo: where no effect belongs",
    "paraphrase": "The contrasts in each version of the request",
    "wording": "The contrasts in each wording of the clauses",
}


@dataclasses.dataclass(frozen=True)
class ContrastRow:
    """One contrast, as printed: points for shares of responses, nats for log-odds.

    `interval` is the inverted sign-flip test's; `counts` are the items above, at and below 0.
    """

    name: str
    estimate: str
    interval: str
    t: str
    bca: str
    p: str
    adjusted: str
    counts: tuple[int, int, int]
    inverted: str
    label: str
    smallest_p: str
    detectable: str
    items: int
    undefined: int
    few: bool


@dataclasses.dataclass(frozen=True)
class RowGroup:
    """Contrasts of one kind under one judge."""

    caption: str
    rows: tuple[ContrastRow, ...]


@dataclasses.dataclass(frozen=True)
class ContrastTable:
    """One subject's contrasts: those shown at once, and those that the reader may open."""

    subject: str
    groups: tuple[RowGroup, ...]
    others: tuple[RowGroup, ...]


def build_contrasts(
    effects: "pd.DataFrame", primary: str, subjects: Sequence[str]
) -> tuple[ContrastTable, ...]:
    """Return the contrasts between frames of each subject under the primary judge.

    `others` are those of the primary family under the other judges.
    """
    tables = []
    for subject in subjects:
        own = effects[effects["subject"] == subject]
        judged = own[
            own["judge"].isin((primary, "")) & own["role"].isin(("primary", "exploratory"))
        ]
        kind = judged["role"].where(judged["outcome"] != _LOG_ODDS, _LOG_ODDS)
        groups = [
            RowGroup(caption, _rows(judged[kind == name])) for name, caption in _GROUPS.items()
        ]
        others = [
            RowGroup(
                f"The primary family under the judge {judge}",
                _rows(own[(own["judge"] == judge) & (own["role"] == "primary")]),
            )
            for judge in sorted(set(own["judge"]) - {primary, ""})
        ]
        tables.append(ContrastTable(subject, _filled(groups), _filled(others)))
    return tuple(tables)


def build_controls(
    effects: "pd.DataFrame", primary: str, subjects: Sequence[str]
) -> tuple[ContrastTable, ...]:
    """Return the placebo contrasts, and those in each paraphrase and wording, of each subject.

    The outcomes of the primary family are the table's `groups`, the rest its `others`.
    """
    tables = []
    for subject in subjects:
        own = effects[(effects["subject"] == subject) & effects["judge"].isin((primary, ""))]
        first = own["outcome"].isin(_FAMILY)
        shown, rest = (
            [
                RowGroup(caption, _rows(part[part["role"] == role]))
                for role, caption in _CONTROL_GROUPS.items()
            ]
            for part in (own[first], own[~first])
        )
        tables.append(ContrastTable(subject, _filled(shown), _filled(rest)))
    return tuple(tables)


def _filled(groups: list[RowGroup]) -> tuple[RowGroup, ...]:
    return tuple(group for group in groups if group.rows)


def _rows(table: "pd.DataFrame") -> tuple[ContrastRow, ...]:
    rows = sorted(
        table.to_dict("records"), key=lambda row: outcome_order(row["outcome"], row["contrast"])
    )
    return tuple(contrast_row(row) for row in rows)


def contrast_row(row: Mapping[Any, Any]) -> ContrastRow:
    """Return a row of the table of effects as it is printed."""
    nats = row["outcome"] == _LOG_ODDS
    scale, digits = (1.0, 2) if nats else (100.0, 1)

    def ends(low: str, high: str) -> str:
        return span(scale * row[low], scale * row[high], digits)

    inverted = float(row["inverted"]) if _known(row["inverted"]) else math.nan
    return ContrastRow(
        name=f"{OUTCOME_LABELS[row['outcome']]} {contrast_label(row['contrast'])}",
        estimate=change(scale * row["estimate"], digits),
        interval=ends("low", "high"),
        t=ends("t_low", "t_high"),
        bca=ends("bca_low", "bca_high"),
        p=probability(row["p"]),
        adjusted=probability(row["p_adjusted"]),
        counts=(int(row["positive"]), int(row["zero"]), int(row["negative"])),
        inverted=UNDEFINED if math.isnan(inverted) else f"{inverted:.0f}",
        label=str(row["label"]),
        smallest_p=probability(row["smallest_p"]),
        detectable=_plain(scale * row["detectable"], digits),
        items=int(row["items"]),
        undefined=int(row["undefined"]),
        few=bool(row["few_nonzero"]),
    )


def _known(value: Any) -> bool:
    # <NA> is not equal to itself either, but refuses to be asked.
    return isinstance(value, int | float) and value == value


def _plain(value: float, digits: int) -> str:
    return UNDEFINED if math.isnan(value) else f"{value:.{digits}f}"
