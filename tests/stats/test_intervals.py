import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, stats

from parallax.errors import DataError
from parallax.stats.clusters import family_sums
from parallax.stats.intervals import (
    bca_interval,
    cr2_interval,
    sign_flip_interval,
    t_interval,
    t_test,
)
from parallax.stats.items import ItemDifferences
from parallax.stats.signflip import sign_flip, sign_flip_bounds

HARMFUL = ItemDifferences.from_units([1, 1, 1, 1, 2, 4] + [0] * 14, 14)


def test_golden_t_p_value():
    assert round(t_test(HARMFUL).p_value, 4) == 0.0375


def test_hand_worked_t():
    # 1, 2, 3: mean 2, s = 1, se = 1/sqrt(3); t = 2 sqrt(3); t_{.975, 2} = 4.302653
    values = np.array([1.0, 2.0, 3.0])
    assert t_test(values).statistic == pytest.approx(2 * 3**0.5)
    found = t_interval(values)
    assert (found.low, found.high) == pytest.approx(
        (2 - 4.302653 / 3**0.5, 2 + 4.302653 / 3**0.5), abs=1e-6
    )


@pytest.mark.parametrize("seed", range(5))
def test_t_agrees_with_scipy(seed):
    values = np.random.default_rng(seed).normal(0.2, 1, 11)
    reference = stats.ttest_1samp(values, 0)
    found = t_test(np.append(values, np.nan))
    assert (found.statistic, found.p_value) == pytest.approx(
        (reference.statistic, reference.pvalue)
    )
    interval = t_interval(values, alpha=0.1)
    expected = reference.confidence_interval(0.9)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("units", [[], [3], [2] * 20, [0] * 20])
def test_constant_data_are_undefined_and_flagged(units):
    differences = ItemDifferences.from_units(units, 14)
    found = (
        t_interval(differences),
        bca_interval(differences, np.random.default_rng(0)),
        cr2_interval(differences, [str(item % 4) for item in range(len(units))]),
    )
    for interval in found:
        assert np.isnan([interval.low, interval.high]).all()
        assert interval.degenerate
        assert interval.items == len(units)
    assert np.isnan(t_test(differences).p_value)
    assert sign_flip_interval(differences).degenerate


def test_sign_flip_interval_reports_its_bounds():
    found = sign_flip_interval(HARMFUL)
    assert (found.low, found.high) == sign_flip_bounds(HARMFUL)
    assert found.low > 0
    assert not found.degenerate


def test_bca_is_scipys():
    reference = stats.bootstrap(
        (HARMFUL.values,), np.mean, method="BCa", n_resamples=999, rng=np.random.default_rng(5)
    ).confidence_interval
    found = bca_interval(HARMFUL, np.random.default_rng(5), resamples=999)
    assert (found.low, found.high) == (reference.low, reference.high)
    # skewed to the right: the upper arm is the longer one
    assert found.high - HARMFUL.estimate > HARMFUL.estimate - found.low


@given(st.lists(st.integers(-14, 14), min_size=3, max_size=15))
def test_one_item_per_family_is_the_t_interval(units):
    differences = ItemDifferences.from_units(units, 14)
    single = cr2_interval(differences, [f"f{item}" for item in range(len(units))])
    plain = t_interval(differences)
    np.testing.assert_allclose(
        [single.low, single.high, single.freedom], [plain.low, plain.high, plain.freedom]
    )


def test_balanced_families_are_the_t_interval_of_family_means():
    values = np.array([1.0, 3.0, 2.0, 6.0, 5.0, 9.0])
    # family means 2, 4, 7; equal sizes make both estimands the same
    clustered = cr2_interval(values, ["a", "a", "b", "b", "c", "c"])
    means = t_interval(np.array([2.0, 4.0, 7.0]))
    assert clustered.freedom == pytest.approx(2)
    assert (clustered.low, clustered.high) == pytest.approx((means.low, means.high))


@given(st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_cr2_agrees_with_its_matrix_form(seed):
    rng = np.random.default_rng(seed)
    codes = np.array([0, 0, 0, 1, 1, 2, 3, 3, 3, 3])
    y = rng.normal(size=10)
    x = np.ones((10, 1))
    hat = x @ x.T / 10
    residual = (np.eye(10) - hat) @ y
    variance, rows = 0.0, []
    for code in range(4):
        members = codes == code
        block = np.eye(members.sum()) - hat[np.ix_(members, members)]
        adjust = np.real(linalg.fractional_matrix_power(block, -0.5))
        variance += float((x[members, 0] @ adjust @ residual[members] / 10) ** 2)
        rows.append(x[members, 0] @ adjust @ (np.eye(10) - hat)[members] / 10)
    eigenvalues = np.linalg.eigvalsh(np.array(rows) @ np.array(rows).T)
    freedom = eigenvalues.sum() ** 2 / (eigenvalues**2).sum()
    found = cr2_interval(y, [f"f{code}" for code in codes])
    half = stats.t.ppf(0.975, freedom) * variance**0.5
    assert found.freedom == pytest.approx(freedom)
    assert (found.low, found.high) == pytest.approx((y.mean() - half, y.mean() + half))


def test_dependent_items_widen_the_clustered_interval():
    values = np.repeat([0.1, 0.5, -0.2, 0.4], 5) + np.tile([0, 0.01, 0.02, -0.01, -0.02], 4)
    clustered = cr2_interval(values, [f"f{item // 5}" for item in range(20)])
    plain = t_interval(values)
    assert clustered.high - clustered.low > 2 * (plain.high - plain.low)


def test_families_must_match_the_items():
    with pytest.raises(DataError, match="2 families for 3 items"):
        cr2_interval(np.arange(3.0), ["a", "b"])
    with pytest.raises(DataError, match="2 families for 20 items"):
        family_sums(HARMFUL, ["a", "b"])
    assert np.isnan(cr2_interval(np.arange(3.0), ["a"] * 3).low)


def test_families_flip_together():
    differences = ItemDifferences.from_units([1, 2, 3, -1], 14)
    sums = family_sums(differences, ["b", "a", "b", "a"])
    # a: 2 - 1 = 1, b: 1 + 3 = 4, over 14
    assert (14 * sums.values).tolist() == pytest.approx([1.0, 4.0])
    # two families of one sign: 2 of 4 assignments
    assert sign_flip(sums).p_value == 0.5
