import numpy as np
import pytest
from scipy.special import expit

from parallax.errors import DataError
from parallax.framing.audit.rule import (
    PENALTY,
    RULES,
    Rule,
    cross_judge,
    fit_rule,
    judge,
)
from parallax.framing.audit.signals import SIGNALS, Finding
from parallax.framing.items import EquivalencePair


def find(**values):
    return {name: Finding(value, f"because of {name}") for name, value in values.items()}


def label(n, differs, topic="t"):
    kind = "negation" if differs else "equivalent"
    return EquivalencePair(f"p{n}", topic, kind, not differs, f"a{n}", f"b{n}", "fit")


@pytest.fixture
def sample():
    """60 pairs in two topics with one good signal, one weak one, and one that points down."""
    rng = np.random.default_rng(7)
    differs = rng.random(60) < 0.5
    pairs = [label(n, bool(d), "tu"[n % 2]) for n, d in enumerate(differs)]
    values = np.stack(
        [differs + rng.normal(size=60), 0.4 * differs + rng.normal(size=60), rng.random(60)], axis=1
    )
    values[:, 2] -= differs
    found = [find(good=v[0], weak=v[1], down=v[2]) for v in values.tolist()]
    return pairs, found, values, differs


def test_probability_by_hand():
    rule = Rule({"x": 2.0, "y": 1.0}, {"x": 0.0, "y": 0.0}, -1.0)
    # -1 + 2 * 0.5 + 1 * 0.25 = 0.25
    assert rule.probability(find(x=0.5, y=0.25)) == pytest.approx(expit(0.25), abs=1e-6)


def test_a_doubt_names_the_signal_that_adds_most_to_what_is_usual():
    # x adds 2 * (0.9 - 0.8) = 0.2, y 1 * (0.5 - 0.1) = 0.4.
    rule = Rule({"x": 2.0, "y": 1.0}, {"x": 0.8, "y": 0.1}, -1.0)
    found = find(x=0.9, y=0.5, distance=0.25)
    verdict = judge(rule, found)
    assert (verdict.equivalent, verdict.reason, verdict.source) == (
        False,
        "because of y",
        "proxy",
    )
    passed = judge(Rule({"x": 2.0}, {"x": 0.0}, -4.0), found)
    assert (passed.equivalent, passed.reason) == (True, "no signal of a difference (cosine 0.75)")


def test_the_fit_is_the_penalised_logistic_regression_of_scikit_learn(sample):
    linear_model = pytest.importorskip("sklearn.linear_model", reason="needs scikit-learn")
    pairs, found, values, differs = sample
    scaled = values[:, :2] / values[:, :2].std(axis=0)
    # sum of losses + |w|^2 / (2 C) is n times ours for C = 1 / (n PENALTY).
    reference = linear_model.LogisticRegression(C=1 / (60 * PENALTY), tol=1e-10, max_iter=1000)
    reference.fit(scaled, differs)
    expected = reference.coef_[0] / values[:, :2].std(axis=0)
    rule = fit_rule(("good", "weak"), pairs, found)
    assert list(rule.weights.values()) == pytest.approx(expected.tolist(), abs=1e-3)
    assert rule.bias == pytest.approx(reference.intercept_[0], abs=1e-3)
    assert min(expected) > 0


def test_no_signal_lessens_doubt(sample):
    pairs, found, _, _ = sample
    rule = fit_rule(("good", "down"), pairs, found)
    assert rule.weights["down"] == 0 and rule.weights["good"] > 0
    # The mean of the equivalent pairs alone.
    kept = [f["good"].value for p, f in zip(pairs, found, strict=True) if p.equivalent]
    assert rule.usual["good"] == pytest.approx(np.mean(kept), abs=1e-6)


def test_a_constant_signal_gets_no_weight(sample):
    pairs, found, _, _ = sample
    rows = [{**row, "same": Finding(0.0, "")} for row in found]
    assert fit_rule(("good", "same"), pairs, rows).weights["same"] == 0


def test_fitting_twice_and_in_another_order_gives_the_same_rule(sample):
    pairs, found, _, _ = sample
    rule = fit_rule(("good", "weak"), pairs, found)
    assert fit_rule(("good", "weak"), pairs, found) == rule
    turned = fit_rule(("good", "weak"), pairs[::-1], found[::-1])
    assert turned.bias == pytest.approx(rule.bias, abs=1e-4)


def test_a_topic_is_judged_by_a_rule_that_has_not_seen_it():
    # In topic u the signal points the other way: a rule fitted on u alone is wrong on t.
    pairs = [label(n, n % 2 == 0, "t" if n < 20 else "u") for n in range(40)]
    found = [find(x=float((n % 2 == 0) == (n < 20)), distance=0.0) for n in range(40)]
    doubted = cross_judge(("x",), pairs, found)
    # Fitted on u the weight is held at 0 and every pair of t is judged alike.
    assert len(set(doubted[:20])) == 1
    # Fitted on t the weight is large, and every pair of u is judged wrong.
    assert doubted[20:] == [found[n]["x"].value > 0.5 for n in range(20, 40)]


def test_pairs_that_no_rule_can_be_fitted_on_are_refused(sample):
    pairs, found, _, _ = sample
    same = [label(n, True) for n in range(3)]
    with pytest.raises(DataError, match="want equivalent and non-equivalent ones"):
        fit_rule(("good",), same, found[:3])
    with pytest.raises(DataError, match="one topic; want two or more"):
        cross_judge(("good",), pairs[::2], found[::2])


def test_rules_name_signals_that_there_are():
    assert {name for names in RULES.values() for name in names} == set(SIGNALS)
