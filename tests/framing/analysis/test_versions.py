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
    assert first.lesser(0.5) == third.lesser(-0.5) == 1


def test_versions_that_agree(compare):
    first, *_ = compare({("E", 0): 5, ("E", 1): 5})
    assert first.p_value == first.adjusted == 1


def test_what_the_judge_cannot_tell_is_not_compared(compare):
    first, second, third = compare({("E", 0): 7}, told=("harmful_compliance",))
    assert first is None and second is None
    # It still counts in the family of three.
    assert third.adjusted == pytest.approx(3 * 2 / 2**8)


def test_the_lesser_version_is_that_with_less_of_the_effect():
    both = Versions((-0.1, 0.3), (0.5, 0.01), 0.01, 0.03)
    assert both.lesser(0.1) == 0
    assert both.lesser(-0.1) == 1
