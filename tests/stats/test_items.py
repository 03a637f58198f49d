from fractions import Fraction

import numpy as np
import pytest

from parallax.errors import DataError
from parallax.stats.items import ItemDifferences, check_alpha, known_values, mean


def test_fractions_are_kept_exactly_and_reduced():
    differences = ItemDifferences.from_units([2, -3, 0], 14)
    assert differences.fractions == [Fraction(1, 7), Fraction(-3, 14), Fraction(0)]
    # (2 - 3 + 0) / 14 / 3
    assert differences.estimate == pytest.approx(-1 / 42)


def test_undefined_items_are_nan_and_counted():
    differences = ItemDifferences.from_fractions([Fraction(1, 2), None, Fraction(1, 4)])
    assert (differences.defined, differences.undefined) == (2, 1)
    np.testing.assert_array_equal(differences.values, [0.5, np.nan, 0.25])
    # (1/2 + 1/4) / 2: the undefined item is not a zero
    assert differences.estimate == 0.375
    assert known_values(differences).tolist() == [0.5, 0.25]


def test_no_items_have_no_mean():
    empty = ItemDifferences.from_fractions([])
    assert np.isnan(empty.estimate)
    assert empty.values.shape == (0,)
    assert np.isnan(mean(np.array([np.nan])))


def test_too_fine_a_fraction_is_refused():
    with pytest.raises(DataError, match=r"item 1: .* 63 bits"):
        ItemDifferences.from_fractions([Fraction(1, 2), Fraction(1, 2**63)])


@pytest.mark.parametrize("values", [np.zeros((2, 2)), np.array([0.0, np.inf])])
def test_malformed_values_are_refused(values):
    with pytest.raises(DataError):
        known_values(values)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, float("nan")])
def test_alpha_must_lie_inside_the_unit_interval(alpha):
    with pytest.raises(DataError, match="error level"):
        check_alpha(alpha)


def test_denominator_must_be_positive():
    with pytest.raises(DataError, match="denominator 0"):
        ItemDifferences.from_units([1], 0)
