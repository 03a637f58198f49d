"""Simulated responders with known effects: two paraphrases, seven draws, items of random rates."""

import numpy as np
import pytest

from parallax.stats.contrasts import frame_differences
from parallax.stats.intervals import t_interval
from parallax.stats.items import ItemDifferences
from parallax.stats.multiplicity import holm
from parallax.stats.power import power
from parallax.stats.signflip import sign_flip, sign_flip_bounds

SETS, ITEMS, DRAWS = 2_000, 20, 14


def simulate(effect, seed, low=0.2, high=0.6, spread=0.1, items=ITEMS, sets=SETS):
    """Differences in 1/14; item rates U(low, high), item effects `effect` +- U(spread)."""
    rng = np.random.default_rng(seed)
    rates = rng.uniform(low, high, (sets, items))
    moved = rates + effect + rng.uniform(-spread, spread, (sets, items))
    # the effect is exact on average only if no rate leaves [0, 1]
    assert min(rates.min(), moved.min()) >= 0
    assert max(rates.max(), moved.max()) <= 1
    return rng.binomial(DRAWS, moved) - rng.binomial(DRAWS, rates)


def true_sd(effect, low=0.2, high=0.6, spread=0.1):
    """SD of a difference: spread of effects plus two binomials over fourteen draws."""
    rate = np.linspace(low, high, 2001)
    first, second = rate + effect, rate
    within = (first * (1 - first)).mean() - spread**2 / 3 + (second * (1 - second)).mean()
    return (spread**2 / 3 + within / DRAWS) ** 0.5


def rejections(units, alpha=0.05):
    return float(
        np.mean(
            [sign_flip(ItemDifferences.from_units(row, DRAWS)).p_value <= alpha for row in units]
        )
    )


def test_size_at_the_null():
    assert 0.03 <= rejections(simulate(0.0, seed=1)) <= 0.06


def test_rare_outcomes_are_conservative():
    rng = np.random.default_rng(2)
    units = rng.binomial(DRAWS, 0.01, (SETS, ITEMS)) - rng.binomial(DRAWS, 0.01, (SETS, ITEMS))
    assert rejections(units) <= 0.03


def test_power_follows_the_formula():
    effect = 0.12
    sd = true_sd(effect)
    units = simulate(effect, seed=3)
    assert units.std() / DRAWS == pytest.approx(sd, rel=0.03)
    expected = power(effect, ITEMS, sd)
    # the comparison means something only away from 0 and 1
    assert 0.4 < expected < 0.9
    assert rejections(units) == pytest.approx(expected, abs=0.05)


def test_coverage_of_both_intervals():
    effect = 0.15
    covered = np.zeros(2)
    for row in simulate(effect, seed=4):
        differences = ItemDifferences.from_units(row, DRAWS)
        low, high = sign_flip_bounds(differences)
        t = t_interval(differences)
        covered += [low <= effect <= high, t.low <= effect <= t.high]
    default, student = covered / SETS
    assert 0.93 <= default <= 0.97
    assert 0.93 <= student <= 0.97


def test_holm_keeps_the_family_wise_rate():
    rng = np.random.default_rng(5)
    sets, wrong = 700, 0
    rate = rng.uniform(0.2, 0.6, (sets, ITEMS, 1, 1, 1))
    refusal = (rng.random((sets, ITEMS, 2, 3, 7)) < rate).astype(float)
    # harmful compliance happens only where there is no refusal
    harmful = (1 - refusal) * (rng.random(refusal.shape) < 0.5)
    for refused, harmed in zip(refusal, harmful, strict=True):
        family = [
            frame_differences(refused, "E", "N"),
            frame_differences(refused, "E", "D"),
            frame_differences(harmed, "E", "D"),
        ]
        wrong += holm([sign_flip(member).p_value for member in family]).min() <= 0.05
    # .05 plus two standard errors of 700 sets
    assert 0.015 <= wrong / sets <= 0.067


def test_two_paraphrases_and_seven_draws_make_fourteenths():
    outcomes = np.random.default_rng(6).integers(0, 2, (5, 2, 3, 7)).astype(float)
    found = frame_differences(outcomes, "E", "N")
    whole = outcomes.sum(axis=(1, 3))
    np.testing.assert_allclose(14 * found.values, whole[:, 0] - whole[:, 2])
