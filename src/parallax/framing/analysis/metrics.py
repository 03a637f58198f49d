"""The analysis as JSON values: what `dvc metrics` shows and the report reads.

The file has five parts, in this order: `headline` (by subject, under the primary judge), `models`
(subjects against each other), `paraphrases` (their audit), `settings`, and `subjects` (everything,
by subject and judge).
Effects are fractions of 1, those of log-odds nats; a number that is undefined, or an interval's end
that does not exist, is null.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from parallax.framing.analysis.claims import PILOT_ITEMS, Claim
from parallax.framing.analysis.comparisons import Across
from parallax.framing.analysis.effects import LOG_ODDS, Effect, find_effect, short_name
from parallax.framing.analysis.gates import Gate
from parallax.framing.analysis.judges import JudgeAgreement
from parallax.framing.analysis.rows import brief_values, effect_values, finite
from parallax.framing.analysis.subject import AnalysedSubject, JudgedSubject
from parallax.stats.agreement import Agreement
from parallax.stats.labels import PRIMARY_FAMILY
from parallax.stats.power import items_needed

# What is given in brief; effects.parquet has these effects whole.
BRIEF_ROLES = ("exploratory", "placebo", "paraphrase", "wording")

Values = dict[str, Any]


def headline_values(
    subject: AnalysedSubject, claim: Claim, gates: Sequence[Gate], items: int
) -> Values:
    """Return what is said first of a subject."""
    values: Values = {
        "judge": subject.primary,
        "items": items,
        "pilot": items <= PILOT_ITEMS,
        "caution": claim.caution,
        "claim": claim.text,
        "withheld": list(claim.withheld),
        "doubts": [asdict(doubt) for doubt in claim.doubts],
        "permuted_passed": subject.permuted.passed,
    }
    for member, gate in zip(PRIMARY_FAMILY, gates, strict=True):
        effect = find_effect(subject.judged[subject.primary].effects, member)
        name = short_name(effect.contrast.outcome, effect.contrast.name)
        values[name] = _shown(effect, "p_holm") | {
            "few_nonzero": effect.summary.counts.few_nonzero,
            "gate_passed": gate.passed,
        }
    for effect in subject.log_odds:
        if effect.contrast.role == "exploratory":
            values[short_name(LOG_ODDS, effect.contrast.name)] = _shown(effect, "p_bh")
    return values


def _shown(effect: Effect, adjusted: str) -> Values:
    summary = effect.summary
    return {
        "estimate": summary.estimate,
        "low": finite(summary.interval.low),
        "high": finite(summary.interval.high),
        "p": summary.test.p_value,
        adjusted: effect.adjusted,
        "label": effect.label,
    }


def judged_values(
    judged: JudgedSubject, claim: Claim, gates: Sequence[Gate], arms: Sequence[str], alpha: float
) -> Values:
    """Return a subject under one judge; `alpha` is the error level of its tests."""
    primary: Values = {}
    for member, gate, bounds, versions in zip(
        PRIMARY_FAMILY, gates, judged.bounds, judged.versions, strict=True
    ):
        effect = find_effect(judged.effects, member)
        name = short_name(effect.contrast.outcome, effect.contrast.name)
        primary[name] = effect_values(effect) | {
            "items_needed": _items_needed(effect, alpha),
            "gate": asdict(gate),
            "abstention": None if bounds is None else asdict(bounds),
            "versions": None if versions is None else asdict(versions),
        }
    rates = judged.abstention
    return {
        "caution": claim.caution,
        "withheld": list(claim.withheld),
        "doubts": [asdict(doubt) for doubt in claim.doubts],
        "rates": {
            category: dict(zip(arms, row, strict=True)) for category, row in judged.rates.items()
        },
        "unscored": dict(zip(arms, judged.unscored, strict=True)),
        "abstention": {
            f"{first}-{second}": {"estimate": estimate, "p": test.p_value, "p_holm": adjusted}
            for (first, second), estimate, test, adjusted in zip(
                rates.contrasts, rates.estimates, rates.tests, rates.adjusted, strict=True
            )
        },
        "primary": primary,
        "variance": {
            category: {wording: asdict(parts) for wording, parts in row.items()}
            for category, row in judged.variance.items()
        },
        **{role: brief_values(judged.effects, role) for role in BRIEF_ROLES},
    }


def _items_needed(effect: Effect, alpha: float) -> int | None:
    """Items for 80 % power at the smallest effect of interest, if the spread is known."""
    summary = effect.summary
    known = summary.sd > 0 and not summary.counts.few_nonzero
    return items_needed(summary.smallest_effect, summary.sd, alpha=alpha) if known else None


def subject_values(
    subject: AnalysedSubject,
    judged: Mapping[str, Values],
    arms: Sequence[str],
) -> Values:
    """Return everything about one subject; `judged` are `judged_values` by judge."""
    means = subject.log_odds_means
    return {
        "judges": dict(judged),
        "agreement": {name: agreement_values(a) for name, a in subject.agreement.items()},
        "judge_differences": {
            judge: comparison_values(effects) for judge, effects in subject.differences.items()
        },
        "log_odds": None
        if means is None
        else {
            "means": dict(zip(arms, means, strict=True)),
            **{
                role: brief_values(subject.log_odds, role).get(LOG_ODDS, {}) for role in BRIEF_ROLES
            },
        },
        "contamination": None
        if subject.contamination is None
        else {
            short_name(outcome, contrast): asdict(found)
            for (outcome, contrast), found in subject.contamination.items()
        },
        "repeated_draws": {**asdict(subject.repeats), "share": subject.repeats.share},
        "label_permuted": {
            "copies": subject.permuted.copies,
            "passed": subject.permuted.passed,
            "family": asdict(subject.permuted.family),
            "contrasts": {
                short_name(member.category, f"{member.first}-{member.second}"): None
                if share is None
                else asdict(share)
                for member, share in zip(PRIMARY_FAMILY, subject.permuted.contrasts, strict=True)
            },
        },
    }


def agreement_values(agreement: JudgeAgreement) -> Values:
    """Return coefficients of agreement by name."""
    return {
        "judges": list(agreement.judges),
        "cohen": {f"{a}/{b}": _coefficient(found) for (a, b), found in agreement.pairs.items()},
        "fleiss": _coefficient(agreement.fleiss),
        "krippendorff": _coefficient(agreement.krippendorff),
    }


def _coefficient(found: Agreement) -> Values:
    return {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "units": found.units,
        "excluded": found.excluded,
    }


def comparison_values(effects: Sequence[Effect]) -> Values:
    """Return differences of differences by short name."""
    return {
        short_name(effect.contrast.outcome, effect.contrast.name): {
            **_shown(effect, "p_holm" if effect.contrast.role == "primary" else "p_bh"),
            "items": effect.summary.test.items,
            "exact": effect.summary.test.exact,
        }
        for effect in effects
    }


def across_values(tests: Sequence[Across]) -> Values:
    """Return the tests over all subjects by short name."""
    return {
        short_name(test.outcome, test.contrast): {
            "cochran": None if test.cochran is None else asdict(test.cochran),
            "omnibus": asdict(test.omnibus),
        }
        for test in tests
    }
