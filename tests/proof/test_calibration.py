"""The simulations say what the analysis says, and what they find is what the statistics promise."""

import dataclasses
import types

import numpy as np
import pytest

from parallax.framing.analysis.claims import make_claim
from parallax.framing.analysis.effects import estimate_effects, list_contrasts
from parallax.params import Analysis
from parallax.proof import calibration
from parallax.proof.calibration import Rules, calibrate, is_true
from parallax.proof.responders import VERDICTS, Responder, draw_counts, judge_like, place_verdicts
from parallax.stats.labels import PRIMARY_FAMILY

RULES = Rules(alpha=0.05, smallest_effect=0.1)
SETTINGS = Analysis(alpha=0.05, smallest_effect=0.1, direction="none", seed=0)
DESIGN = types.SimpleNamespace(arms=("E", "D", "N"), wordings=("w1",))
NULL = Responder(items=20, base_rate=0.3)


def run(responder, sets=3_000, seed=0):
    return calibrate(responder, sets, RULES, np.random.default_rng(seed))


def analyse_batch(responder, counts):
    truths = [responder.effect(m.category, m.first, m.second) for m in PRIMARY_FAMILY]
    return truths, calibration._analyse(counts, responder, truths, RULES)


@pytest.mark.parametrize("judge", [judge_like(1.0), judge_like(0.8, 0.15)])
def test_each_data_set_is_judged_as_the_analysis_judges_it(judge):
    responder = Responder(12, 0.3, (0.25, 0.0, 0.0), judge=judge)
    counts = draw_counts(responder, 6, np.random.default_rng(1))
    truths, found = analyse_batch(responder, counts)
    for place, data in enumerate(counts):
        codes = place_verdicts(data)[:, :, None]  # one wording
        contrasts = [
            contrast
            for category in ("refusal", "harmful_compliance")
            for contrast in list_contrasts(
                np.where(codes == 4, np.nan, codes == VERDICTS.index(category)),
                *(category, DESIGN, "none"),
            )
            if contrast.role == "primary"
        ]
        effects = estimate_effects("s", "j", contrasts, ["f"] * 12, SETTINGS)
        assert [e.verdict for e in effects] == list(found.verdicts[place])
        assert make_claim(effects, [], "j", 12).caution == found.cautions[place]
        for member, effect in enumerate(effects):
            stacked, summary = found.contrasts[member], effect.summary
            assert stacked.p_values[place] == pytest.approx(summary.test.p_value, abs=1e-12)
            assert stacked.estimates[place] == pytest.approx(summary.estimate)
            inside = summary.interval.low <= truths[member] <= summary.interval.high
            assert found.covered[place, member] == inside


def test_data_sets_tested_together_and_one_by_one_agree():
    responder = Responder(20, 0.1, (0.1, 0.0, 0.0))
    counts = draw_counts(responder, 40, np.random.default_rng(2))
    for member in PRIMARY_FAMILY:
        truth = responder.effect(member.category, member.first, member.second)
        args = (counts, responder.denominator, member, truth, RULES)
        (stack, inside), (each, covered) = (
            calibration._test_stack(*args),
            calibration._test_each(*args),
        )
        np.testing.assert_array_equal(inside, covered)
        for field in dataclasses.fields(stack):
            one, other = (np.asarray(getattr(x, field.name), float) for x in (stack, each))
            np.testing.assert_allclose(one, other, atol=1e-12)


def test_size_coverage_and_family_wise_error_without_an_effect():
    found = run(NULL)
    for contrast in found["contrasts"].values():
        assert contrast["truth"] == 0
        assert 0.03 <= contrast["rejected"]["value"] <= 0.06
        assert 0.93 <= contrast["covered"]["value"] <= 0.97
        assert contrast["power"] is None
        assert contrast["covered"]["trials"] == 3_000
    # Three correlated contrasts, Holm.
    assert 0.01 <= found["family_wise"]["value"] <= 0.06
    assert found["wrong_claim"]["value"] == found["family_wise"]["value"]
    assert sum(found["claims"].values()) == 3_000


def test_power_follows_the_formula_and_the_interval_covers_the_effect():
    found = run(Responder(20, 0.3, (0.15, 0.0, 0.0)))
    for name in ("refusal_E-N", "refusal_E-D"):
        contrast = found["contrasts"][name]
        # The comparison means something only away from 0 and 1.
        assert 0.4 < contrast["power"] < 0.9
        assert contrast["rejected"]["value"] == pytest.approx(contrast["power"], abs=0.05)
        assert 0.93 <= contrast["covered"]["value"] <= 0.97
    assert found["family_wise"] is None
    assert found["wrong_claim"]["value"] < 0.01


