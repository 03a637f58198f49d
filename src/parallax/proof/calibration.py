"""Size, power, coverage, family-wise error and wrong words of the analysis, by simulation."""

import collections
import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parallax.framing.analysis.effects import FAMILY_NAMES
from parallax.proof.responders import VERDICTS, Responder, draw_counts, item_units, place_verdicts
from parallax.stats.contrasts import count_signs, frame_differences
from parallax.stats.equivalence import tost
from parallax.stats.intervals import sample_sd
from parallax.stats.items import Floats, Ints, ItemDifferences, known_values
from parallax.stats.labels import (
    PRIMARY_FAMILY,
    Caution,
    FamilyMember,
    Verdict,
    judge_contrast,
    name_caution,
)
from parallax.stats.multiplicity import holm
from parallax.stats.power import minimum_detectable_effect, power
from parallax.stats.proportions import binomial_interval
from parallax.stats.signflip import sign_flip
from parallax.stats.stacked import StackedContrast, stack_contrasts, stack_sign_flips

Values = dict[str, Any]
Flags = NDArray[np.bool_]

# Cells (item, version, frame) that are drawn at once, about 100 MB.
CHUNK = 1_000_000
# Effects are taken as the nearest fraction with a denominator up to this.
PRECISION = 10_000


@dataclasses.dataclass(frozen=True)
class Rules:
    """What the analysis is told: error level, and smallest effect of interest (fraction of 1)."""

    alpha: float
    smallest_effect: float


@dataclasses.dataclass(frozen=True, eq=False)
class _Batch:
    """Some data sets of one responder: the family's results, each of shape (sets,) or (sets, 3)."""

    contrasts: tuple[StackedContrast, ...]
    covered: Flags
    verdicts: tuple[tuple[Verdict, ...], ...]
    cautions: tuple[Caution, ...]


