"""Power of the paired test before data: what n items can and cannot detect.

All functions treat the item differences as normal with standard deviation `sd` and the test as a
two-sided one-sample t test at level alpha; the sign-flip test has nearly the same power.
Effects and `sd` are fractions of 1 (or any one unit).
"""

import math

from scipy import optimize, special

from parallax.errors import DataError
from parallax.stats.items import check_alpha


def power(effect: float, items: int, sd: float, alpha: float = 0.05) -> float:
    """Probability that the test rejects when the mean difference is `effect`.

    1 - F(t^2; 1, n - 1, lambda), t = t_{1 - alpha/2, n-1}, lambda = n effect^2 / sd^2: the
    noncentral t of both tails, written as a noncentral F. NaN if `sd` is 0 or NaN, or under two
    items.

    Raises:
        DataError: `alpha` outside (0, 1), or a negative `sd`.
    """
    _check(sd, alpha)
    if not sd > 0 or items < 2:
        return float("nan")
    critical = float(special.stdtrit(items - 1, 1 - alpha / 2))
    noncentrality = items * (effect / sd) ** 2
    return 1 - float(special.ncfdtr(1, items - 1, noncentrality, critical**2))


def minimum_detectable_effect(
    items: int, sd: float, target: float = 0.8, alpha: float = 0.05
) -> float:
    """Smallest positive mean difference that is detected with probability `target`.

    Solves power(effect) = target. NaN if `sd` is 0 or NaN (constant data do not show how far
    items spread), or under two items.

    Raises:
        DataError: `target` outside (alpha, 1), `alpha` outside (0, 1), or a negative `sd`.
    """
    _check(sd, alpha, target)
    if not sd > 0 or items < 2:
        return float("nan")
    return sd * _standardized_effect(items, target, alpha)


def items_needed(effect: float, sd: float, target: float = 0.8, alpha: float = 0.05) -> int:
    """Fewest items that detect a mean difference of `effect` with probability `target`.

    Raises:
        DataError: `effect` is 0, `sd` is not above 0, or a level is out of range.
    """
    _check(sd, alpha, target)
    if not sd > 0 or effect == 0:
        raise DataError(
            f"effect {effect} and standard deviation {sd}: no number of items follows from these;"
            " give an effect other than 0 and a deviation above 0"
        )
    low, high = 1, 2
    while power(effect, high, sd, alpha) < target:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(effect, middle, sd, alpha) >= target else (middle, high)
    return high


def _standardized_effect(items: int, target: float, alpha: float) -> float:
    # Below alpha no effect has that power; one item pair needs a wide bracket.
    high = 1 / math.sqrt(items)
    while power(high, items, 1.0, alpha) < target:
        high *= 2
    found = optimize.brentq(
        lambda effect: power(effect, items, 1.0, alpha) - target, 0.0, high, xtol=1e-12
    )
    return float(found)


def _check(sd: float, alpha: float, target: float | None = None) -> None:
    check_alpha(alpha)
    if sd < 0:
        raise DataError(f"standard deviation {sd}: give a number above 0")
    if target is not None and not alpha < target < 1:
        raise DataError(f"power {target}: choose a number between alpha = {alpha} and 1")
