"""The report's plots: the modality plane, the unlearning terms, the training losses."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
from matplotlib.figure import Figure

from parallax.records import SETS
from parallax.report.drawing import COLOURS, STYLE, write_figures
from parallax.report.inputs import TRAINED, Scores
from parallax.report.verdict import CHANCE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_MARKERS = {"forget": "o", "retain": "s", "real": "^"}
_LINES = {"image": "-", "text": (0, (4, 2))}
_LABELS = {
    "forget": "forget people",
    "retain": "people to keep",
    "real": "real people",
    "base": "Base model",
    "sft": "SFT",
    "retain_only": "Retain-only",
}


@dataclasses.dataclass(frozen=True)
class Point:
    """One set's accuracy before and after unlearning, as (text, image) fractions of n questions."""

    subset: str
    n: int
    before: tuple[float, float]
    after: tuple[float, float]


def modality_points(scores: Scores) -> tuple[tuple[Point, ...], tuple[float, float]]:
    """Return each set's points of the modality plane, and the retain-only model's on forget."""

    def at(model: str, subset: str) -> tuple[float, float]:
        text, image = (
            scores.value(model, subset, "accuracy", key) for key in ("acc_uni", "acc_mul")
        )
        return text, image

    points = tuple(
        Point(
            name,
            scores.count("unlearned", name, "accuracy", "n"),
            at("sft", name),
            at("unlearned", name),
        )
        for name in SETS
    )
    return points, at("retain_only", "forget")


def draw_modality_plane(points: Sequence[Point], yardstick: tuple[float, float]) -> Figure:
    """Draw text accuracy (x) against image accuracy (y), from before to after unlearning.

    On the diagonal both modalities are forgotten alike; above it more is left in image questions.
    `yardstick` is the retain-only model's (text, image) on the forget people.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.5, 5.0))
        axes = figure.subplots()
        draw_plane_ground(axes)
        for point in points:
            _draw_move(axes, point)
        axes.plot(
            *yardstick,
            marker="D",
            markersize=8,
            linestyle="none",
            color=COLOURS["yardstick"],
            label="retain-only model on the forget people",
        )
        figure.legend(
            loc="outside lower left",
            title="before (hollow) to after (filled), n questions per modality",
            alignment="left",
            handletextpad=0.4,
        )
        return figure


def draw_plane_ground(axes: "Axes") -> None:
    """Draw the plane's axes, the diagonal on which modalities are level, and where guessing is."""
    axes.set(xlim=(-0.03, 1.05), ylim=(-0.03, 1.05), aspect="equal")
    axes.set_xlabel("text accuracy (fraction right, name alone)")
    axes.set_ylabel("image accuracy (fraction right, portrait)")
    axes.grid(True)
    axes.set_axisbelow(True)
    axes.plot((0, 1), (0, 1), color=COLOURS["muted"], linewidth=1)
    axes.plot(
        (CHANCE, CHANCE, -0.03),
        (-0.03, CHANCE, CHANCE),
        color=COLOURS["muted"],
        linewidth=1,
        linestyle=":",
    )
    words = {"color": COLOURS["muted"], "fontsize": 8.5}
    axes.text(0.02, 0.98, "left in images", words, va="top")
    axes.text(1.0, 0.02, "left in text", words, ha="right")
    axes.text(CHANCE + 0.01, -0.015, "guessing", words)
    axes.text(0.68, 0.64, "balanced", words, rotation=45, rotation_mode="anchor", va="top")


def _draw_move(axes: "Axes", point: Point) -> None:
    colour = COLOURS[point.subset]
    marker = _MARKERS[point.subset]
    axes.annotate(
        "",
        point.after,
        point.before,
        arrowprops={
            "arrowstyle": "-|>",
            "color": colour,
            "linewidth": 1.4,
            "shrinkA": 4,
            "shrinkB": 5,
        },
    )
    axes.plot(
        *point.before,
        marker=marker,
        markersize=7,
        linestyle="none",
        markerfacecolor="none",
        markeredgecolor=colour,
        markeredgewidth=1.4,
    )
    axes.plot(
        *point.after,
        marker=marker,
        markersize=8,
        linestyle="none",
        color=colour,
        label=f"{_LABELS[point.subset]}, n = {point.n}",
    )


def unlearning_terms(curve: "pd.DataFrame") -> dict[str, tuple[str, ...]]:
    """Return which modalities have a forget and a retain term; a term without any is left out."""
    found = {
        subset: tuple(
            m for m in _LINES if (name := f"{subset}_{m}") in curve and curve[name].notna().any()
        )
        for subset in ("forget", "retain")
    }
    return {subset: modalities for subset, modalities in found.items() if modalities}


def draw_unlearning(curve: "pd.DataFrame", subsets: Sequence[str]) -> Figure:
    """Draw the given terms of the unlearning loss by step, one panel a set."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.2 * len(subsets), 2.9))
        panels = figure.subplots(1, len(subsets), squeeze=False)[0]
        for axes, subset in zip(panels, subsets, strict=True):
            for modality in unlearning_terms(curve)[subset]:
                axes.plot(
                    curve["step"],
                    curve[f"{subset}_{modality}"],
                    color=COLOURS[subset],
                    linestyle=_LINES[modality],
                    linewidth=1.6,
                    label=modality,
                )
            axes.set_title(f"{subset} term")
            axes.set(xlabel="step", ylabel="loss (nats)")
            axes.grid(True, axis="y")
            axes.legend()
        return figure


def trained(curves: "Mapping[str, pd.DataFrame]") -> tuple[str, ...]:
    """Return the models that were trained here: a published base model has an empty curve."""
    return tuple(name for name in TRAINED if len(curves[name]))


def draw_training(curves: "Mapping[str, pd.DataFrame]", names: Sequence[str]) -> Figure:
    """Draw the training loss of the given models by epoch, one panel a model.

    The thin line is every step, the thick one the mean of each epoch.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(3.0 * len(names), 2.6))
        panels = figure.subplots(1, len(names), squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            curve = curves[name]
            axes.plot(curve["epoch"], curve["loss"], color=COLOURS["muted"], linewidth=0.5)
            epoch, mean = _epoch_means(curve)
            axes.plot(epoch, mean, color=COLOURS["ink"], linewidth=1.8)
            axes.set_title(_LABELS[name])
            axes.set(xlabel="epoch", ylabel="loss (nats per answer token)")
            axes.set_ylim(bottom=0)
            axes.grid(True, axis="y")
        return figure


def _epoch_means(curve: "pd.DataFrame") -> tuple[list[float], list[float]]:
    """Return the middle of each epoch and the mean loss of its steps, nats."""
    number = (curve["epoch"] - 1e-9) // 1
    mean = curve["loss"].groupby(number).mean()
    return [float(epoch) + 0.5 for epoch in mean.index], [float(value) for value in mean]


def write_plots(
    folder: Path,
    scores: Scores,
    curves: "Mapping[str, pd.DataFrame]",
) -> None:
    """Write every plot as a PNG into `folder`; same inputs, same bytes."""
    write_figures(folder, _figures(scores, curves))


def _figures(scores: Scores, curves: "Mapping[str, pd.DataFrame]") -> Iterator[tuple[str, Figure]]:
    points, yardstick = modality_points(scores)
    if not math.isnan(yardstick[1]):  # a model that takes text alone has no place in the plane
        yield "modality_plane", draw_modality_plane(points, yardstick)
    terms = unlearning_terms(curves["unlearn"])
    yield "unlearning_loss", draw_unlearning(curves["unlearn"], tuple(terms))
    yield "training_loss", draw_training(curves, trained(curves))
