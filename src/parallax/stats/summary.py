"""One contrast, analysed whole: estimate, counts, test, intervals, equivalence, power."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from parallax.stats.clusters import family_sums
from parallax.stats.contrasts import Direction, SignCounts, count_signs
from parallax.stats.equivalence import Equivalence, tost
from parallax.stats.intervals import (
    Interval,
    bca_interval,
    cr2_interval,
    sample_sd,
    sign_flip_interval,
    t_interval,
    t_test,
)
from parallax.stats.items import Floats, ItemDifferences, known_values, mean
from parallax.stats.labels import ALPHA, Verdict, judge_contrast
from parallax.stats.multiplicity import holm
from parallax.stats.power import minimum_detectable_effect
from parallax.stats.signflip import SignFlip, sign_flip, sign_flip_continuous


@dataclasses.dataclass(frozen=True)
class ContrastSummary:
    """Everything that a report prints about one contrast; effects in fractions of 1.

    `interval` is the default (inverted sign-flip), `t` and `bca` stand beside it; `clustered`
    and `clustered_test` are None without source families. `detectable` is the minimum
    detectable effect at 80 % power for the observed spread and number of items; NaN where too few
    items moved to tell the spread.
    """

    estimate: float
    sd: float
    counts: SignCounts
    partial: int
    test: SignFlip
    t_p_value: float
    interval: Interval
    t: Interval
    bca: Interval
    clustered: Interval | None
    clustered_test: SignFlip | None
    equivalence: Equivalence
    detectable: float
    smallest_effect: float


def summarize_contrast(
    differences: ItemDifferences,
    smallest_effect: float,
    rng: np.random.Generator,
    direction: Direction | None = None,
    families: Sequence[str] | None = None,
    alpha: float = ALPHA,
) -> ContrastSummary:
    """Analyse one set of item differences.

    `smallest_effect` (a fraction of 1) is the equivalence margin and the yardstick of power;
    `direction` the preregistered sign; `families` one source family per item.

    Raises:
        DataError: `smallest_effect` is not above 0, `alpha` is outside (0, 1), or not one family
            per item.
    """
    values = known_values(differences)
    sd = sample_sd(values)
    counts = count_signs(differences, direction)
    spread = float("nan") if counts.few_nonzero else sd
    clustered, clustered_test = None, None
    if families is not None:
        clustered = cr2_interval(differences, families, alpha)
        clustered_test = sign_flip(family_sums(differences, families), rng)
    return ContrastSummary(
        estimate=differences.estimate,
        sd=sd,
        counts=counts,
        partial=differences.partial,
        test=sign_flip(differences, rng),
        t_p_value=t_test(differences).p_value,
        interval=sign_flip_interval(differences, alpha, rng),
        t=t_interval(differences, alpha),
        bca=bca_interval(differences, rng, alpha),
        clustered=clustered,
        clustered_test=clustered_test,
        equivalence=tost(differences, smallest_effect),
        detectable=minimum_detectable_effect(values.size, spread, alpha=alpha),
        smallest_effect=smallest_effect,
    )


def summarize_continuous(
    values: Floats,
    rng: np.random.Generator,
    direction: Direction | None = None,
    alpha: float = ALPHA,
) -> ContrastSummary:
    """Analyse item differences of a continuous outcome, such as log-odds in nats; shape (items,).

    As `summarize_contrast`, but the test is Monte Carlo and `interval` the t interval. No smallest
    effect of interest is set in nats: `equivalence` is NaN and `smallest_effect` infinite. NaN is
    an undefined item.

    Raises:
        DataError: an infinite value, or `alpha` is outside (0, 1).
    """
    known = known_values(values)
    nan = float("nan")
    sd = sample_sd(known)
    t = t_interval(values, alpha)
    return ContrastSummary(
        estimate=mean(values),
        sd=sd,
        counts=count_signs(values, direction),
        partial=0,
        test=sign_flip_continuous(values, rng),
        t_p_value=t_test(values).p_value,
        interval=t,
        t=t,
        bca=bca_interval(values, rng, alpha),
        clustered=None,
        clustered_test=None,
        equivalence=Equivalence(nan, nan, nan, nan, known.size),
        detectable=minimum_detectable_effect(known.size, sd, alpha=alpha),
        smallest_effect=float("inf"),
    )


def judge_family(
    summaries: Sequence[ContrastSummary],
    alpha: float = ALPHA,
    adjust: Callable[[Sequence[float]], Floats] = holm,
) -> tuple[tuple[float, ...], tuple[Verdict, ...]]:
    """Adjusted p-values and verdicts of one model's family of contrasts, in order.

    `adjust` is Holm for the preregistered contrasts. The item-level test decides; the clustered
    one is printed beside it.
    """
    raw = [summary.test.p_value for summary in summaries]
    adjusted = tuple(float(p) for p in adjust(raw))
    verdicts = tuple(
        judge_contrast(
            p,
            p_adjusted,
            summary.equivalence.p_value,
            summary.detectable,
            summary.smallest_effect,
            summary.counts.few_nonzero,
            alpha,
        )
        for summary, p, p_adjusted in zip(summaries, raw, adjusted, strict=True)
    )
    return adjusted, verdicts
