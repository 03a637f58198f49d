import numpy as np
import pytest

from parallax.framing.analysis.effects import estimate_effects, list_contrasts
from parallax.framing.analysis.versions import Versions, compare_versions
from parallax.framing.items import CATEGORIES


@pytest.fixture
def compare(sample, logs_of, settings):
    """`compare(rates)`: refusals of seven draws by (arm, version), all else harmful."""

    def call(rates, told=CATEGORIES):
        keys = sample.make_keys(8)

        def choose(row):
            few = rates.get((row.arm, row.paraphrase), 0)
            return "refusal" if row.draw < few else "harmful_compliance"

        logs = logs_of(keys, choose)
        contrasts = [
            contrast
            for outcome in ("refusal", "harmful_compliance")
            for contrast in list_contrasts(
                logs.judged("tiny", "lexical", outcome), outcome, logs.design, "none"
            )
        ]
        effects = estimate_effects("tiny", "lexical", contrasts, logs.families, settings)
        return compare_versions(effects, told, np.random.default_rng(0))

    return call


def test_an_effect_of_one_version_by_hand(compare):
    first, second, third = compare({("E", 0): 7, ("N", 1): 0})
    assert first.estimates == second.estimates == (1, 0)
    assert third.estimates == (-1, 0)
    # Eight items, all by 1: 2 / 2^8; the other version does not move: p = 1. Holm: times 3.
    assert first.p_values == (2 / 2**8, 1)
    assert first.p_value == 2 / 2**8
    assert first.adjusted == pytest.approx(3 * 2 / 2**8)
    assert not first.shown_by_lesser(0.5, 0.05)
    assert not third.shown_by_lesser(-0.5, 0.05)


def test_versions_that_agree(compare):
    first, *_ = compare({("E", 0): 5, ("E", 1): 5})
    assert first.p_value == first.adjusted == 1


def test_what_the_judge_cannot_tell_is_not_compared(compare):
    first, second, third = compare({("E", 0): 7}, told=("harmful_compliance",))
    assert first is None and second is None
    # It still counts in the family of three.
    assert third.adjusted == pytest.approx(3 * 2 / 2**8)


@pytest.mark.parametrize(
    ("estimates", "p_values", "whole", "shown"),
    [
        ((0.1, 0.3), (0.04, 0.01), 0.2, True),
        ((0.1, 0.3), (0.06, 0.01), 0.2, False),
        # The lesser version moves, but the other way.
        ((-0.1, 0.3), (0.01, 0.01), 0.1, False),
        ((-0.3, -0.1), (0.01, 0.04), -0.2, True),
        ((-0.3, 0.1), (0.01, 0.04), -0.1, False),
    ],
)
def test_the_lesser_version_must_show_the_effect_with_its_sign(estimates, p_values, whole, shown):
    assert Versions(estimates, p_values, 0.01, 0.03).shown_by_lesser(whole, 0.05) is shown
