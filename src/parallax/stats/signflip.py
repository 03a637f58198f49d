"""The paired sign-flip test, exact by convolution, and the interval that inverts it.

Null hypothesis: the differences d_1..d_n are independent and symmetric about 0, so that every
assignment of signs is equally likely (Fisher's randomization test for paired data). Everything is
counted in whole units of the smallest common denominator: ties are ties.
"""

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from parallax.errors import DataError
from parallax.stats.items import Floats, ItemDifferences, check_alpha, known_values

# Cells of the largest convolution table: a test with it takes about half a second at 480 items.
MAX_TABLE = 2**20
# Cells of the largest table over (subset size, subset sum), 32 MiB of float64, and its most items:
# 2^-n has to be a normal float.
MAX_JOINT_TABLE = 2**22
MAX_JOINT_ITEMS = 1_000
RESAMPLES = 99_999


@dataclasses.dataclass(frozen=True)
class SignFlip:
    """Two-sided sign-flip test.

    `smallest_p` is the least p that these magnitudes (or this many resamples) can give; `items`
    counts the defined differences, `nonzero` those that are not 0. `resamples` is 0 for an exact
    test. Without any item `p_value` and `smallest_p` are NaN.
    """

    p_value: float
    smallest_p: float
    items: int
    nonzero: int
    exact: bool
    resamples: int


def smallest_p(nonzero: int) -> float:
    """Least two-sided p of an exact test: 2 / 2^m with m nonzero differences, 1 for m = 0.

    Prints as 0 beyond 1,075 nonzero differences, where it is below the smallest float.
    """
    return math.ldexp(1.0, 1 - nonzero) if nonzero else 1.0


def sign_flip(
    differences: ItemDifferences,
    rng: np.random.Generator | None = None,
    resamples: int = RESAMPLES,
) -> SignFlip:
    """Test that the differences are symmetric about 0.

    p = P(|sum_i s_i d_i| >= |sum_i d_i|) over independent fair signs s_i. With the differences
    as integers a_i over their least common denominator, P(sum <= x) is read from the convolution
    of the two-point laws {0, |a_i|}; the relative error is below n * 2^-53, and none at all for
    n <= 53. A common denominator too large for the table (`MAX_TABLE`) switches to Monte Carlo,
    p = (b + 1) / (resamples + 1), which then needs `rng`.

    Raises:
        DataError: Monte Carlo is needed and `rng` is None, or `resamples` is below 1.
    """
    units, _ = integer_units(differences)
    magnitudes = sorted(abs(unit) for unit in units if unit)
    if not units or not magnitudes:
        p_value = 1.0 if units else float("nan")
        return SignFlip(p_value, p_value, len(units), 0, exact=True, resamples=0)
    observed = abs(sum(units))
    limit = (sum(magnitudes) - observed) // 2
    least = smallest_p(len(magnitudes))
    if limit < MAX_TABLE:
        tail = _subset_sum_tail(magnitudes, limit)
        # The two tails coincide at 0 only, where both together are everything.
        p_value = min(1.0, max(least, 2 * tail)) if observed else 1.0
        return SignFlip(p_value, least, len(units), len(magnitudes), exact=True, resamples=0)
    if sum(magnitudes) < 2**52:
        # Every sum of these whole numbers is exact in float64.
        p_value = _monte_carlo_p(np.array(units, dtype=np.float64), 0.0, rng, resamples)
    else:
        values = known_values(differences)
        p_value = _monte_carlo_p(values, _rounding(values), rng, resamples)
    least = max(least, 1 / (resamples + 1))
    return SignFlip(p_value, least, len(units), len(magnitudes), exact=False, resamples=resamples)


def sign_flip_continuous(
    values: Floats, rng: np.random.Generator, resamples: int = RESAMPLES
) -> SignFlip:
    """Monte Carlo sign-flip test of real-valued differences, shape (items,); NaN is undefined.

    p = (b + 1) / (resamples + 1), b = number of random sign assignments whose |sum| reaches the
    observed one, up to a rounding slack of 4 n 2^-52 sum|d|.

    Raises:
        DataError: an infinite value, a wrong shape, or `resamples` below 1.
    """
    known = known_values(values)
    nonzero = int(np.count_nonzero(known))
    if not nonzero:
        p_value = 1.0 if known.size else float("nan")
        return SignFlip(p_value, p_value, known.size, 0, exact=True, resamples=0)
    p_value = _monte_carlo_p(known, _rounding(known), rng, resamples)
    least = max(smallest_p(nonzero), 1 / (resamples + 1))
    return SignFlip(p_value, least, known.size, nonzero, exact=False, resamples=resamples)


def sign_flip_bounds(
    differences: ItemDifferences,
    alpha: float = 0.05,
    rng: np.random.Generator | None = None,
    resamples: int = RESAMPLES,
) -> tuple[float, float]:
    """Ends of the set of shifts c that the sign-flip test of d_i - c does not reject.

    Below the mean, p(c) = 2 P(mean of a random subset <= c), where each item is in the subset
    with probability 1/2 and the empty one always counts (Hartigan 1969, typical values). The
    ends are therefore order statistics of the subset means, found exactly from a table over
    subset size and sum; a table above `MAX_JOINT_TABLE` cells or `MAX_JOINT_ITEMS` items is
    replaced by random subsets with the same (b + 1) / (resamples + 1) rule. c = 0 is inside if and
    only if p > alpha.

    Returns fractions of 1: (-inf, inf) when no shift can be rejected (under 6 items at 0.05), NaN
    without items.

    Raises:
        DataError: a bad `alpha`, or random subsets are needed and `rng` is None.
    """
    check_alpha(alpha)
    units, scale = integer_units(differences)
    if not units:
        return float("nan"), float("nan")
    span = sum(abs(unit) for unit in units)
    cells = (len(units) + 1) * (span + 1)
    if cells <= MAX_JOINT_TABLE and len(units) <= MAX_JOINT_ITEMS:
        means, weights, empty = _subset_means(units, scale)
    else:
        means, weights, empty = _random_subset_means(known_values(differences), rng, resamples)
    low = _order_statistic(means, weights, empty, alpha)
    high = -_order_statistic(-means[::-1], weights[::-1], empty, alpha)
    return low, high