def test_holm_holds_where_one_contrast_has_an_effect():
    found = run(Responder(120, 0.2, (0.0, 0.0, 0.1)), sets=1_500)
    truths = [contrast["truth"] for contrast in found["contrasts"].values()]
    assert truths == pytest.approx([-0.1, 0, 0])
    assert 0.015 <= found["family_wise"]["value"] <= 0.06
    assert max(found["claims"], key=found["claims"].get) == "neutral-cautious"


def test_rare_outcomes_are_conservative_and_their_intervals_flagged():
    null = run(Responder(20, 0.02, concentration=1.0))["contrasts"]["refusal_E-N"]
    assert null["rejected"]["value"] <= 0.03
    assert null["few"]["value"] > 0.95
    moved = run(Responder(20, 0.01, (0.03, 0.0, 0.0), concentration=1.0))
    contrast = moved["contrasts"]["refusal_E-N"]
    # The interval is too narrow, and says so: what is left unflagged covers.
    assert contrast["covered"]["value"] < 0.85
    assert contrast["few"]["value"] > 0.95
    large = run(Responder(20, 0.02, (0.1, 0.0, 0.0), concentration=1.0))
    contrast = large["contrasts"]["refusal_E-N"]
    assert contrast["covered"]["value"] < 0.93
    assert 0.2 < contrast["few"]["value"] < 0.8
    assert contrast["covered_believed"]["value"] >= 0.93


def test_few_items_are_not_called_equivalent():
    """Their t test alone says it of an effect as large as the margin far too often."""
    responder = Responder(20, 0.02, (0.1, 0.0, 0.0), concentration=1.0)
    counts = draw_counts(responder, 3_000, np.random.default_rng(3))
    _, found = analyse_batch(responder, counts)
    assert (found.contrasts[0].equivalence_p <= 0.05).mean() > 0.09
    said = [verdicts[0].equivalent for verdicts in found.verdicts]
    assert np.mean(said) <= 0.05


def test_a_judge_that_errs_alike_in_all_frames_keeps_the_size():
    found = run(dataclasses.replace(NULL, judge=judge_like(0.85, 0.1)), sets=600)
    contrast = found["contrasts"]["refusal_E-N"]
    # .03 to .06, and two standard errors of 600 sets
    assert 0.015 <= contrast["rejected"]["value"] <= 0.075


def test_a_judge_that_errs_by_frame_does_not():
    judge = np.array(judge_like(0.9))
    judge[0] = judge_like((1.0, 0.7, 0.7, 0.7))[0]
    responder = dataclasses.replace(NULL, judge=judge)
    assert responder.effect("refusal", "E", "N") > 0.04
    # It is an effect to the analysis: the judge's frame control has to catch it.
    assert run(responder, sets=400)["contrasts"]["refusal_E-N"]["rejected"]["value"] > 0.1


@pytest.mark.parametrize(
    ("truths", "true"),
    [
        ((0, 0, 0), {"none"}),
        ((0.1, 0.1, -0.05), {"none", "eval-cautious"}),
        ((-0.1, 0, 0), {"none", "neutral-cautious"}),
        ((0, -0.1, 0.05), {"none", "deployment-cautious"}),
        ((-0.1, 0, -0.1), {"none", "neutral-cautious", "eval-cautious", "mixed"}),
    ],
)
def test_words_that_are_true(truths, true):
    words = ("eval-cautious", "deployment-cautious", "neutral-cautious", "mixed", "none")
    assert {word for word in words if is_true(word, truths)} == true


def test_the_seed_alone_decides():
    first, again = (run(NULL, sets=50, seed=4) for _ in range(2))
    assert first == again
    assert first != run(NULL, sets=50, seed=5)


@pytest.mark.parametrize("base_rate", [0.02, 0.05, 0.1, 0.2, 0.35, 0.5])
def test_an_effect_as_large_as_the_margin_counts_whatever_its_rounding(base_rate):
    found = run(Responder(20, base_rate, (0.1, 0.0, 0.0)), sets=20)["contrasts"]
    assert found["refusal_E-N"]["wrong"]["equivalent"]["trials"] == 20
    assert (
        run(Responder(20, base_rate), sets=20)["contrasts"]["refusal_E-N"]["wrong"]["equivalent"]
        is None
    )