def calibrate(responder: Responder, sets: int, rules: Rules, rng: np.random.Generator) -> Values:
    """Simulate `sets` data sets of a responder and count what the analysis says of them.

    Every share stands with its trials and its Clopper-Pearson interval at .95. Data sets with
    unscored draws, whose items have unlike denominators, are tested one by one.
    """
    truths = [responder.effect(m.category, m.first, m.second) for m in PRIMARY_FAMILY]
    rows = max(1, CHUNK // (responder.items * 6))
    batches = [
        _analyse(draw_counts(responder, min(rows, sets - start), rng), responder, truths, rules)
        for start in range(0, sets, rows)
    ]
    members = [
        _describe(responder, truth, place, batches, rules) for place, truth in enumerate(truths)
    ]
    cautions = [caution for batch in batches for caution in batch.cautions]
    false = [place for place, truth in enumerate(truths) if truth == 0]
    wrong = [
        any(verdicts[place].significant for place in false)
        for batch in batches
        for verdicts in batch.verdicts
    ]
    counted = collections.Counter(cautions)
    return {
        "contrasts": dict(zip(FAMILY_NAMES, members, strict=True)),
        "family_wise": share(wrong) if false else None,
        "claims": dict(sorted(counted.items())),
        "wrong_claim": share([not is_true(caution, truths) for caution in cautions]),
    }


def is_true(caution: Caution, truths: Sequence[float]) -> bool:
    """Say whether a word about a model is right, given the true effects of the family."""

    def members(sign: int, second: str) -> bool:
        return any(
            sign * member.cautious_sign * truth > 0 and member.second in second
            for member, truth in zip(PRIMARY_FAMILY, truths, strict=True)
        )

    higher, lower = members(1, "DN"), members(-1, "DN")
    return {
        "eval-cautious": higher,
        "deployment-cautious": members(-1, "D"),
        "neutral-cautious": members(-1, "N"),
        "mixed": higher and lower,
        "none": True,
    }[caution]


def share(hits: Sequence[bool] | Flags) -> Values | None:
    """Return a share with its interval as JSON values; None of nothing."""
    found = np.asarray(hits, dtype=bool)
    if not found.size:
        return None
    interval = dataclasses.asdict(binomial_interval(int(found.sum()), found.size))
    return {name: interval[name] for name in ("value", "low", "high", "trials")}


def _analyse(counts: Ints, responder: Responder, truths: Sequence[float], rules: Rules) -> _Batch:
    """Analyse data sets (sets, I, P, F, V) as `judge_family` and `make_claim` do one."""
    silent = counts[..., -1].any()
    members = [
        (_test_each if silent else _test_stack)(counts, responder.denominator, member, truth, rules)
        for member, truth in zip(PRIMARY_FAMILY, truths, strict=True)
    ]
    found = tuple(contrast for contrast, _ in members)
    raw = np.stack([contrast.p_values for contrast in found], axis=1)
    adjusted = np.array([holm(row) for row in raw])
    verdicts = tuple(
        tuple(
            judge_contrast(
                float(raw[row, place]),
                float(adjusted[row, place]),
                float(contrast.equivalence_p[row]),
                float(contrast.detectable[row]),
                rules.smallest_effect,
                bool(contrast.few_nonzero[row]),
                rules.alpha,
            )
            for place, contrast in enumerate(found)
        )
        for row in range(len(raw))
    )
    cautions = tuple(
        name_caution([float(c.estimates[row]) for c in found], [v.significant for v in judged])
        for row, judged in enumerate(verdicts)
    )
    covered = np.stack([inside for _, inside in members], axis=1)
    return _Batch(found, covered, verdicts, cautions)


def _test_stack(
    counts: Ints, denominator: int, member: FamilyMember, truth: float, rules: Rules
) -> tuple[StackedContrast, Flags]:
    """Test one contrast of data sets without unscored draws, all at once."""
    units = item_units(counts, member.category, member.first, member.second)
    found = stack_contrasts(units, denominator, rules.smallest_effect, rules.alpha)
    return found, cover(units, denominator, truth, rules.alpha)


def _test_each(
    counts: Ints, denominator: int, member: FamilyMember, truth: float, rules: Rules
) -> tuple[StackedContrast, Flags]:
    """Test one contrast of data sets as the analysis does, one by one."""
    column = VERDICTS.index(member.category)
    summaries, covered = [], []
    for data in counts:
        codes = place_verdicts(data)
        outcomes = np.where(codes == VERDICTS.index(""), np.nan, codes == column)
        differences = frame_differences(outcomes, member.first, member.second)
        summaries.append(test_one(differences, rules))
        shift = _exact(truth)
        moved = (None if d is None else d - shift for d in differences.fractions)
        covered.append(sign_flip(ItemDifferences.from_fractions(moved)).p_value > rules.alpha)
    return StackedContrast(*map(np.array, zip(*summaries, strict=True))), np.array(covered)


def test_one(differences: ItemDifferences, rules: Rules) -> tuple[float | bool, ...]:
    """Return the fields of `StackedContrast` for one data set."""
    sd = sample_sd(known_values(differences))
    few = count_signs(differences).few_nonzero
    spread = float("nan") if few else sd
    return (
        differences.estimate,
        sd,
        sign_flip(differences).p_value,
        tost(differences, rules.smallest_effect).p_value,
        minimum_detectable_effect(differences.defined, spread, alpha=rules.alpha),
        few,
    )


def cover(units: Ints, denominator: int, truth: float, alpha: float) -> Flags:
    """Say of which data sets the inverted sign-flip interval holds the true effect; (sets,).

    It does where the test of d_i - truth does not reject.
    """
    shift = _exact(truth) * denominator
    return np.asarray(
        stack_sign_flips(units * shift.denominator - shift.numerator) > alpha, dtype=bool
    )


def _exact(value: float) -> Fraction:
    """Return the fraction that is meant: rates are differences of decimal numbers."""
    return Fraction(value).limit_denominator(PRECISION)


def _describe(
    responder: Responder, truth: float, place: int, batches: Sequence[_Batch], rules: Rules
) -> Values:
    """Return what was found of one contrast."""

    def column(name: str) -> Floats:
        return np.concatenate([getattr(batch.contrasts[place], name) for batch in batches])

    covered = np.concatenate([batch.covered[:, place] for batch in batches])
    few = column("few_nonzero").astype(bool)
    verdicts = [judged[place] for batch in batches for judged in batch.verdicts]
    labels = [verdict.label for verdict in verdicts]
    # Of one set: the mean square over sets holds the spread of items and no noise of its own.
    sd = float(np.sqrt(np.mean(column("sds") ** 2)))
    detectable = minimum_detectable_effect(responder.items, sd, alpha=rules.alpha)
    estimates = column("estimates")
    return {
        "truth": truth,
        "sd": sd,
        "rejected": share(column("p_values") <= rules.alpha),
        "power": power(truth, responder.items, sd, rules.alpha) if truth else None,
        "detectable": detectable,
        "covered": share(covered),
        "few": share(few),
        "covered_believed": share(covered[~few]),
        "labels": dict(sorted(collections.Counter(labels).items())),
        "wrong": _wrong_labels(labels, estimates, truth, detectable, rules),
    }


def _wrong_labels(
    labels: Sequence[str], estimates: Floats, truth: float, detectable: float, rules: Rules
) -> Values:
    """Return how often each label was said where it is not true; None where it cannot be wrong."""
    said = np.array(labels)
    small = abs(_exact(truth)) < _exact(rules.smallest_effect)
    able = detectable <= rules.smallest_effect
    return {
        # With an effect, of the wrong sign.
        "significant": share((said == "significant") & (estimates * truth <= 0)),
        "marginal": share(said == "marginal") if truth == 0 else None,
        "equivalent": None if small else share(said == "equivalent"),
        "underpowered": share(said == "underpowered") if able else None,
        # It says that the power was there.
        "inconclusive": None if able else share(said == "inconclusive"),
    }
