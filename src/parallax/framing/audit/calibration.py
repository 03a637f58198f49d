"""How often the audit finds a planted difference, and how often it doubts an equivalent pair."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parallax.errors import DataError, ParamsError
from parallax.framing.audit.rule import (
    DIGITS,
    JUDGING,
    RULES,
    Rule,
    cross_judge,
    fit_rule,
    judge,
)
from parallax.framing.audit.signals import Encoder, changed_share, measure
from parallax.framing.items import PAIR_KINDS, SPLITS, EquivalencePair
from parallax.stats.proportions import binomial_interval

REWORDED = 0.5
"""Share of changed content words from which a pair counts as reworded, not as lightly changed."""


@dataclass(frozen=True)
class Rate:
    """A share of pairs with its 95 % interval (Clopper & Pearson 1934); NaN without pairs."""

    right: int
    pairs: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Accuracy:
    """What a rule does on labelled pairs.

    `sensitivity` is the share of non-equivalent pairs that are doubted, overall, by kind, and by
    wording (lightly changed or reworded); `specificity` that of equivalent pairs let pass.
    """

    sensitivity: Rate
    specificity: Rate
    by_kind: dict[str, Rate]
    sensitivity_by_wording: dict[str, Rate]
    specificity_by_wording: dict[str, Rate]


@dataclass(frozen=True)
class Calibration:
    """The rules, fitted on the fit pairs, and what each does.

    `fit` is by rules that were fitted without the pair's topic; `test` is by the rules as they are.
    `passed` is the gate on the judging rule's test figures.
    """

    rules: dict[str, Rule]
    fit: dict[str, Accuracy]
    test: dict[str, Accuracy]
    least_sensitivity: float
    least_specificity: float
    passed: bool

    @property
    def rule(self) -> Rule:
        """The rule that items are judged by."""
        return self.rules[JUDGING]

    @property
    def reached(self) -> Accuracy:
        """What that rule does on the test pairs."""
        return self.test[JUDGING]


def rate(right: int, pairs: int) -> Rate:
    """Return right / pairs with its exact interval."""
    if pairs == 0:
        nan = float("nan")
        return Rate(0, 0, nan, nan, nan)
    found = binomial_interval(right, pairs)
    return Rate(right, pairs, found.value, round(found.low, DIGITS), round(found.high, DIGITS))


def calibrate(
    pairs: Sequence[EquivalencePair],
    encoder: Encoder,
    least_sensitivity: float,
    least_specificity: float,
) -> Calibration:
    """Fit the rules on the fit pairs and compare them with the labels of both parts.

    Raises:
        DataError: a part lacks equivalent pairs or a kind of planted difference.
    """
    parts = {split: [pair for pair in pairs if pair.split == split] for split in SPLITS}
    for split, chosen in parts.items():
        if missing := [kind for kind in PAIR_KINDS if kind not in {p.kind for p in chosen}]:
            raise DataError(f"labelled pairs: no {missing[0]} pair in the part {split!r}; add some")
    found = {
        split: measure([(pair.a, pair.b) for pair in chosen], encoder)
        for split, chosen in parts.items()
    }
    rules = {name: fit_rule(signals, parts["fit"], found["fit"]) for name, signals in RULES.items()}
    fit = {
        name: compare(parts["fit"], cross_judge(signals, parts["fit"], found["fit"]))
        for name, signals in RULES.items()
    }
    test = {
        name: compare(parts["test"], [not judge(rule, one).equivalent for one in found["test"]])
        for name, rule in rules.items()
    }
    reached = test[JUDGING]
    return Calibration(
        rules,
        fit,
        test,
        least_sensitivity,
        least_specificity,
        reached.sensitivity.value >= least_sensitivity
        and reached.specificity.value >= least_specificity,
    )


def compare(pairs: Sequence[EquivalencePair], doubted: Sequence[bool]) -> Accuracy:
    """Compare a rule's doubts with the labels."""
    rows = [
        (pair, doubt, "reworded" if changed_share(pair.a, pair.b) >= REWORDED else "light")
        for pair, doubt in zip(pairs, doubted, strict=True)
    ]
    planted = [(pair.kind, wording, doubt) for pair, doubt, wording in rows if not pair.equivalent]
    equal = [(wording, not doubt) for pair, doubt, wording in rows if pair.equivalent]
    return Accuracy(
        sensitivity=_share([doubt for *_, doubt in planted]),
        specificity=_share([passed for _, passed in equal]),
        by_kind={
            kind: _share([doubt for other, _, doubt in planted if other == kind])
            for kind in PAIR_KINDS[1:]
        },
        sensitivity_by_wording={
            wording: _share([doubt for _, other, doubt in planted if other == wording])
            for wording in ("light", "reworded")
        },
        specificity_by_wording={
            wording: _share([passed for other, passed in equal if other == wording])
            for wording in ("light", "reworded")
        },
    )


def _share(right: Sequence[bool]) -> Rate:
    return rate(sum(right), len(right))


def require_passed(calibration: Calibration) -> None:
    """Refuse a proxy that misses its gate on the test pairs.

    Raises:
        ParamsError: it does; the message says what it reached.
    """
    reached = calibration.reached
    for name, what, found, least in (
        ("sensitivity", "planted differences found", reached.sensitivity, "least_sensitivity"),
        ("specificity", "equivalent pairs passed", reached.specificity, "least_specificity"),
    ):
        wanted = getattr(calibration, least)
        if found.value < wanted:
            raise ParamsError(
                f"audit.{least} {wanted:g}: the proxy's {name} on the labelled test pairs is"
                f" {found.value:.3f} ({found.right} of {found.pairs} {what}); let people judge the"
                " items, or set a gate that the proxy reaches"
            )


def calibration_values(calibration: Calibration) -> dict[str, object]:
    """Return the calibration as JSON values."""
    return {
        "rules": {name: dataclasses.asdict(rule) for name, rule in calibration.rules.items()},
        "fit": _accuracy_values(calibration.fit),
        "test": _accuracy_values(calibration.test),
        "gate": {
            "rule": JUDGING,
            "least_sensitivity": calibration.least_sensitivity,
            "least_specificity": calibration.least_specificity,
            "passed": calibration.passed,
        },
    }


def _accuracy_values(accuracies: Mapping[str, Accuracy]) -> dict[str, object]:
    return {name: dataclasses.asdict(accuracy) for name, accuracy in accuracies.items()}
