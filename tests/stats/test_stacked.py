"""Each stacked result against the function of one data set, on random tables."""

import numpy as np
import pytest

from parallax.stats.contrasts import count_signs
from parallax.stats.equivalence import tost
from parallax.stats.items import ItemDifferences
from parallax.stats.signflip import sign_flip, sign_flip_bounds
from parallax.stats.stacked import stack_contrasts, stack_sign_flips
from parallax.stats.summary import summarize_contrast


def tables(items, sets=12, seed=0):
    """Units of 1/14 of all kinds: quiet, lively, skewed, constant, and all at rest."""
    rng = np.random.default_rng(seed)
    units = rng.integers(-6, 7, (sets, items)) * rng.integers(0, 3, (sets, 1))
    units[0], units[1], units[2] = 0, 3, rng.integers(0, 2, items)
    units[3] *= rng.random(items) < 0.2
    return units


@pytest.mark.parametrize("items", [2, 7, 20, 121])
def test_p_values_are_those_of_the_exact_test(items):
    for seed in range(5):
        units = tables(items, seed=seed)
        exact = [sign_flip(ItemDifferences.from_units(row, 14)).p_value for row in units]
        np.testing.assert_allclose(stack_sign_flips(units), exact, rtol=1e-9, atol=1e-12)


def test_p_values_by_hand():
    # +-1 +-2: |sum| 3 of {-3, -1, 1, 3}; 1 of it; a sum of 0; nothing moves.
    units = np.array([[1, 2], [-1, 2], [2, -2], [0, 0]])
    np.testing.assert_allclose(stack_sign_flips(units), [0.5, 1.0, 1.0, 1.0])


def test_a_long_table_is_cut_into_parts(monkeypatch):
    units = tables(20, sets=50)
    whole = stack_sign_flips(units)
    monkeypatch.setattr("parallax.stats.stacked.MAX_CELLS", 300)
    np.testing.assert_allclose(stack_sign_flips(units), whole, atol=1e-12)


@pytest.mark.parametrize("items", [8, 20, 45])
def test_all_of_a_contrast_is_that_of_its_summary(items):
    units = tables(items, seed=3)
    found = stack_contrasts(units, 14, margin=0.1, alpha=0.05)
    for place, row in enumerate(units):
        differences = ItemDifferences.from_units(row, 14)
        one = summarize_contrast(differences, 0.1, np.random.default_rng(0))
        assert found.estimates[place] == pytest.approx(one.estimate)
        assert found.sds[place] == pytest.approx(one.sd, abs=1e-12)
        assert found.p_values[place] == pytest.approx(one.test.p_value, abs=1e-12)
        wanted = [one.equivalence.p_value, one.detectable]
        given = [found.equivalence_p[place], found.detectable[place]]
        np.testing.assert_allclose(given, wanted, rtol=1e-9, atol=1e-12)
        assert found.few_nonzero[place] == count_signs(differences).few_nonzero
    assert np.isnan(tost(ItemDifferences.from_units(units[1], 14), 0.1).p_value)


@pytest.mark.parametrize("shift", [-1, 2])
def test_a_shift_is_inside_the_interval_where_its_test_does_not_reject(shift):
    """`shift` in units of 1/70; the interval inverts the test, so that no interval is needed."""
    for seed in range(4):
        units = tables(15, seed=seed)
        inside = stack_sign_flips(5 * units - shift) > 0.05
        for row, expected in zip(units, inside, strict=True):
            low, high = sign_flip_bounds(ItemDifferences.from_units(row, 14))
            assert (low <= shift / 70 <= high) == expected
