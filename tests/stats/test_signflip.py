import itertools
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from parallax.errors import DataError
from parallax.stats import signflip
from parallax.stats.items import ItemDifferences
from parallax.stats.signflip import (
    integer_units,
    sign_flip,
    sign_flip_bounds,
    sign_flip_continuous,
    smallest_p,
)

REFUSAL = [6, 1, 7, 1, 5, 1, 1, 4, 2, 3, 1, 4, -1, -2]
HARMFUL = [1, 1, 1, 1, 2, 4]
MIXED = [3, 5, -1, 2, 0, 4, 6, -2, 1, 3, 2, 4, -3, 5, 0, 1, 0, 2, 0, 1]

small_units = st.lists(st.integers(-7, 7), min_size=1, max_size=9)


def fourteenths(units, items=20):
    return ItemDifferences.from_units([*units, *[0] * (items - len(units))], 14)


def enumerated_p(values):
    """Two-sided p by listing every sign assignment, in exact arithmetic."""
    observed = abs(sum(values))
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, values, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(values))
    ]
    return Fraction(sum(total >= observed for total in sums), len(sums))


def enumerated_bounds(values, alpha):
    """Ends of {c: p(c) > alpha}: scan the subset means, where p(c) changes."""
    means = sorted(
        {
            sum(subset) / Fraction(size)
            for size in range(1, len(values) + 1)
            for subset in itertools.combinations(values, size)
        }
    )
    inside = [c for c in means if enumerated_p([value - c for value in values]) > alpha]
    outside = [means[0] - 1, means[-1] + 1]
    if any(enumerated_p([value - c for value in values]) > alpha for c in outside):
        return -np.inf, np.inf
    return float(inside[0]), float(inside[-1])


@pytest.mark.parametrize(
    ("units", "mean_pp", "p_value", "digits"),
    [
        (REFUSAL, 11.79, 0.00696, 5),
        (HARMFUL, 3.57, 0.03125, 15),
        (MIXED, 11.79, 0.009124755859375, 15),
    ],
)
def test_golden_vectors(units, mean_pp, p_value, digits):
    differences = fourteenths(units)
    # 33 / 14 / 20 = .11786; 10 / 14 / 20 = .03571; 33 / 14 / 20 again
    assert round(100 * differences.estimate, 2) == mean_pp
    found = sign_flip(differences)
    assert round(found.p_value, digits) == p_value
    assert found.exact
    assert found.items == 20


def test_smallest_attainable_p():
    # six nonzero differences: 2 / 2^6, and all of one sign attain it
    found = sign_flip(fourteenths(HARMFUL))
    assert found.nonzero == 6
    assert found.smallest_p == 2 / 64 == found.p_value
    assert smallest_p(1) == 1.0
    assert smallest_p(0) == 1.0
    assert smallest_p(5) == 0.0625


def test_hand_worked_ties():
    # signs of (1, 1, 2): sums +-4, +-2 twice, 0 twice... observed 2: {4, 2, 2, -4, -2, -2} of 8
    assert sign_flip(ItemDifferences.from_units([1, -1, 2], 14)).p_value == 6 / 8
    # observed 4: {4, -4} of 8
    assert sign_flip(ItemDifferences.from_units([1, 1, 2], 14)).p_value == 2 / 8
    assert sign_flip(ItemDifferences.from_units([1, 1, -2], 14)).p_value == 1.0


def test_tenths_tie_where_floats_do_not():
    # .1 + .2 differs from .3 in floating point; in tenths 1 + 2 - 3 is 0
    values = [Fraction(1, 10), Fraction(1, 5), Fraction(-3, 10)]
    assert sign_flip(ItemDifferences.from_fractions(values)).p_value == 1.0


def test_nothing_to_test():
    empty = sign_flip(ItemDifferences.from_fractions([None, None]))
    assert np.isnan(empty.p_value)
    assert empty.items == 0
    flat = sign_flip(fourteenths([]))
    assert (flat.p_value, flat.smallest_p, flat.items, flat.nonzero) == (1.0, 1.0, 20, 0)


def test_undefined_items_are_left_out():
    with_gap = ItemDifferences.from_fractions([Fraction(1, 2), None, Fraction(1, 3)])
    found = sign_flip(with_gap)
    assert (found.items, found.p_value) == (2, 0.5)


