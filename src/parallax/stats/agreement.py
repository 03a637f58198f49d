"""Agreement between judges on nominal categories, with bootstrap intervals.

Ratings are category codes 0..C-1 of shape (units, raters); -1 is a missing rating. Each
coefficient is a function of sums over units, so a bootstrap resample only reweighs those sums.
Units are resampled one by one, or by whole `clusters`, such as the responses to one item, which
depend on each other.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from parallax.errors import DataError
from parallax.stats.items import Floats, Ints, check_alpha

MISSING = -1
RESAMPLES = 2_000


@dataclasses.dataclass(frozen=True)
class Agreement:
    """A coefficient and its percentile interval at level 1 - alpha.

    `units` counts the units that enter, `excluded` those with too few ratings. A coefficient is
    NaN where no disagreement could be expected (a single category in use);
    `undefined_resamples` counts the resamples in which that happened: they are left out of the
    interval.
    """

    value: float
    low: float
    high: float
    alpha: float
    units: int
    excluded: int
    resamples: int
    undefined_resamples: int


def encode_ratings(rows: Sequence[Sequence[str | None]], categories: Sequence[str]) -> Ints:
    """Turn category names into codes by their place in `categories`; None becomes -1.

    `rows` holds one sequence per unit, with one entry per rater. Shape (units, raters).

    Raises:
        DataError: rows of unequal length, or a name that `categories` lacks.
    """
    codes = {name: code for code, name in enumerate(categories)}
    width = len(rows[0]) if rows else 0
    table = np.full((len(rows), width), MISSING, dtype=np.int64)
    for unit, row in enumerate(rows):
        if len(row) != width:
            raise DataError(f"unit {unit} has {len(row)} ratings, unit 0 has {width}: use None")
        for rater, name in enumerate(row):
            if name is not None and name not in codes:
                raise DataError(
                    f"unit {unit}, rater {rater}: unknown category {name!r};"
                    f" choose one of {', '.join(categories)}"
                )
            table[unit, rater] = MISSING if name is None else codes[name]
    return table


def one_against_rest(ratings: Ints, category: int) -> Ints:
    """Ratings as 1 (`category`) or 0 (any other), missing kept; for a coefficient per category."""
    return np.where(ratings == MISSING, MISSING, (ratings == category).astype(np.int64))


def confusion_matrix(first: Ints, second: Ints, categories: int) -> Ints:
    """Count of units by (first rater's category, second rater's); missing pairs are left out."""
    known = (first != MISSING) & (second != MISSING)
    cells = first[known] * categories + second[known]
    return np.bincount(cells, minlength=categories**2).reshape(categories, categories)


def cohen_kappa(
    ratings: Ints,
    rng: np.random.Generator,
    alpha: float = 0.05,
    resamples: int = RESAMPLES,
    clusters: Sequence[str] | None = None,
) -> Agreement:
    """Cohen's kappa of two raters (Cohen 1960), over units that both have rated.

    kappa = (p_o - p_e) / (1 - p_e), p_o = share of equal pairs, p_e = sum_c p_1c p_2c with each
    rater's own marginals. Shape (units, 2).

    Raises:
        DataError: not two raters, a code below -1, `alpha` outside (0, 1), or not one cluster per
            unit.
    """
    _check(ratings)
    if ratings.shape[1] != 2:
        raise DataError(f"Cohen's kappa compares 2 raters, not {ratings.shape[1]}: use Fleiss")
    used = (ratings != MISSING).all(axis=1)
    pairs = ratings[used]
    count = _category_count(ratings)
    cells = np.eye(count**2)[pairs[:, 0] * count + pairs[:, 1]]

    def coefficient(sums: Floats) -> Floats:
        joint = sums.reshape(*sums.shape[:-1], count, count)
        total = joint.sum(axis=(-2, -1))
        chance = (joint.sum(axis=-1) * joint.sum(axis=-2)).sum(axis=-1)
        observed = np.trace(joint, axis1=-2, axis2=-1) * total
        return _ratio(observed - chance, total**2 - chance)

    return _with_interval(cells, used, coefficient, rng, alpha, resamples, clusters)


def fleiss_kappa(
    ratings: Ints,
    rng: np.random.Generator,
    alpha: float = 0.05,
    resamples: int = RESAMPLES,
    clusters: Sequence[str] | None = None,
) -> Agreement:
    """Fleiss' kappa of several raters (Fleiss 1971), over units with at least two ratings.

    kappa = (P - P_e) / (1 - P_e), P = mean_u sum_c n_uc (n_uc - 1) / (m_u (m_u - 1)),
    P_e = sum_c (sum_u n_uc / sum_u m_u)^2. With missing ratings m_u differs between units; each
    unit weighs the same in P, each rating the same in P_e. Shape (units, raters).

    Raises:
        DataError: a code below -1, `alpha` outside (0, 1), or not one cluster per unit.
    """
    _check(ratings)
    used, counts = _rated_counts(ratings)
    shares = _equal_pairs(counts)
    per_unit = np.column_stack([np.ones_like(shares), shares, counts])

    def coefficient(sums: Floats) -> Floats:
        observed = _ratio(sums[..., 1], sums[..., 0])
        marginals = sums[..., 2:]
        chance = _ratio((marginals**2).sum(axis=-1), marginals.sum(axis=-1) ** 2)
        return _ratio(observed - chance, 1 - chance)

    return _with_interval(per_unit, used, coefficient, rng, alpha, resamples, clusters)


def krippendorff_alpha(
    ratings: Ints,
    rng: np.random.Generator,
    alpha: float = 0.05,
    resamples: int = RESAMPLES,
    clusters: Sequence[str] | None = None,
) -> Agreement:
    """Krippendorff's alpha for nominal data, over units with at least two ratings.

    alpha = 1 - D_o / D_e, D_o = (1/n) sum_u sum_c n_uc (m_u - n_uc) / (m_u - 1),
    D_e = sum_c n_c (n - n_c) / (n (n - 1)), n = number of pairable ratings (Krippendorff 2011).
    Shape (units, raters); missing ratings are the reason to prefer it.

    Raises:
        DataError: a code below -1, `alpha` outside (0, 1), or not one cluster per unit.
    """
    _check(ratings)
    used, counts = _rated_counts(ratings)
    sizes = counts.sum(axis=1, keepdims=True)
    disagreement = (counts * (sizes - counts)).sum(axis=1) / (sizes[:, 0] - 1)
    per_unit = np.column_stack([disagreement, counts])

    def coefficient(sums: Floats) -> Floats:
        totals = sums[..., 1:]
        n = totals.sum(axis=-1)
        expected = (totals * (n[..., None] - totals)).sum(axis=-1)
        return 1 - _ratio(sums[..., 0] * (n - 1), expected)

    return _with_interval(per_unit, used, coefficient, rng, alpha, resamples, clusters)


def observed_agreement(ratings: Ints) -> float:
    """Share of equal pairs of ratings, mean over units with at least two; NaN without any.

    P = mean_u sum_c n_uc (n_uc - 1) / (m_u (m_u - 1)). Shape (units, raters).

    Raises:
        DataError: a code below -1.
    """
    _check(ratings)
    _, counts = _rated_counts(ratings)
    if not len(counts):
        return float("nan")
    return float(_equal_pairs(counts).mean())


def _equal_pairs(counts: Floats) -> Floats:
    sizes = counts.sum(axis=1)
    return np.asarray((counts * (counts - 1)).sum(axis=1) / (sizes * (sizes - 1)))


def _with_interval(
    per_unit: Floats,
    used: NDArray[np.bool_],
    coefficient: Callable[[Floats], Floats],
    rng: np.random.Generator,
    alpha: float,
    resamples: int,
    clusters: Sequence[str] | None,
) -> Agreement:
    """Evaluate on the sums over units, and on sums reweighed by multinomial resamples.

    `used` marks the units of which `per_unit` holds the rows.
    """
    check_alpha(alpha)
    units, excluded = len(per_unit), len(used) - len(per_unit)
    nan = float("nan")
    sums = per_unit if clusters is None else _cluster_sums(per_unit, used, clusters)
    if not units:
        return Agreement(nan, nan, nan, alpha, 0, excluded, resamples, resamples)
    weights = rng.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=resamples)
    values = coefficient(weights @ sums)
    defined = values[~np.isnan(values)]
    low, high = np.quantile(defined, [alpha / 2, 1 - alpha / 2]) if defined.size else (nan, nan)
    return Agreement(
        value=float(coefficient(per_unit.sum(axis=0))),
        low=float(low),
        high=float(high),
        alpha=alpha,
        units=units,
        excluded=excluded,
        resamples=resamples,
        undefined_resamples=resamples - defined.size,
    )


def _cluster_sums(per_unit: Floats, used: NDArray[np.bool_], clusters: Sequence[str]) -> Floats:
    """Sum the rows of each cluster that has a used unit, clusters sorted by name."""
    if len(clusters) != len(used):
        raise DataError(f"{len(clusters)} clusters for {len(used)} units: give one per unit")
    names, codes = np.unique(np.array(clusters, dtype=str)[used], return_inverse=True)
    sums = np.zeros((len(names), per_unit.shape[1]))
    np.add.at(sums, codes, per_unit)
    return sums


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Quotient, NaN where the denominator is 0 (whole numbers, so 0 is exact up to 1e-12)."""
    safe = np.where(np.abs(denominator) > 1e-12, denominator, np.nan)
    return np.asarray(numerator / safe)


def _check(ratings: Ints) -> None:
    if ratings.ndim != 2:
        raise DataError(f"ratings have shape {ratings.shape}: give (units, raters)")
    if (ratings < MISSING).any():
        unit, rater = (int(axis) for axis in np.argwhere(ratings < MISSING)[0])
        raise DataError(
            f"unit {unit}, rater {rater}: code {ratings[unit, rater]};"
            " use 0, 1, ... or -1 for missing"
        )


def _category_count(ratings: Ints) -> int:
    return int(ratings.max(initial=0)) + 1


def _rated_counts(ratings: Ints) -> tuple[NDArray[np.bool_], Floats]:
    """Which units have at least two ratings, and theirs by category: (such units, categories)."""
    codes = np.arange(_category_count(ratings))
    counts = (ratings[:, :, None] == codes).sum(axis=1).astype(np.float64)
    used = counts.sum(axis=1) >= 2
    return used, np.asarray(counts[used])
