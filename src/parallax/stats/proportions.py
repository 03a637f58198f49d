"""Exact interval of a proportion."""

import dataclasses

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
    low = special.betaincinv(hits, trials - hits + 1, alpha / 2) if hits else 0.0
    missed = trials - hits
    high = special.betaincinv(hits + 1, missed, 1 - alpha / 2) if missed else 1.0
    return Proportion(hits / trials, float(low), float(high), hits, trials)
