"""The framing half's plots: contrasts with intervals, items between frames."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from parallax.report.drawing import COLOURS, STYLE
from parallax.report.framing_compared import JudgeRow
from parallax.report.framing_judge_plots import draw_confusions, draw_effects, draw_kappas
from parallax.report.framing_judges import Card, name_judge
from parallax.report.framing_words import (
    CATEGORIES,
    CATEGORY_LABELS,
    FRAMES,
    OUTCOME_LABELS,
    contrast_label,
    outcome_order,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_PANELS = {
    "primary": "primary family (points)",
    "exploratory": "exploratory (points)",
    "log_odds": "log-odds, exploratory (nats)",
}
_ROW = 0.27  # inches a row of a forest plot takes


def draw_forest(effects: "pd.DataFrame", subjects: Sequence[str], smallest_effect: float) -> Figure:
    """Draw contrasts with their intervals, a column a subject, the primary family on top.

    `effects` holds one judge's rows, in fractions of 1, which are drawn as percentage points, and
    those of the log-odds, in nats. Filled: significant. The band is plus and minus
    `smallest_effect`, a fraction.
    """
    panels = [name for name in _PANELS if len(_panel(effects, name))]
    heights = [max(len(_rows_of(_panel(effects, name))), 1) + 1.6 for name in panels]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(2.0 + 3.4 * len(subjects), _ROW * sum(heights) + 0.2))
        grid = figure.subplots(
            *(len(panels), len(subjects)),
            squeeze=False,
            height_ratios=heights,
            sharex="row",
            sharey="row",
        )
        for name, line in zip(panels, grid, strict=True):
            table = _panel(effects, name)
            for subject, axes in zip(subjects, line, strict=True):
                _draw_panel(axes, table, subject, 1.0 if name == "log_odds" else 100.0)
                title = _PANELS[name]
                axes.set_title(title if len(subjects) == 1 else f"{subject}: {title}")
                if name != "log_odds":
                    margin = 100 * smallest_effect
                    axes.axvspan(-margin, margin, color=COLOURS["rule"], alpha=0.45, linewidth=0)
        return figure


def _panel(effects: "pd.DataFrame", name: str) -> "pd.DataFrame":
    judged = effects["outcome"] != "log_odds"
    if name == "log_odds":
        return effects[~judged & (effects["role"] == "exploratory")]
    return effects[judged & (effects["role"] == name)]


def _rows_of(table: "pd.DataFrame") -> list[tuple[str, str]]:
    """Return (outcome, contrast) in the order in which they are listed."""
    found = set(zip(table["outcome"], table["contrast"], strict=True))
    return sorted(found, key=lambda row: outcome_order(*row))


def _draw_panel(axes: "Axes", table: "pd.DataFrame", subject: str, scale: float) -> None:
    rows = _rows_of(table)
    own = table[table["subject"] == subject].sort_values(["outcome", "contrast"])
    for row in own.to_dict("records"):
        place = rows.index((row["outcome"], row["contrast"]))
        significant = row["label"] == "significant"
        colour = COLOURS["forget"] if significant else COLOURS["ink"]
        axes.plot(
            [scale * row["low"], scale * row["high"]],
            [place, place],
            color=colour,
            linewidth=1.6,
            solid_capstyle="butt",
        )
        axes.plot(
            scale * row["estimate"],
            place,
            marker="o",
            markersize=6,
            markeredgecolor=colour,
            markerfacecolor=colour if significant else COLOURS["paper"],
            linestyle="none",
        )
    if own.empty:
        words = {"color": COLOURS["muted"], "fontsize": 8.5, "ha": "center"}
        axes.text(0.5, 0.45, "not measured", words, transform=axes.transAxes)
    axes.axvline(0, color=COLOURS["muted"], linewidth=1, zorder=0)
    axes.set_yticks(range(len(rows)), [_row_label(*row) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.margins(x=0.08)
    axes.grid(True, axis="x")
    axes.set_axisbelow(True)
    axes.tick_params(left=False)
    axes.spines["left"].set_visible(False)


def _row_label(outcome: str, contrast: str) -> str:
    words = "" if outcome == "log_odds" else f"{OUTCOME_LABELS[outcome]} "
    return f"{words}{contrast_label(contrast)}"


def draw_slopes(item_effects: "pd.DataFrame", subjects: Sequence[str]) -> Figure:
    """Draw each item's mean under E, D and N, a row a subject, a panel a category.

    `item_effects` holds one judge's rows. Items with the same means are one line, the thicker the
    more they are; orange rises from N to E, blue falls, grey does neither. Black: the mean item.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.8, 2.3 * len(subjects)))
        grid = figure.subplots(len(subjects), len(CATEGORIES), squeeze=False, sharey=True)
        for subject, line in zip(subjects, grid, strict=True):
            own = item_effects[item_effects["subject"] == subject]
            for category, axes in zip(CATEGORIES, line, strict=True):
                _draw_items(axes, own[own["outcome"] == category])
            line[0].set_ylabel(f"{subject}\nshare of responses")
        for category, axes in zip(CATEGORIES, grid[0], strict=True):
            axes.set_title(CATEGORY_LABELS[category])
        return figure


def _draw_items(axes: "Axes", table: "pd.DataFrame") -> None:
    means = table.sort_values("item")[list(FRAMES)].to_numpy(dtype=float)
    known = means[~np.isnan(means).any(axis=1)]
    lines, counts = np.unique(known.round(6), axis=0, return_counts=True)
    for line, count in zip(lines, counts, strict=True):
        change = line[0] - line[2]
        role = "forget" if change > 0 else "retain" if change < 0 else "muted"
        width = 0.9 * float(np.sqrt(count))
        axes.plot(FRAMES, line, color=COLOURS[role], linewidth=width, alpha=0.65)
    if len(known):
        axes.plot(FRAMES, known.mean(axis=0), color=COLOURS["ink"], linewidth=2.2, marker="o")
    axes.set_ylim(-0.04, 1.04)
    axes.set_xlim(-0.2, 2.2)
    axes.grid(True, axis="y")
    axes.set_axisbelow(True)


def framing_figures(
    effects: "pd.DataFrame",
    item_effects: "pd.DataFrame",
    cards: Sequence[Card],
    subjects: Sequence[str],
    by_judge: Mapping[str, Sequence[JudgeRow]],
    smallest_effect: float,
) -> Iterator[tuple[str, Figure]]:
    """Yield the plots for `dvc plots` by name; the effects are those under the first card's judge.

    `by_judge` holds each subject's effects under every judge; with one judge they are not drawn.

    Outside the page no caption names the judge: the figures do it.
    """
    for name, figure in (
        ("framing_contrasts", draw_forest(effects, subjects, smallest_effect)),
        ("framing_items", draw_slopes(item_effects, subjects)),
    ):
        figure.supxlabel(name_judge(cards[0]), fontsize=8.5, color=COLOURS["muted"])
        yield name, figure
    yield "framing_kappas", draw_kappas(cards)
    yield "framing_confusions", draw_confusions(cards)
    if len(cards) > 1:
        yield "framing_judge_effects", draw_effects(by_judge, smallest_effect)
