import math

import numpy as np
import pytest
from scipy import stats

from parallax.errors import DataError
from parallax.stats.contrasts import frame_differences
from parallax.stats.spread import pilot_spread, seen_spread, spread_at


def differences(rng, items, versions=2, draws=7, v_a=0.01, v_b=0.02, v_c=0.1):
    """delta = a + b + c, normal."""
    return (
        rng.normal(0, math.sqrt(v_a), (items, 1, 1))
        + rng.normal(0, math.sqrt(v_b), (items, versions, 1))
        + rng.normal(0, math.sqrt(v_c), (items, versions, draws))
    )


def test_components_by_hand():
    # Version means: item 0 (1, 0), item 1 (-1, -1), item 2 (0, 0); d = .5, -1, 0.
    first = np.array([[[1, 1], [1, 0]], [[0, 0], [0, 0]], [[0, 1], [1, 1]]], dtype=float)
    second = np.array([[[0, 0], [1, 0]], [[1, 1], [1, 1]], [[0, 1], [1, 1]]], dtype=float)
    pilot = pilot_spread(first, second)
    assert pilot.means.tolist() == [0.5, -1, 0]
    # Var d = ((2/3)^2 + (5/6)^2 + (1/6)^2) / 2 = 7/12. Between versions (.5, 0, 0), mean 1/6; all
    # draws of a version are alike, 0. Hence v_c = 0, v_b = 1/6, v_a = 7/12 - 1/12 = 1/2.
    assert pilot.components == pytest.approx((1 / 2, 1 / 6, 0))
    assert spread_at(pilot, 2, 2).sd == pytest.approx(math.sqrt(7 / 12))
    assert spread_at(pilot, 1, 5).sd == pytest.approx(math.sqrt(2 / 3))
    assert spread_at(pilot, 4, 1).sd == pytest.approx(math.sqrt(1 / 2 + 1 / 24))


def test_mean_squares_that_rise_are_pooled():
    # One version mean 1/2, the other -1/2, in all items: d = 0. Draws (1, 0) and (0, -1).
    table = np.array([[[1.0, 0.0], [0.0, -1.0]]] * 3)
    pilot = pilot_spread(table, np.zeros_like(table))
    # Mean squares: of items 0 on 2 degrees of freedom, of versions 2 * 1/2 = 1 on 3, of draws
    # 3 / 6 = 1/2 on 6.
    # Items lie below versions: pooled (0 * 2 + 1 * 3) / 5 = .6, above the draws' .5, which stays.
    # v_c = .5, v_b = (.6 - .5) / 2 = .05, v_a = 0.
    assert pilot.components == pytest.approx((0, 0.05, 0.5))
    assert spread_at(pilot, 2, 2).sd == pytest.approx(math.sqrt(0.05 / 2 + 0.5 / 4))


def test_where_nothing_is_pooled_the_pilots_own_design_has_the_deviation_that_was_seen():
    rng = np.random.default_rng(4)
    rates = rng.beta(1, 1, 20)[:, None, None, None] * np.array([1.0, 0.4])[:, None]
    outcomes = (rng.random((20, 2, 2, 7)) < rates).astype(float)
    pilot = pilot_spread(outcomes[:, :, 0], outcomes[:, :, 1])
    assert min(pilot.components) > 0
    sd = frame_differences(outcomes, "E", "N", ("E", "N")).values.std(ddof=1)
    assert spread_at(pilot, 2, 7).sd == pytest.approx(sd)
    assert seen_spread(pilot).sd == pytest.approx(sd)


def test_limits_of_what_was_seen_are_the_chi_squares():
    rng = np.random.default_rng(2)
    seen = seen_spread(pilot_spread(differences(rng, 20), np.zeros((20, 2, 7))))
    # A pilot of 20: 19 / 32.85 and 19 / 8.907, roots .7605 and 1.4606.
    assert (seen.low / seen.sd, seen.high / seen.sd) == pytest.approx((0.7605, 1.4606), abs=1e-4)
    assert stats.chi2.ppf([0.975, 0.025], 19) == pytest.approx([32.852, 8.907], abs=1e-3)


def test_unscored_draws_count_where_both_frames_are_scored():
    nan = math.nan
    first = np.array(
        [[[1, nan, 0], [1, 1, 0]], [[0, 0, 1], [1, 0, 0]], [[nan] * 3, [1, 0, 0]], [[1] * 3] * 2]
    )
    second = np.array(
        [[[0, 1, nan], [1, 1, 0]], [[0, 1, 1], [0, 0, 0]], [[0] * 3, [1, 0, 0]], [[1] * 3] * 2]
    )
    pilot = pilot_spread(first, second)
    # Item 0: version 0 has the draw 1 - 0 alone; item 2 has a version without any.
    assert (pilot.items, pilot.excluded) == (3, 1)
    assert pilot.means == pytest.approx([0.5, 0, 0])
    assert pilot.freedom.tolist() == [2, 4, 4]
    assert pilot.reciprocal == pytest.approx((1 + 5 / 3) / 6)