@given(small_units, st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_agrees_with_enumeration(units, denominator):
    values = [Fraction(unit, denominator) for unit in units]
    found = sign_flip(ItemDifferences.from_fractions(values))
    assert found.p_value == float(enumerated_p(values))


@given(st.lists(st.fractions(-1, 1, max_denominator=14), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_unequal_denominators_agree_with_enumeration(values):
    found = sign_flip(ItemDifferences.from_fractions(values))
    assert found.exact
    assert found.p_value == float(enumerated_p(values))


@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_scipy(seed):
    rng = np.random.default_rng(seed)
    units = rng.integers(-14, 15, size=rng.integers(2, 13))
    reference = stats.permutation_test(
        (units.astype(float),), np.sum, permutation_type="samples", n_resamples=np.inf
    )
    found = sign_flip(ItemDifferences.from_units(units, 14))
    # scipy doubles the smaller tail and caps it; for a symmetric law both definitions agree
    assert found.p_value == pytest.approx(min(1.0, reference.pvalue), abs=1e-12)


@given(small_units, st.randoms(use_true_random=False), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_symmetry_order_and_scale_do_not_matter(units, shuffler, factor):
    reference = sign_flip(ItemDifferences.from_units(units, 14)).p_value
    shuffled = list(units)
    shuffler.shuffle(shuffled)
    assert sign_flip(ItemDifferences.from_units([-u for u in units], 14)).p_value == reference
    assert sign_flip(ItemDifferences.from_units(shuffled, 14)).p_value == reference
    scaled = ItemDifferences.from_units([factor * u for u in units], 5)
    assert sign_flip(scaled).p_value == reference
    assert sign_flip(ItemDifferences.from_units([*units, 0, 0], 14)).p_value == reference


def test_480_items_take_less_than_a_second():
    rng = np.random.default_rng(4)
    units = rng.integers(-14, 15, size=480)
    start = time.perf_counter()
    found = sign_flip(ItemDifferences.from_units(units, 14))
    assert time.perf_counter() - start < 1
    # the sum moves in steps of 2, hence the continuity correction of 1
    z = (abs(units.sum()) - 1) / np.sqrt((units**2).sum())
    assert found.p_value == pytest.approx(2 * stats.norm.sf(z), abs=0.0005)
    assert found.exact


def test_large_counts_match_the_binomial():
    # 300 differences of one unit, 180 of them positive: a two-sided sign test
    units = [1] * 180 + [-1] * 120
    found = sign_flip(ItemDifferences.from_units(units, 14))
    assert found.p_value == pytest.approx(stats.binomtest(180, 300).pvalue, rel=1e-12)


def test_monte_carlo_takes_over_and_agrees(monkeypatch):
    differences = fourteenths(REFUSAL)
    exact = sign_flip(differences).p_value
    monkeypatch.setattr(signflip, "MAX_TABLE", 1)
    with pytest.raises(DataError, match="generator"):
        sign_flip(differences)
    found = sign_flip(differences, np.random.default_rng(0), resamples=40_000)
    assert not found.exact
    assert found.resamples == 40_000
    # four standard errors
    assert found.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact / 40_000))
    again = sign_flip(differences, np.random.default_rng(0), resamples=40_000)
    assert again == found
    with pytest.raises(DataError, match="0 resamples"):
        sign_flip(differences, np.random.default_rng(0), resamples=0)


def test_monte_carlo_counts_the_observed_assignment():
    # a random assignment gets all but one of 40 signs equal with probability 82 / 2^40: b = 0
    values = [Fraction(1, prime) for prime in (10007, 10009)] * 20
    values[0] = Fraction(-1, 10037)
    found = sign_flip(ItemDifferences.from_fractions(values), np.random.default_rng(0), 99)
    assert not found.exact
    assert found.p_value == 1 / 100 == found.smallest_p


def test_a_common_denominator_beyond_64_bits_falls_back_to_floats():
    values = [Fraction(1, prime) for prime in (1000003, 1000033, 1000037, 1000039)]
    values.append(Fraction(-1, 1000081))
    found = sign_flip(ItemDifferences.from_fractions(values), np.random.default_rng(0), 20_000)
    assert not found.exact
    assert found.p_value == pytest.approx(float(enumerated_p(values)), abs=0.01)


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=8).filter(any))
@settings(max_examples=15, deadline=None)
def test_continuous_test_sees_the_same_ties(units):
    rng = np.random.default_rng(0)
    found = sign_flip_continuous(np.array(units) / 10, rng, resamples=20_000)
    exact = sign_flip(ItemDifferences.from_units(units, 10)).p_value
    assert found.p_value == pytest.approx(exact, abs=0.02)


