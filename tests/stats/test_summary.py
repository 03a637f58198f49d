import numpy as np
import pytest
from scipy import stats

from parallax.stats.items import ItemDifferences
from parallax.stats.multiplicity import benjamini_hochberg
from parallax.stats.power import minimum_detectable_effect
from parallax.stats.summary import judge_family, summarize_continuous, summarize_contrast


def fourteenths(units):
    return ItemDifferences.from_units([*units, *[0] * (20 - len(units))], 14)


REFUSAL = fourteenths([6, 1, 7, 1, 5, 1, 1, 4, 2, 3, 1, 4, -1, -2])
HARMFUL = fourteenths([-1, -1, -1, -1, -2, -4])


def summarize(differences, **options):
    return summarize_contrast(differences, 0.05, np.random.default_rng(0), **options)


def test_golden_contrast():
    found = summarize(REFUSAL, direction=1)
    assert round(100 * found.estimate, 2) == 11.79
    assert (found.counts.positive, found.counts.zero, found.counts.inverted) == (12, 6, 2)
    assert round(found.test.p_value, 5) == 0.00696
    assert found.interval.low > 0
    assert found.detectable == minimum_detectable_effect(20, REFUSAL.values.std(ddof=1))
    assert found.clustered is None


def test_golden_harmful_contrast():
    found = summarize(HARMFUL, direction=-1)
    assert round(100 * found.estimate, 2) == -3.57
    assert found.counts.inverted == 0
    assert found.counts.few_nonzero
    assert found.test.p_value == 0.03125
    assert round(found.t_p_value, 4) == 0.0375


def test_families_add_clustered_results():
    found = summarize(REFUSAL, families=[f"f{item % 5}" for item in range(20)])
    assert found.clustered.method == "cr2"
    # five families, all sums positive: 2 / 2^5
    assert found.clustered_test.p_value == pytest.approx(1 / 16)


def test_family_is_adjusted_together():
    adjusted, verdicts = judge_family(
        [summarize(REFUSAL), summarize(fourteenths([1, -1])), summarize(HARMFUL)]
    )
    # .006958 * 3; .03125 * 2 = .0625; 1 * 1
    assert adjusted == pytest.approx((0.0208740234375, 1.0, 0.0625))
    # 1, -1 of 14 is so quiet that TOST rejects; but two items of twenty are too few to say so.
    assert summarize(fourteenths([1, -1])).equivalence.p_value < 0.05
    assert [verdict.label for verdict in verdicts] == ["significant", "underpowered", "marginal"]


def test_many_small_differences_are_equivalent():
    _, verdicts = judge_family([summarize(fourteenths([1, -1] * 5))])
    assert verdicts[0].label == "equivalent"


def test_a_floor_earns_no_label():
    found = summarize(fourteenths([]))
    _, verdicts = judge_family([found])
    assert verdicts[0].label == "underpowered"
    assert np.isnan(found.detectable)
    assert found.bca.degenerate


def test_constant_data_have_no_spread():
    # 45 times 3/14: the mean is off by a rounding, which is no spread.
    found = summarize(ItemDifferences.from_units([3] * 45, 14))
    assert found.sd == 0
    assert np.isnan(found.detectable)


def test_the_adjustment_can_be_chosen():
    adjusted, _ = judge_family(
        [summarize(REFUSAL), summarize(fourteenths([1, -1])), summarize(HARMFUL)],
        adjust=benjamini_hochberg,
    )
    # .006958 * 3 / 1; .03125 * 3 / 2; 1
    assert adjusted == pytest.approx((0.0208740234375, 1.0, 0.046875))


def test_a_continuous_outcome_has_a_t_interval_and_no_margin():
    values = np.array([1.5, 0.5, np.nan, -0.25, 2.0, 1.25])
    found = summarize_continuous(values, np.random.default_rng(0), direction=1)
    known = values[~np.isnan(values)]
    assert found.estimate == 1.0
    # s^2 = (.25 + .25 + 1.5625 + 1 + .0625) / 4 = .78125; t(4) = 2.776445
    half = 2.776445105 * (0.78125 / 5) ** 0.5
    assert (found.interval.low, found.interval.high) == pytest.approx((1 - half, 1 + half))
    assert found.interval == found.t
    reference = stats.permutation_test(
        (known,), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    assert found.test.p_value == pytest.approx(reference.pvalue, abs=0.005)
    assert (found.counts.positive, found.counts.negative, found.counts.undefined) == (4, 1, 1)
    assert found.counts.inverted == 1
    assert np.isnan(found.equivalence.p_value)
    # No smallest effect is set in nats: nothing is equivalent, and nothing underpowered.
    _, verdicts = judge_family([found])
    assert verdicts[0].label == "inconclusive"