def integer_units(differences: ItemDifferences) -> tuple[list[int], Fraction]:
    """The defined differences as coprime integers and the unit: difference = integer * unit."""
    fractions = [value for value in differences.fractions if value is not None]
    common = math.lcm(*(value.denominator for value in fractions))
    scaled = [value.numerator * (common // value.denominator) for value in fractions]
    divisor = math.gcd(*scaled) or 1
    return [value // divisor for value in scaled], Fraction(divisor, common)


def _subset_sum_tail(magnitudes: Sequence[int], limit: int) -> float:
    """P(subset sum <= limit) for a random subset of ascending positive integers."""
    table = np.zeros(limit + 1)
    table[0] = 1.0
    reach = 0
    for magnitude in magnitudes:
        reach = min(limit, reach + magnitude)
        if magnitude <= limit:
            table[magnitude : reach + 1] += table[: reach + 1 - magnitude].copy()
        # Halving is exact, so the table holds probabilities instead of counts up to 2^n.
        table[: reach + 1] *= 0.5
    return float(table.sum())


def _subset_means(units: Sequence[int], unit: Fraction) -> tuple[Floats, Floats, float]:
    """Means of the nonempty subsets, ascending, their probabilities, and that of the empty one."""
    origin = -sum(value for value in units if value < 0)
    top = sum(value for value in units if value > 0)
    # (n + 1, T + 1): probability of a subset of size k and sum s - origin.
    table = np.zeros((len(units) + 1, origin + top + 1))
    # In units of 2^-n, so that additions alone, without halving, end in probabilities.
    table[0, origin] = math.ldexp(1.0, -len(units))
    low = high = origin
    # Small values first: the part of the table in use grows late.
    for size, value in enumerate(sorted(units, key=abs)):
        active = table[: size + 1, low : high + 1].copy()
        table[1 : size + 2, low + value : high + 1 + value] += active
        low, high = min(low, low + value), max(high, high + value)
    empty = float(table[0, origin])
    table[0, origin] = 0.0
    size_of, sum_of = np.nonzero(table)
    # Both factors are whole and below 2^53, so that equal means are equal floats.
    means = ((sum_of - origin) * unit.numerator) / (size_of * unit.denominator)
    order = np.argsort(means, kind="stable")
    return means[order], table[size_of, sum_of][order], empty


def _random_subset_means(
    values: Floats, rng: np.random.Generator | None, resamples: int
) -> tuple[Floats, Floats, float]:
    """As `_subset_means`, from `resamples` random subsets; the observed one counts as empty."""
    columns = np.column_stack([np.ones_like(values), values])
    sizes, sums = _random_subset_sums(columns, rng, resamples).T
    means = np.sort(sums[sizes > 0] / sizes[sizes > 0])
    weights = np.full(len(means), 1 / (resamples + 1))
    return means, weights, (resamples - len(means) + 1) / (resamples + 1)


def _order_statistic(means: Floats, weights: Floats, empty: float, alpha: float) -> float:
    """Least mean m with 2 (empty + P(subset mean <= m)) > alpha; -inf if `empty` is enough."""
    if 2 * empty > alpha:
        return float("-inf")
    return float(means[np.argmax(2 * (empty + np.cumsum(weights)) > alpha)])


def _monte_carlo_p(
    values: Floats, slack: float, rng: np.random.Generator | None, resamples: int
) -> float:
    """(b + 1) / (resamples + 1) for the two-sided test; sums within `slack` count as equal."""
    total = values.sum()
    sums = _random_subset_sums(values[:, None], rng, resamples)[:, 0]
    hits = int(np.count_nonzero(np.abs(2 * sums - total) >= abs(total) - slack))
    return (hits + 1) / (resamples + 1)


def _rounding(values: Floats) -> float:
    return float(4 * len(values) * np.finfo(np.float64).eps * np.abs(values).sum())


def _random_subset_sums(columns: Floats, rng: np.random.Generator | None, resamples: int) -> Floats:
    """Sum each column over `resamples` random subsets of the items, shape (resamples, columns).

    Eight items are drawn at once, as one octet that looks its sum up among 256.
    """
    if rng is None:
        raise DataError(
            "the common denominator of the differences is too large for an exact table:"
            " pass a random generator for Monte Carlo"
        )
    if resamples < 1:
        raise DataError(f"{resamples} resamples: give at least 1")
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float64)
    sums = np.zeros((resamples, columns.shape[1]))
    for start in range(0, len(columns), 8):
        members = columns[start : start + 8]
        table = bits[:, : len(members)] @ members  # (256, columns)
        sums += table[np.frombuffer(rng.bytes(resamples), dtype=np.uint8)]
    return sums
