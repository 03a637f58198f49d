"""From signals to a verdict: a logistic rule whose every weight can only add doubt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from parallax.errors import DataError
from parallax.framing.audit.signals import Finding
from parallax.framing.items import EquivalencePair
from parallax.stats.items import Floats

RULES = {
    "cosine": ("distance",),
    "second": ("difference", "polarity", "difficulty", "depth"),
    "both": ("distance", "difference", "polarity", "difficulty", "depth"),
}
"""Signals of each rule; items are judged by the last, the others show what its parts can do."""
JUDGING = "both"

THRESHOLD = 0.5
"""Probability of a difference above which a pair is doubted; half the fit pairs do differ."""
PENALTY = 0.01
"""Weight of the squared norm, in units of a signal's standard deviation."""
DIGITS = 6
"""Decimals that are kept of fitted and measured values."""


@dataclass(frozen=True)
class Rule:
    """log-odds of a difference = bias + sum_s weight_s * value_s, all weights at least 0.

    `usual` is a signal's mean among equivalent pairs, against which a reason weighs it.
    """

    weights: Mapping[str, float]
    usual: Mapping[str, float]
    bias: float
    threshold: float = THRESHOLD

    def probability(self, findings: Mapping[str, Finding]) -> float:
        """Return the probability that the two versions differ in what they ask for."""
        odds = sum(weight * findings[name].value for name, weight in self.weights.items())
        return round(float(special.expit(self.bias + odds)), DIGITS)

    def main_doubt(self, findings: Mapping[str, Finding]) -> Finding:
        """Return the signal that adds most to the log-odds of an equivalent pair."""
        name = max(
            self.weights,
            key=lambda name: self.weights[name] * (findings[name].value - self.usual[name]),
        )
        return findings[name]


@dataclass(frozen=True)
class Verdict:
    """What the proxy says of a pair; `probability` is that of a difference."""

    probability: float
    equivalent: bool
    reason: str
    source: str = "proxy"


def judge(rule: Rule, findings: Mapping[str, Finding]) -> Verdict:
    """Judge a pair by its signals."""
    probability = rule.probability(findings)
    if probability > rule.threshold:
        return Verdict(probability, False, rule.main_doubt(findings).reason)
    near = 1 - findings["distance"].value
    return Verdict(probability, True, f"no signal of a difference (cosine {near:.2f})")


def fit_rule(
    signals: Sequence[str],
    pairs: Sequence[EquivalencePair],
    findings: Sequence[Mapping[str, Finding]],
) -> Rule:
    """Fit a rule of the named signals on labelled pairs, half of them equivalent or not.

    Minimises mean_n log(1 + exp(-y_n z_n)) + PENALTY / 2 |w|^2 over w >= 0 and a free bias, with
    y = 1 for a difference and -1 else, and values divided by their standard deviation. Convex, so
    that the start does not matter.

    Raises:
        DataError: the pairs are all equivalent, or all not.
    """
    labels = np.array([-1.0 if pair.equivalent else 1.0 for pair in pairs])
    if len(set(labels.tolist())) < 2:
        raise DataError("labelled pairs: want equivalent and non-equivalent ones to fit a rule on")
    values = np.array([[found[name].value for name in signals] for found in findings])  # (N, S)
    spread = values.std(axis=0)
    spread[spread == 0] = 1.0
    inputs = values / spread

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights, margins = flat[:-1], labels * (inputs @ flat[:-1] + flat[-1])
        errors = -labels * special.expit(-margins) / len(labels)
        gradient = np.append(inputs.T @ errors + PENALTY * weights, errors.sum())
        return float(np.logaddexp(0, -margins).mean() + PENALTY / 2 * weights @ weights), gradient

    bounds = [(0.0, None)] * len(signals) + [(None, None)]
    found = optimize.minimize(
        loss, np.zeros(len(signals) + 1), jac=True, method="L-BFGS-B", bounds=bounds
    )
    usual = values[labels < 0].mean(axis=0)
    return Rule(
        {n: _round(w) for n, w in zip(signals, found.x[:-1] / spread, strict=True)},
        {n: _round(mean) for n, mean in zip(signals, usual, strict=True)},
        _round(found.x[-1]),
    )


def _round(value: float) -> float:
    return round(float(value), DIGITS)


def cross_judge(
    signals: Sequence[str],
    pairs: Sequence[EquivalencePair],
    findings: Sequence[Mapping[str, Finding]],
) -> list[bool]:
    """Say which pairs are doubted by a rule that was fitted without their topic.

    Raises:
        DataError: the pairs are of one topic.
    """
    topics = [pair.topic for pair in pairs]
    if len(set(topics)) < 2:
        raise DataError("labelled pairs: one topic; want two or more to fit a rule across")
    rules = {}
    for topic in dict.fromkeys(topics):
        kept = [n for n, other in enumerate(topics) if other != topic]
        rules[topic] = fit_rule(signals, [pairs[n] for n in kept], [findings[n] for n in kept])
    return [
        not judge(rules[topic], found).equivalent
        for topic, found in zip(topics, findings, strict=True)
    ]
