"""Comparisons between models or judges on the same items.

"Significant in one and not in the other" is no evidence of a difference; the difference of the
differences is what gets tested.
"""

import dataclasses

import numpy as np
from scipy import special

from parallax.errors import DataError
from parallax.stats.items import Floats, ItemDifferences

RESAMPLES = 9_999


@dataclasses.dataclass(frozen=True)
class CochranQ:
    """Cochran's Q with its chi-square p; NaN when no item separates the models.

    `items` counts items known for every model, `informative` those on which the models differ.
    """

    statistic: float
    p_value: float
    freedom: int
    items: int
    informative: int
    undefined: int


@dataclasses.dataclass(frozen=True)
class Omnibus:
    """Item-bootstrap test that all models have the same mean effect; NaN under two items."""

    statistic: float
    p_value: float
    means: tuple[float, ...]
    items: int
    undefined: int
    resamples: int


def paired_difference(first: ItemDifferences, second: ItemDifferences) -> ItemDifferences:
    """Exact difference of differences per item: d_i(first) - d_i(second).

    The items of both must be the same and in the same order. An item undefined for either is
    undefined; `partial` is the larger of both counts. Feed the result to `sign_flip` and the
    intervals.

    Raises:
        DataError: different numbers of items.
    """
    if len(first.numerators) != len(second.numerators):
        raise DataError(
            f"{len(first.numerators)} items against {len(second.numerators)}:"
            " compare models on the same items"
        )
    return ItemDifferences.from_fractions(
        (
            None if a is None or b is None else a - b
            for a, b in zip(first.fractions, second.fractions, strict=True)
        ),
        partial=max(first.partial, second.partial),
    )


def cochran_q(outcomes: Floats) -> CochranQ:
    """Test that the models share one success probability, on matched 0/1 outcomes.

    Q = (m - 1) (m sum_j C_j^2 - N^2) / (m N - sum_i R_i^2), chi-square with m - 1 degrees of
    freedom (Cochran 1950); C_j are column sums, R_i row sums, N the total. Shape (items, models);
    NaN is undefined, and such an item is left out. For two models this is McNemar's test without
    continuity correction.

    Raises:
        DataError: not two axes with at least two models, or a value other than 0, 1 and NaN.
    """
    complete, undefined = _complete_items(outcomes)
    if not np.isin(complete, (0.0, 1.0)).all():
        value = complete[~np.isin(complete, (0.0, 1.0))][0]
        raise DataError(f"outcome {value:g} in Cochran's Q: use 0, 1, or NaN for undefined")
    models = complete.shape[1]
    rows, columns = complete.sum(axis=1), complete.sum(axis=0)
    informative = int(np.count_nonzero((rows > 0) & (rows < models)))
    freedom = models - 1
    if not informative:
        nan = float("nan")
        return CochranQ(nan, nan, freedom, len(complete), 0, undefined)
    total = float(rows.sum())
    spread = models * float((columns**2).sum()) - total**2
    statistic = freedom * spread / (models * total - float((rows**2).sum()))
    p_value = float(special.chdtrc(freedom, statistic))
    return CochranQ(statistic, p_value, freedom, len(complete), informative, undefined)


def bootstrap_omnibus(
    effects: Floats, rng: np.random.Generator, resamples: int = RESAMPLES
) -> Omnibus:
    """Test that the mean effects of several models are all equal.

    W = n sum_m (mean_m - mean of means)^2. Null distribution: items are resampled whole, so that
    the dependence between models stays, from effects centred within each model and stretched by
    sqrt(n / (n - 1)) to undo the bootstrap's shrinking of the variance. p = (b + 1) /
    (resamples + 1). Shape (items, models), fractions of 1; an item with a NaN is left out.

    Raises:
        DataError: not two axes with at least two models.
    """
    complete, undefined = _complete_items(effects)
    means = complete.mean(axis=0) if len(complete) else np.full(effects.shape[1], np.nan)
    items = len(complete)
    if items < 2:
        nan = float("nan")
        return Omnibus(nan, nan, tuple(map(float, means)), items, undefined, resamples)
    statistic = items * float(_spread(means))
    centred = (complete - means) * np.sqrt(items / (items - 1))
    weights = rng.multinomial(items, np.full(items, 1 / items), size=resamples)
    draws = items * _spread(weights @ centred / items)
    hits = int(np.count_nonzero(draws >= statistic - 1e-12 * items))
    return Omnibus(
        statistic=statistic,
        p_value=(hits + 1) / (resamples + 1),
        means=tuple(float(value) for value in means),
        items=items,
        undefined=undefined,
        resamples=resamples,
    )


def _spread(means: Floats) -> Floats:
    """Sum of squared deviations along the last axis."""
    return np.asarray(((means - means.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1))


def _complete_items(table: Floats) -> tuple[Floats, int]:
    if table.ndim != 2 or table.shape[1] < 2:
        raise DataError(f"table of shape {table.shape}: give (items, models) with 2 models or more")
    complete = ~np.isnan(table).any(axis=1)
    return table[complete], int(np.count_nonzero(~complete))
