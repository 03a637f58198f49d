"""Does the effect depend on how familiar an item is? Permutation test and tertile means."""

import dataclasses

import numpy as np

from parallax.errors import DataError
from parallax.stats.items import Floats, ItemDifferences, mean
from parallax.stats.signflip import sign_flip, sign_flip_continuous

RESAMPLES = 9_999
TERTILES = 3
# 20 items in each tertile: below that the tertile means are read, not tested.
DESCRIPTIVE_BELOW = 60


@dataclasses.dataclass(frozen=True)
class Interaction:
    """Association of item effects with an item score.

    `slope` is the effect's change (fraction of 1) per standard deviation of the score;
    `tertile_effects` are mean effects from the lowest to the highest third by score, with
    `tertile_items` items each; `rest_effect` and `rest_p` are the mean effect and the sign-flip p
    outside the highest third. `descriptive` marks too few items for an inference. NaN where the
    score or the effect does not vary.
    """

    correlation: float
    slope: float
    p_value: float
    items: int
    tertile_effects: tuple[float, ...]
    tertile_items: tuple[int, ...]
    rest_effect: float
    rest_p: float
    descriptive: bool


def score_interaction(
    differences: ItemDifferences | Floats,
    scores: Floats,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
) -> Interaction:
    """Test whether the effect is related to the score by permuting scores among items.

    Statistic |sum_i (d_i - mean d)(z_i - mean z)|, p = (b + 1) / (resamples + 1), where b counts
    permutations that reach the observed value up to rounding (1e-12 relative). Items with an
    undefined effect or score are left out. Shapes (items,).

    Raises:
        DataError: `scores` and effects differ in length.
    """
    effects = differences.values if isinstance(differences, ItemDifferences) else differences
    if effects.shape != scores.shape:
        raise DataError(f"{len(scores)} scores for {len(effects)} items: give one per item")
    known = ~(np.isnan(effects) | np.isnan(scores))
    d, z = effects[known], scores[known]
    groups = score_tertiles(z)
    correlation, slope, p_value = _association(d, z, rng, resamples)
    rest = groups < TERTILES - 1
    return Interaction(
        correlation=correlation,
        slope=slope,
        p_value=p_value,
        items=d.size,
        tertile_effects=tuple(mean(d[groups == group]) for group in range(TERTILES)),
        tertile_items=tuple(int(np.count_nonzero(groups == group)) for group in range(TERTILES)),
        rest_effect=mean(d[rest]),
        rest_p=_test_some(differences, np.flatnonzero(known)[rest], rng),
        descriptive=d.size < DESCRIPTIVE_BELOW,
    )


def score_tertiles(scores: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Group 0, 1 or 2 of each score: below the first, up to the second, above the second tertile.

    group = number of cut points (quantiles 1/3 and 2/3) that the score reaches or passes, so
    equal scores are never split. NaN is refused.

    Raises:
        DataError: a NaN score.
    """
    if np.isnan(scores).any():
        raise DataError(f"item {int(np.flatnonzero(np.isnan(scores))[0])}: score is NaN; drop it")
    if not scores.size:
        return np.zeros(0, dtype=np.int64)
    cuts = np.quantile(scores, [1 / 3, 2 / 3])
    return np.searchsorted(cuts, scores, side="right").astype(np.int64)


def _test_some(
    differences: ItemDifferences | Floats,
    items: np.ndarray[tuple[int], np.dtype[np.intp]],
    rng: np.random.Generator,
) -> float:
    """Sign-flip p of some of the items."""
    if isinstance(differences, ItemDifferences):
        some = ItemDifferences(differences.numerators[items], differences.denominators[items])
        return sign_flip(some, rng).p_value
    return sign_flip_continuous(differences[items], rng).p_value


def _association(
    d: Floats, z: Floats, rng: np.random.Generator, resamples: int
) -> tuple[float, float, float]:
    if d.size < 2 or np.ptp(d) == 0 or np.ptp(z) == 0:
        return float("nan"), float("nan"), float("nan")
    d, z = d - d.mean(), z - z.mean()
    observed = abs(float(d @ z))
    scale = float(np.sqrt((d @ d) * (z @ z)))
    permuted = rng.permuted(np.broadcast_to(z, (resamples, z.size)), axis=1) @ d
    hits = int(np.count_nonzero(np.abs(permuted) >= observed - 1e-12 * scale))
    slope = float(d @ z) / (z.size - 1) / float(z.std(ddof=1))
    return float(d @ z) / scale, slope, (hits + 1) / (resamples + 1)
