"""Where the variation of an outcome sits: item, paraphrase, their frame effects, draw."""

import dataclasses
import math

import numpy as np

from parallax.stats.contrasts import count_cells
from parallax.stats.items import Floats, Ints


@dataclasses.dataclass(frozen=True)
class Component:
    """One variance component, in squared units of the outcome.

    `estimate` is the unbiased method-of-moments value and is reported even when it is negative
    (`negative`), which happens by chance when the true component is near 0; `share` is the part
    of the total with negative components set to 0. NaN where the design cannot identify it.
    """

    estimate: float
    share: float
    negative: bool


@dataclasses.dataclass(frozen=True)
class VarianceComponents:
    """Components of one category's outcomes; `items` enter, `excluded` lack a scored draw."""

    item: Component
    paraphrase: Component
    item_by_frame: Component
    paraphrase_by_frame: Component
    draw: Component
    items: int
    excluded: int


def variance_components(outcomes: Floats) -> VarianceComponents:
    """Estimate the components by equating mean squares to their expectations.

    Model: y[i,p,f,k] = mean + frame_f + item_i + paraphrase_p(i) + (item x frame)_if
    + (paraphrase x frame)_p(i)f + draw, frames fixed, paraphrases nested in items. On cell means
    q[i,p,f] of a complete I x P x F table, with h = mean of 1 / draws over cells:

        E MS_pf = s2_pf + h s2_draw              E MS_p = E MS_pf + F s2_p
        E MS_if = E MS_pf + P s2_if              E MS_i = E MS_p + P s2_if + P F s2_i

    and s2_draw is the pooled within-cell variance (Searle, Casella and McCulloch 1992, ANOVA
    estimation; unweighted means). Items with a cell without any scored draw are left out. For
    0/1 outcomes the draw component is the mean binomial variance. Draws that share a seed across
    frames, correlated by rho, move h rho s2_draw from paraphrase x frame to paraphrase;
    `stats.spread`, which plans, takes differences draw by draw and is free of it. Shape (items,
    paraphrases, frames, draws).

    Raises:
        DataError: malformed outcomes.
    """
    successes, scored = count_cells(outcomes)
    complete = (scored > 0).all(axis=(1, 2))
    draw, harmonic = _within_cells(successes[complete], scored[complete])
    cells = successes[complete] / scored[complete]
    items, paraphrases, frames = cells.shape
    ms = cell_mean_squares(cells)
    estimates = {
        "item": (ms["i"] - ms["p"] - ms["if"] + ms["pf"]) / (paraphrases * frames),
        "paraphrase": (ms["p"] - ms["pf"]) / frames,
        "item_by_frame": (ms["if"] - ms["pf"]) / paraphrases,
        "paraphrase_by_frame": ms["pf"] - harmonic * draw,
        "draw": draw,
    }
    total = float(np.nansum(np.maximum(list(estimates.values()), 0.0)))
    return VarianceComponents(
        **{name: _component(value, total) for name, value in estimates.items()},
        items=items,
        excluded=int(np.count_nonzero(~complete)),
    )


def cell_mean_squares(cells: Floats) -> dict[str, float]:
    """Mean squares of the strata item, paraphrase in item, item x frame and the rest.

    Keys "i", "p", "if", "pf"; NaN without degrees of freedom. Shape (items, paraphrases, frames).
    """
    items, paraphrases, frames = cells.shape
    if not items:
        return dict.fromkeys(("i", "p", "if", "pf"), float("nan"))
    grand = cells.mean()
    item = cells.mean(axis=(1, 2), keepdims=True)
    frame = cells.mean(axis=(0, 1), keepdims=True)
    paraphrase = cells.mean(axis=2, keepdims=True)
    item_frame = cells.mean(axis=1, keepdims=True)
    squares = {
        "i": (paraphrases * frames * (item - grand) ** 2, items - 1),
        "p": (frames * (paraphrase - item) ** 2, items * (paraphrases - 1)),
        "if": (
            paraphrases * (item_frame - item - frame + grand) ** 2,
            (items - 1) * (frames - 1),
        ),
        "pf": (
            (cells - paraphrase - item_frame + item) ** 2,
            items * (paraphrases - 1) * (frames - 1),
        ),
    }
    return {
        name: float(square.sum()) / freedom if freedom else float("nan")
        for name, (square, freedom) in squares.items()
    }


def _component(estimate: float, total: float) -> Component:
    share = max(estimate, 0.0) / total if total > 0 else float("nan")
    return Component(estimate, share if not math.isnan(estimate) else float("nan"), estimate < 0)


def _within_cells(successes: Ints, scored: Ints) -> tuple[float, float]:
    """Pooled variance within cells, and the mean of 1 / draws over cells."""
    freedom = int((scored - 1).sum())
    if not scored.size or freedom == 0:
        return float("nan"), float("nan")
    # For 0/1 draws the sum of squares about the cell mean is k (n - k) / n.
    squares = float((successes * (scored - successes) / scored).sum())
    return squares / freedom, float((1 / scored).mean())
