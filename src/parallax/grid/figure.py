"""The grid's picture: text against image accuracy on the forget set, one panel a setting."""

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import matplotlib
from matplotlib.figure import Figure

from parallax.grid.plan import METHODS, Grid
from parallax.grid.table import Outcome
from parallax.report.drawing import COLOURS, STYLE
from parallax.report.plots import draw_plane_ground

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette; the shapes tell the methods apart without colour.
_COLOURS = {"ga": "#d55e00", "gd": "#e69f00", "kl": "#0072b2", "po": "#009e73", "npo": "#cc79a7"}
_MARKERS = {"ga": "o", "gd": "s", "kl": "^", "po": "v", "npo": "P"}

Place = tuple[float, float]


def place(outcome: Outcome, model: str) -> Place:
    """Return a model's (text, image) accuracy on the forget set, fractions."""
    text, image = (outcome.value(f"{model}.forget.accuracy.acc_{name}") for name in ("uni", "mul"))
    return text, image


def centre(places: Sequence[Place]) -> Place:
    """Return the mean of both coordinates."""
    return statistics.fmean(p[0] for p in places), statistics.fmean(p[1] for p in places)


def panels_of(grid: Grid, outcomes: Sequence[Outcome]) -> Mapping[str, Sequence[Outcome]]:
    """Return the outcomes of each setting that has any, by its label."""
    found = {
        setting.label: [outcome for outcome in outcomes if outcome.run.setting == setting]
        for setting in grid.settings
    }
    return {label: here for label, here in found.items() if here}


def draw_grid(grid: Grid, outcomes: Sequence[Outcome]) -> Figure:
    """Draw each method's way from before to after unlearning.

    Where a grid has several seeds the arrow joins the means, and dots show the single runs.
    """
    panels = panels_of(grid, outcomes)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(3.6 * len(panels), 4.4))
        row = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        for axes, (label, here) in zip(row, panels.items(), strict=True):
            draw_plane_ground(axes)
            axes.set_title(f"forget {label}" if grid.name == "ratios" else f"unlearned on {label}")
            axes.set_xlabel("text accuracy (fraction right)")
            axes.set_ylabel("image accuracy (fraction right)" if axes is row[0] else "")
            _draw_methods(axes, here)
        handles = {
            name: handle
            for axes in row
            for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        order = [name for name in ("before", *METHODS, "retain-only") if name in handles]
        figure.legend(
            [handles[name] for name in order], order, loc="outside lower center", ncols=len(order)
        )
        return figure


def _draw_methods(axes: "Axes", outcomes: Sequence[Outcome]) -> None:
    before = centre([place(outcome, "sft") for outcome in outcomes])
    for method in METHODS:
        after = [place(o, "unlearned") for o in outcomes if o.run.method == method]
        if after:
            _draw_way(axes, before, after, method)
    axes.plot(
        *before,
        marker="o",
        markersize=8,
        linestyle="none",
        markerfacecolor="white",
        markeredgecolor=COLOURS["ink"],
        label="before",
    )
    axes.plot(
        *centre([place(outcome, "retain_only") for outcome in outcomes]),
        marker="D",
        markersize=7,
        linestyle="none",
        color=COLOURS["yardstick"],
        label="retain-only",
    )


def _draw_way(axes: "Axes", before: Place, after: Sequence[Place], method: str) -> None:
    colour, end = _COLOURS[method], centre(after)
    arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.2, "shrinkA": 4, "shrinkB": 4}
    axes.annotate("", end, before, arrowprops=arrow)
    if len(after) > 1:
        texts, images = zip(*after, strict=True)
        axes.plot(texts, images, ".", color=colour, markersize=4, alpha=0.6)
    axes.plot(
        *end, marker=_MARKERS[method], markersize=7, linestyle="none", color=colour, label=method
    )
