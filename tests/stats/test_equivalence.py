import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from parallax.errors import DataError
from parallax.stats.equivalence import tost
from parallax.stats.intervals import t_interval
from parallax.stats.items import ItemDifferences

samples = st.lists(st.integers(-9, 14), min_size=3, max_size=20).filter(lambda x: len(set(x)) > 1)


@given(samples, st.sampled_from([0.05, 0.2, 0.5]))
def test_agrees_with_two_scipy_tests(units, margin):
    differences = ItemDifferences.from_units(units, 14)
    found = tost(differences, margin)
    lower = stats.ttest_1samp(differences.values, -margin, alternative="greater").pvalue
    upper = stats.ttest_1samp(differences.values, margin, alternative="less").pvalue
    assert (found.p_lower, found.p_upper) == pytest.approx((lower, upper))
    assert found.p_value == max(found.p_lower, found.p_upper)


@given(samples, st.sampled_from([0.1, 0.3]))
def test_agrees_with_the_ninety_percent_interval(units, margin):
    differences = ItemDifferences.from_units(units, 14)
    interval = t_interval(differences, alpha=0.1)
    inside = -margin < interval.low and interval.high < margin
    assert (tost(differences, margin).p_value <= 0.05) == inside


def test_hand_worked():
    # +-1 ten times each: mean 0, s^2 = 20/19, se = sqrt(1/19); margin 1: t = sqrt(19), 19 df
    values = np.array([1.0, -1.0] * 10)
    expected = stats.t.sf(19**0.5, 19)
    assert tost(values, 1.0).p_value == pytest.approx(expected)


def test_constant_data_show_nothing():
    assert np.isnan(tost(ItemDifferences.from_units([0] * 20, 14), 0.05).p_value)


@pytest.mark.parametrize("margin", [0.0, -0.1, float("nan")])
def test_margin_must_be_positive(margin):
    with pytest.raises(DataError, match="margin"):
        tost(np.arange(3.0), margin)
