"""Intervals of a proportion: exact, and for trials that come in clusters."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from parallax.errors import DataError
from parallax.stats.items import check_alpha


@dataclasses.dataclass(frozen=True)
class Proportion:
    """A share `hits / trials` and its interval at level 1 - alpha, fractions of 1."""

    value: float
    low: float
    high: float
    hits: int
    trials: int


def binomial_interval(hits: int, trials: int, alpha: float = 0.05) -> Proportion:
    """Interval of Clopper and Pearson (1934): the probabilities that no one-sided test rejects.

    low = alpha/2 quantile of Beta(hits, trials - hits + 1), high = 1 - alpha/2 quantile of
    Beta(hits + 1, trials - hits); 0 without a hit, 1 without a miss.

    Raises:
        DataError: not 0 <= hits <= trials with at least one trial, or `alpha` outside (0, 1).
    """
    check_alpha(alpha)
    if not 0 <= hits <= trials or trials < 1:
        raise DataError(f"{hits} hits in {trials} trials: give at most as many hits as trials")
    low, high = _clopper_pearson(hits, trials, alpha)
    return Proportion(hits / trials, low, high, hits, trials)


def clustered_interval(
    hits: NDArray[np.bool_], clusters: Sequence[str], alpha: float = 0.05
) -> Proportion:
    """Interval of a share whose trials depend on each other within clusters, such as items.

    Clopper and Pearson's, for n* trials in place of n (Korn and Graubard 1998, Survey Methodology
    24:193): n* = n / deff (t_{n-1} / t_{G-1})^2, at most n, with t the 1 - alpha/2 quantiles,

        deff = V / (p (1 - p) / (n - 1)),    V = G / (G - 1) sum_g (hits_g - p n_g)^2 / n^2

    over G clusters. Without a hit or without a miss V says nothing, and n* = G: a cluster counts as
    one trial. In clusters of one trial it is the exact interval. NaN without a trial; 0 to 1 with
    one cluster. Shape (trials,).

    Raises:
        DataError: not one cluster per trial, or `alpha` outside (0, 1).
    """
    check_alpha(alpha)
    if len(clusters) != len(hits):
        raise DataError(f"{len(clusters)} clusters for {len(hits)} trials: give one per trial")
    trials, count = len(hits), int(hits.sum())
    if not trials:
        nan = float("nan")
        return Proportion(nan, nan, nan, 0, 0)
    share = count / trials
    _, codes = np.unique(np.array(clusters, dtype=str), return_inverse=True)
    sizes = np.bincount(codes)
    groups = len(sizes)
    if groups == 1:
        return Proportion(share, 0.0, 1.0, count, trials)
    effective = float(groups)
    if 0 < count < trials:
        residuals = np.bincount(codes, hits) - share * sizes
        variance = groups / (groups - 1) * float((residuals**2).sum()) / trials**2
        design = variance / (share * (1 - share) / (trials - 1))
        ratio = float(np.divide(*special.stdtrit([trials - 1, groups - 1], 1 - alpha / 2)))
        effective = min(trials, trials / design * ratio**2) if design > 0 else float(trials)
    low, high = _clopper_pearson(share * effective, effective, alpha)
    return Proportion(share, low, high, count, trials)


def _clopper_pearson(hits: float, trials: float, alpha: float) -> tuple[float, float]:
    missed = trials - hits
    low = special.betaincinv(hits, missed + 1, alpha / 2) if hits else 0.0
    high = special.betaincinv(hits + 1, missed, 1 - alpha / 2) if missed else 1.0
    return float(low), float(high)
