import itertools

import numpy as np
import pytest
from scipy import stats

from parallax.errors import DataError
from parallax.stats.items import ItemDifferences
from parallax.stats.permutation import score_interaction, score_tertiles


def rng():
    return np.random.default_rng(0)


def test_tertiles():
    assert score_tertiles(np.array([9.0, 1.0, 5.0])).tolist() == [2, 0, 1]
    assert np.bincount(score_tertiles(np.arange(9.0))).tolist() == [3, 3, 3]
    # cuts at 1 and 2: a score on a cut belongs to the group above
    assert score_tertiles(np.arange(4.0)).tolist() == [0, 1, 2, 2]
    # equal scores are never split
    assert len(set(score_tertiles(np.ones(6)).tolist())) == 1
    with pytest.raises(DataError, match="item 1"):
        score_tertiles(np.array([0.0, np.nan]))


def test_hand_worked_interaction():
    effects = np.array([0.0, 0.1, 0.2])
    scores = np.array([1.0, 2.0, 3.0])
    found = score_interaction(effects, scores, rng(), 9_999)
    assert found.correlation == pytest.approx(1)
    # .1 per unit of score, one standard deviation = 1 unit
    assert found.slope == pytest.approx(0.1)
    assert found.tertile_effects == pytest.approx((0.0, 0.1, 0.2))
    assert found.tertile_items == (1, 1, 1)
    # the ordered and the reversed permutation of six
    assert found.p_value == pytest.approx(1 / 3, abs=0.02)
    assert found.rest_effect == pytest.approx(0.05)
    assert found.descriptive


def test_the_rest_is_tested_without_the_highest_third():
    effects = ItemDifferences.from_units([1, 2, 9, 1, 9, 3], 14)
    scores = np.array([0.1, 0.3, 0.9, 0.2, 0.8, 0.4])
    found = score_interaction(effects, scores, rng(), 99)
    assert found.tertile_items == (2, 2, 2)
    # 1, 2, 1 and 3: all up, 2 / 2^4.
    assert found.rest_effect == pytest.approx(7 / 4 / 14)
    assert found.rest_p == 1 / 8
    assert score_interaction(effects.values, scores, rng(), 99).rest_p == pytest.approx(
        1 / 8, abs=0.01
    )


def test_agrees_with_enumeration():
    effects = np.array([1, 0, 2, -1, 3, 3]) / 14
    scores = np.array([0.2, 0.1, 0.9, 0.4, 0.8, 0.8])
    centred = effects - effects.mean()
    observed = abs(centred @ scores)
    every = [abs(centred @ np.array(order)) for order in itertools.permutations(scores)]
    exact = np.mean([value >= observed - 1e-12 for value in every])
    found = score_interaction(effects, scores, rng(), 20_000)
    assert found.p_value == pytest.approx(exact, abs=0.015)
    assert found.correlation == pytest.approx(stats.pearsonr(effects, scores).statistic)


def test_invariance():
    effects = ItemDifferences.from_units([1, 4, -2, 0, 3, 5, 2, 2], 14)
    scores = np.random.default_rng(3).normal(size=8)
    plain = score_interaction(effects, scores, rng(), 499)
    scaled = score_interaction(effects, 10 * scores - 4, rng(), 499)
    assert scaled.p_value == plain.p_value
    assert scaled.slope == pytest.approx(plain.slope)
    turned = score_interaction(effects.values, -scores, rng(), 499)
    assert turned.p_value == plain.p_value
    assert turned.correlation == pytest.approx(-plain.correlation)


def test_sixty_items_are_more_than_descriptive():
    scores = np.arange(60.0)
    found = score_interaction(scores / 60, scores, rng(), 99)
    assert not found.descriptive
    assert found.p_value == 0.01


def test_undefined():
    effects = np.array([0.1, np.nan, 0.3, 0.2])
    found = score_interaction(effects, np.array([1.0, 2.0, np.nan, 4.0]), rng(), 99)
    assert found.items == 2
    flat = score_interaction(np.ones(4), np.arange(4.0), rng(), 99)
    assert np.isnan([flat.p_value, flat.slope, flat.correlation]).all()
    nothing = score_interaction(np.full(2, np.nan), np.zeros(2), rng(), 99)
    assert nothing.items == 0
    assert np.isnan([nothing.rest_effect, nothing.rest_p]).all()
    with pytest.raises(DataError, match="3 scores for 4 items"):
        score_interaction(effects, np.zeros(3), rng())
