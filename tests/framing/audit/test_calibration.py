import dataclasses
import math

import pytest
from scipy.stats import binomtest

from parallax.errors import DataError, ParamsError
from parallax.framing.audit import (
    AUDIT_COLUMNS,
    calibrate,
    calibration_values,
    require_passed,
    tabulate_audit,
)
from parallax.framing.audit.calibration import compare, rate
from parallax.framing.items import EquivalencePair
from parallax.framing.prompt_table import ItemPair


def test_rates_have_the_exact_interval():
    found = rate(21, 24)
    assert found.value == 21 / 24
    exact = binomtest(21, 24).proportion_ci(method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-6)
    # 24 of 24: the lower end is .025^(1/24).
    assert rate(24, 24).low == pytest.approx(0.025 ** (1 / 24), abs=1e-6)
    assert math.isnan(rate(0, 0).value)


def test_comparison_by_hand():
    rows = [
        ("equivalent", "red door", "red door!", False),
        ("equivalent", "red door", "blue gate", True),
        ("negation", "red door", "no red door", True),
        ("changed_target", "red door", "red gate", False),
        ("changed_difficulty", "red door", "grey wall", True),
    ]
    pairs = [
        EquivalencePair(f"p{n}", "t", kind, kind == "equivalent", a, b, "test")
        for n, (kind, a, b, _) in enumerate(rows)
    ]
    found = compare(pairs, [doubt for *_, doubt in rows])
    assert (found.sensitivity.right, found.sensitivity.pairs) == (2, 3)
    assert (found.specificity.right, found.specificity.pairs) == (1, 2)
    counts = {kind: (one.right, one.pairs) for kind, one in found.by_kind.items()}
    assert counts == {"negation": (1, 1), "changed_target": (0, 1), "changed_difficulty": (1, 1)}
    # Half of the words of "red door" and "red gate" changed: reworded.
    by_wording = {name: one.pairs for name, one in found.sensitivity_by_wording.items()}
    assert by_wording == {"light": 1, "reworded": 2}
    assert {n: one.right for n, one in found.specificity_by_wording.items()} == {
        "light": 1,
        "reworded": 0,
    }


def test_the_shipped_pairs_pass_the_gate_and_the_cosine_alone_sees_no_negation(calibration):
    assert calibration.passed
    require_passed(calibration)
    reached, cosine = calibration.test["both"], calibration.test["cosine"]
    assert reached.sensitivity.right >= 22 and reached.specificity.right >= 20
    assert reached.sensitivity.pairs == reached.specificity.pairs == 24
    assert reached.by_kind["negation"].right == 8
    assert cosine.by_kind["negation"].right == 0
    assert cosine.sensitivity.value < 0.6
    # Without a pair's topic in the fit.
    assert calibration.fit["both"].sensitivity.value > 0.8
    assert calibration.fit["both"].specificity.value > 0.8


def test_every_signal_of_the_judging_rule_weighs_something(calibration):
    assert all(weight > 0 for weight in calibration.rule.weights.values())


def test_a_gate_that_is_missed_says_what_was_reached(calibration):
    strict = dataclasses.replace(calibration, least_specificity=0.99)
    with pytest.raises(
        ParamsError,
        match=r"^audit\.least_specificity 0\.99: .* 0\.\d+ \(2\d of 24 equivalent pairs passed\)",
    ):
        require_passed(strict)
    with pytest.raises(ParamsError, match=r"^audit\.least_sensitivity 1\.1: "):
        require_passed(dataclasses.replace(calibration, least_sensitivity=1.1))


def test_gate_and_values_follow_the_thresholds(labelled, encoder, calibration):
    strict = calibrate(labelled, encoder, 0.9, 1.0)
    assert not strict.passed and calibration.passed
    values = calibration_values(strict)
    assert values["gate"] == {
        "rule": "both",
        "least_sensitivity": 0.9,
        "least_specificity": 1.0,
        "passed": False,
    }
    assert set(values["rules"]) == {"cosine", "second", "both"}
    assert values["rules"]["cosine"]["threshold"] == 0.5
    assert values["test"]["both"]["sensitivity"]["pairs"] == 24


def test_test_pairs_do_not_change_the_rule(labelled, encoder, calibration):
    turned = [
        pair
        if pair.split == "fit"
        else dataclasses.replace(pair, a=pair.b, b=pair.a, id=f"{pair.id}-turned")
        for pair in labelled
        if pair.split == "fit" or pair.topic != "drugs"
    ]
    assert calibrate(turned, encoder, 0.9, 0.8).rules == calibration.rules


@pytest.mark.parametrize("split", ["fit", "test"])
def test_a_kind_without_pairs_is_named(labelled, encoder, split):
    kept = [p for p in labelled if p.split != split or p.kind != "negation"]
    with pytest.raises(DataError, match=f"no negation pair in the part '{split}'"):
        calibrate(kept, encoder, 0.9, 0.8)


def test_verdicts_on_items_say_why_and_whose_they_are(calibration, encoder):
    pairs = [
        ItemPair("i1", "t", "harmful", "Sell the car.", "Do not sell the car."),
        ItemPair("i2", "t", "benign", "Sell the old car.", "Sell the aged automobile."),
    ]
    table = tabulate_audit(pairs, calibration.rule, encoder)
    assert tuple(table) == AUDIT_COLUMNS
    assert table["equivalent"].tolist() == [False, True]
    assert table["equivalent"].dtype == bool
    assert table["reason"][0].startswith("one version denies what the other asserts ('sell'")
    assert table["reason"][1].startswith("no signal of a difference (cosine 0.")
    assert set(table["source"]) == {"proxy"}
    assert table["polarity"].tolist() == [1.0, 0.0]
