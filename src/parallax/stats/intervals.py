"""Confidence intervals for the mean item difference.

The default is the inverted sign-flip interval: it excludes 0 exactly when the test rejects, and
like the test it needs symmetry but no normality. The t interval stands beside it, the
bias-corrected accelerated bootstrap (BCa) is second.

Items of one source family are dependent. For those the cluster-robust CR2 interval is given, not
a t interval of family means: CR2 keeps the estimate that the protocol defines (every item weighs
the same), while family means would weigh small families up and so estimate something else.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy import special, stats

from parallax.errors import DataError
from parallax.stats.items import Floats, ItemDifferences, check_alpha, known_values, mean
from parallax.stats.signflip import RESAMPLES, sign_flip_bounds

Method = Literal["sign-flip", "t", "bca", "cr2"]

BOOTSTRAP_RESAMPLES = 9_999


@dataclasses.dataclass(frozen=True)
class Interval:
    """A two-sided interval at level 1 - alpha, in the units of the differences.

    `items` counts the defined differences. `degenerate` says that they are all the same (or fewer
    than two), so that they carry no information on their spread; every method but the sign-flip
    gives NaN then. `freedom` is the t degrees of freedom, NaN where none are used.
    """

    low: float
    high: float
    method: Method
    alpha: float
    items: int
    degenerate: bool
    freedom: float = float("nan")


@dataclasses.dataclass(frozen=True)
class TTest:
    """Two-sided one-sample t test; NaN with fewer than two items or constant data."""

    p_value: float
    statistic: float
    freedom: float
    items: int


def t_test(differences: ItemDifferences | Floats) -> TTest:
    """Test that the mean difference is 0: t = mean / (s / sqrt(n)) with n - 1 degrees of freedom.

    s^2 = sum (d_i - mean)^2 / (n - 1) over defined items (Student 1908). Shape (items,).
    """
    values = known_values(differences)
    if is_degenerate(values):
        return TTest(float("nan"), float("nan"), float("nan"), values.size)
    statistic = mean(values) / standard_error(values)
    freedom = float(values.size - 1)
    p_value = 2 * float(special.stdtr(freedom, -abs(statistic)))
    return TTest(p_value, statistic, freedom, values.size)


def t_interval(differences: ItemDifferences | Floats, alpha: float = 0.05) -> Interval:
    """Student's interval: mean +- t_{1 - alpha/2, n-1} s / sqrt(n); shape (items,).

    Raises:
        DataError: `alpha` outside (0, 1).
    """
    check_alpha(alpha)
    values = known_values(differences)
    if is_degenerate(values):
        return _undefined("t", alpha, values.size)
    freedom = float(values.size - 1)
    half = _t_quantile(freedom, alpha) * standard_error(values)
    centre = mean(values)
    return Interval(centre - half, centre + half, "t", alpha, values.size, False, freedom)


def sign_flip_interval(
    differences: ItemDifferences,
    alpha: float = 0.05,
    rng: np.random.Generator | None = None,
    resamples: int = RESAMPLES,
) -> Interval:
    """The shifts that the sign-flip test does not reject; see `sign_flip_bounds`.

    Infinite when there are too few items to reject anything. `rng` is used only where the exact
    table would be too large. Raises as `sign_flip_bounds`.
    """
    low, high = sign_flip_bounds(differences, alpha, rng, resamples)
    values = known_values(differences)
    return Interval(low, high, "sign-flip", alpha, values.size, is_degenerate(values))


def bca_interval(
    differences: ItemDifferences | Floats,
    rng: np.random.Generator,
    alpha: float = 0.05,
    resamples: int = BOOTSTRAP_RESAMPLES,
) -> Interval:
    """Bias-corrected accelerated bootstrap interval of the mean (Efron 1987), through scipy.

    Items are resampled. Undefined (NaN, `degenerate`) on constant data, where the acceleration
    is 0 / 0.

    Raises:
        DataError: `alpha` outside (0, 1).
    """
    check_alpha(alpha)
    values = known_values(differences)
    if is_degenerate(values):
        return _undefined("bca", alpha, values.size)
    found = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=resamples,
        confidence_level=1 - alpha,
        method="BCa",
        rng=rng,
    ).confidence_interval
    return Interval(float(found.low), float(found.high), "bca", alpha, values.size, False)


def cr2_interval(
    differences: ItemDifferences | Floats, families: Sequence[str], alpha: float = 0.05
) -> Interval:
    """Cluster-robust interval of the item mean, clusters being source families.

    V = (1/n^2) sum_g E_g^2 / (1 - n_g/n), E_g = sum of the residuals of family g: the CR2
    adjustment of Bell and McCaffrey (2002) for a mean. Degrees of freedom by Satterthwaite under
    independent items: (tr S)^2 / tr(S^2), S_gh = c_g c_h (n_g [g = h] - n_g n_h / n),
    c_g = (1 - n_g/n)^(-1/2). With one item per family this is the t interval. Shape (items,).

    Raises:
        DataError: not one family per item, or `alpha` outside (0, 1).
    """
    check_alpha(alpha)
    sums, sizes = _family_residuals(differences, families)
    values = known_values(differences)
    if len(sizes) < 2 or is_degenerate(values):
        return _undefined("cr2", alpha, values.size)
    share = sizes / values.size
    variance = float(np.sum(sums**2 / (1 - share))) / values.size**2
    weights = 1 / np.sqrt(1 - share)
    spread = np.outer(weights, weights) * (np.diag(sizes) - np.outer(sizes, share))
    freedom = float(np.trace(spread) ** 2 / np.sum(spread**2))
    half = _t_quantile(freedom, alpha) * math.sqrt(variance)
    centre = mean(values)
    return Interval(centre - half, centre + half, "cr2", alpha, values.size, False, freedom)


def is_degenerate(values: Floats) -> bool:
    """Whether the values (without NaN) say nothing about their spread: under two, or all equal."""
    return values.size < 2 or bool(np.all(values == values[0]))


def sample_sd(values: Floats) -> float:
    """s of values without NaN, divisor n - 1; 0 where all are equal, NaN under two."""
    if values.size < 2:
        return float("nan")
    # The mean of equal values may be off by a rounding, and their spread then not quite 0.
    return 0.0 if is_degenerate(values) else float(values.std(ddof=1))


def standard_error(values: Floats) -> float:
    """s / sqrt(n) of values without NaN, n >= 2, in the values' units."""
    return float(values.std(ddof=1)) / math.sqrt(values.size)


def _family_residuals(
    differences: ItemDifferences | Floats, families: Sequence[str]
) -> tuple[Floats, Floats]:
    """Sum of residuals and number of defined items per family, families sorted by name."""
    values = differences.values if isinstance(differences, ItemDifferences) else differences
    if len(families) != len(values):
        raise DataError(f"{len(families)} families for {len(values)} items: give one per item")
    known = ~np.isnan(values)
    _, codes = np.unique(np.array(families, dtype=str)[known], return_inverse=True)
    residuals = values[known] - mean(values)
    sums = np.bincount(codes, residuals).astype(np.float64)
    return sums, np.bincount(codes).astype(np.float64)


def _t_quantile(freedom: float, alpha: float) -> float:
    return float(special.stdtrit(freedom, 1 - alpha / 2))


def _undefined(method: Method, alpha: float, items: int) -> Interval:
    return Interval(float("nan"), float("nan"), method, alpha, items, True)