def test_continuous_test_without_information():
    rng = np.random.default_rng(0)
    assert np.isnan(sign_flip_continuous(np.array([np.nan]), rng).p_value)
    assert sign_flip_continuous(np.zeros(4), rng).p_value == 1.0


def test_integer_units_are_coprime():
    units, unit = integer_units(
        ItemDifferences.from_fractions([Fraction(1, 6), Fraction(-1, 2), None, Fraction(0)])
    )
    # over 6: 1, -3, 0
    assert (units, unit) == ([1, -3, 0], Fraction(1, 6))


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=7))
@settings(max_examples=25, deadline=None)
def test_bounds_agree_with_enumeration(units):
    values = [Fraction(unit, 14) for unit in units]
    found = sign_flip_bounds(ItemDifferences.from_fractions(values), alpha=0.1)
    assert found == enumerated_bounds(values, Fraction(1, 10))


def test_hand_worked_bounds():
    # subset means of (1, 2, 4): 1, 3/2, 2, 7/3, 5/2, 3, 4. p below all of them is 2/8.
    # alpha .3: shifts below 1 are rejected (.25), from 1 on p is 2 * 2/8 = .5
    differences = ItemDifferences.from_units([1, 2, 4], 1)
    assert sign_flip_bounds(differences, 0.3) == (1.0, 4.0)
    # alpha .5: the second subset mean from either end
    assert sign_flip_bounds(differences, 0.5) == (1.5, 3.0)
    # alpha .2 is below 2/8: nothing can be rejected
    assert sign_flip_bounds(differences, 0.2) == (-np.inf, np.inf)


def test_bounds_of_constant_and_missing_data():
    assert sign_flip_bounds(fourteenths([2] * 20)) == (pytest.approx(1 / 7), pytest.approx(1 / 7))
    assert all(np.isnan(sign_flip_bounds(ItemDifferences.from_fractions([None]))))


@given(st.lists(st.integers(-14, 14), min_size=6, max_size=24), st.sampled_from([0.05, 0.2]))
@settings(max_examples=60, deadline=None)
def test_interval_excludes_zero_exactly_when_the_test_rejects(units, alpha):
    differences = ItemDifferences.from_units(units, 14)
    low, high = sign_flip_bounds(differences, alpha)
    assert (low <= 0 <= high) == (sign_flip(differences).p_value > alpha)


@pytest.mark.parametrize("units", [REFUSAL, HARMFUL, MIXED])
def test_bounds_invert_the_test_at_twenty_items(units):
    values = [Fraction(unit, 14) for unit in [*units, *[0] * (20 - len(units))]]
    low, high = sign_flip_bounds(ItemDifferences.from_fractions(values))
    tiny = Fraction(1, 10**4)
    for bound, outward in ((low, -tiny), (high, tiny)):
        end = Fraction(bound).limit_denominator(280)
        for shift, inside in ((end, True), (end + outward, False)):
            moved = ItemDifferences.from_fractions(value - shift for value in values)
            assert (sign_flip(moved).p_value > 0.05) is inside


@pytest.mark.parametrize("limit", ["MAX_JOINT_TABLE", "MAX_JOINT_ITEMS"])
def test_random_subsets_replace_a_large_table(limit, monkeypatch):
    differences = fourteenths(REFUSAL)
    exact = sign_flip_bounds(differences)
    monkeypatch.setattr(signflip, limit, 1)
    with pytest.raises(DataError, match="generator"):
        sign_flip_bounds(differences)
    found = sign_flip_bounds(differences, rng=np.random.default_rng(0), resamples=50_000)
    assert found == pytest.approx(exact, abs=0.005)