@pytest.mark.parametrize(("versions", "draws"), [(2, 7), (2, 1), (4, 3), (4, 14)])
def test_other_designs_are_foretold(versions, draws):
    rng = np.random.default_rng(versions * 100 + draws)
    # Components well above 0, so that pooling, which errs upwards, is rare.
    found = [
        spread_at(pilot_spread(differences(rng, 60), np.zeros((60, 2, 7))), versions, draws).sd ** 2
        for _ in range(120)
    ]
    truth = 0.01 + 0.02 / versions + 0.1 / (versions * draws)
    direct = differences(rng, 20_000, versions, draws).mean(axis=(1, 2)).var()
    assert direct == pytest.approx(truth, rel=0.05)
    assert np.mean(found) == pytest.approx(truth, rel=0.06)


def test_frames_whose_draws_share_their_randomness_are_foretold_too():
    def outcomes(rng, items, draws):
        """Draws of both frames are decided by one number: rho is near 1."""
        rates = np.stack([np.full(items, 0.3), np.full(items, 0.4)])
        luck = rng.random((items, 2, draws))
        return [(luck < rate[:, None, None]).astype(float) for rate in rates]

    rng = np.random.default_rng(5)
    truth = np.subtract(*outcomes(rng, 20_000, 2)).mean(axis=(1, 2)).var()
    found = [spread_at(pilot_spread(*outcomes(rng, 40, 7)), 2, 2).sd ** 2 for _ in range(150)]
    # P(.3 < u < .4) = .1: the variance of a draw's difference is .09, not .21 + .24.
    assert truth == pytest.approx(0.09 / 4, rel=0.05)
    assert np.mean(found) == pytest.approx(truth, rel=0.05)


def rare(rng, items, draws=7):
    """Refusals: seven of ten items hardly ever, the others sometimes and under one frame more."""
    base = np.where(rng.random(items) < 0.7, 0.01, rng.beta(1, 5, items))
    moved = np.clip(base * (1 + rng.normal(0, 0.5, items)), 0, 1)
    shape = (items, 2, draws)
    return [(rng.random(shape) < rate[:, None, None]).astype(float) for rate in (base, moved)]


def test_limits_hold_the_truth_also_where_few_items_move():
    rng = np.random.default_rng(6)
    truth = np.subtract(*rare(rng, 50_000)).mean(axis=(1, 2)).std()
    held = seen = 0
    for _ in range(300):
        pilot = pilot_spread(*rare(rng, 20))
        found, plain = spread_at(pilot, 2, 7), seen_spread(pilot)
        held += found.low <= truth <= found.high
        seen += plain.low <= truth <= plain.high
    # .87 and .57 in longer simulations; the standard error is .02 and .03.
    assert held > 0.8 * 300
    assert seen < 0.7 * 300


def test_limits_hold_the_truth_for_normal_differences():
    rng = np.random.default_rng(7)
    truth = math.sqrt(0.01 + 0.02 / 2 + 0.1 / 14)
    held = 0
    for _ in range(300):
        found = spread_at(pilot_spread(differences(rng, 20), np.zeros((20, 2, 7))), 2, 7)
        held += found.low <= truth <= found.high
        assert found.freedom <= 19
    assert held >= 0.92 * 300


def test_a_pilot_in_which_nothing_moves_has_no_limits():
    pilot = pilot_spread(np.ones((4, 2, 3)), np.ones((4, 2, 3)))
    found = spread_at(pilot, 2, 3)
    assert found.sd == 0
    assert math.isnan(found.low) and math.isnan(found.high)


@pytest.mark.parametrize("shape", [(2, 2, 7), (20, 1, 7), (20, 2, 1)])
def test_too_small_a_pilot_is_refused(shape):
    with pytest.raises(DataError, match="3 items, 2 versions and 2 draws are needed"):
        pilot_spread(np.ones(shape), np.zeros(shape))


def test_impossible_designs_are_refused():
    pilot = pilot_spread(*rare(np.random.default_rng(0), 20))
    for versions, draws in ((0, 1), (1, 0)):
        with pytest.raises(DataError, match="at least 1 of each"):
            spread_at(pilot, versions, draws)
