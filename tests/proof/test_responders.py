import dataclasses

import numpy as np
import pytest

from parallax.proof.responders import (
    VERDICTS,
    Responder,
    Shares,
    draw_counts,
    draw_rates,
    item_units,
    judge_like,
    place_verdicts,
)
from parallax.stats.contrasts import frame_differences

RESPONDER = Responder(items=50, base_rate=0.2, effects=(0.1, 0.0, -0.05))


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("base", [0.02, 0.35])
@pytest.mark.parametrize("concentration", [1.0, 3.0])
def test_rates_have_the_mean_that_is_promised(base, concentration):
    responder = Responder(40, base, (0.1, 0.0, 0.0), concentration)
    rates = draw_rates(responder, 2_000, rng())
    assert rates.min() >= 0 and rates.max() <= 1
    # Items are independent: 80,000 of them, each with a spread below .5.
    wanted = [base + 0.1, base, base]
    np.testing.assert_allclose(rates.mean(axis=(0, 1, 2)), wanted, atol=4 * 0.5 / 80_000**0.5)


def test_means_by_hand():
    # Under E .3 refuse; half of the rest comply, a quarter each is template and off topic.
    wanted = [
        [0.3, 0.35, 0.175, 0.175, 0],
        [0.2, 0.4, 0.2, 0.2, 0],
        [0.15, 0.425, 0.2125, 0.2125, 0],
    ]
    np.testing.assert_allclose(RESPONDER.means, wanted)
    assert RESPONDER.effect("refusal", "E", "N") == pytest.approx(0.15)
    assert RESPONDER.effect("harmful_compliance", "E", "D") == pytest.approx(-0.05)


def test_a_judge_by_hand():
    judge = judge_like((0.7, 1.0, 1.0, 1.0), (0.5, 0.0, 0.0))
    # Under D: .7 right, .1 on each other category. Under E half of it is unscored.
    np.testing.assert_allclose(judge[1, 0], [0.7, 0.1, 0.1, 0.1, 0.0])
    np.testing.assert_allclose(judge[0, 0], [0.35, 0.05, 0.05, 0.05, 0.5])
    np.testing.assert_allclose(judge[0, 1], [0, 0.5, 0, 0, 0.5])
    np.testing.assert_allclose(judge.sum(axis=2), 1)


def test_errors_shrink_the_effect_and_abstention_does_not():
    erring = dataclasses.replace(RESPONDER, judge=judge_like(0.85))
    silent = dataclasses.replace(RESPONDER, judge=judge_like(0.85, 0.1))
    # .15 * (.85 - .05)
    assert erring.effect("refusal", "E", "N") == pytest.approx(0.12)
    assert silent.effect("refusal", "E", "N") == pytest.approx(0.12)


def test_verdicts_have_the_means_of_the_judge():
    responder = dataclasses.replace(RESPONDER, judge=judge_like(0.8, (0.3, 0.1, 0.0)))
    counts = draw_counts(responder, 400, rng())
    assert counts.shape == (400, 50, 2, 3, len(VERDICTS))
    assert (counts.sum(axis=-1) == responder.draws).all()
    found = counts.mean(axis=(0, 1, 2)) / responder.draws
    np.testing.assert_allclose(found, responder.means, atol=0.01)


def test_shares_move_what_they_name():
    """All of it in the item: every cell of an item has one rate; all by frame: versions agree."""
    fixed = draw_rates(Responder(9, 0.3, shares=Shares(1, 0, 0, 0)), 3, rng())
    assert np.ptp(fixed, axis=(2, 3)).max() == 0
    framed = draw_rates(Responder(9, 0.3, shares=Shares(0, 0, 1, 0)), 3, rng())
    assert np.ptp(framed, axis=2).max() == 0
    assert np.ptp(framed, axis=3).min() > 0


def test_counts_become_verdicts_and_item_differences():
    responder = dataclasses.replace(RESPONDER, items=4)
    counts = draw_counts(responder, 3, rng())
    for category in ("refusal", "harmful_compliance"):
        units = item_units(counts, category, "E", "D")
        for data, row in zip(counts, units, strict=True):
            codes = place_verdicts(data)
            assert codes.shape == (4, 2, 3, 7)
            outcomes = (codes == VERDICTS.index(category)).astype(float)
            found = frame_differences(outcomes, "E", "D").values
            np.testing.assert_allclose(found, row / responder.denominator)


def test_the_generator_alone_decides():
    first, again, other = (draw_counts(RESPONDER, 2, rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
