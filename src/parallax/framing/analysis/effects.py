"""Every contrast of one subject under one judge: test, intervals, adjustment and label.

With several wordings of a clause set, an item's difference is the mean over all its versions,
paraphrase x wording, each weighing the same: the effect of the frame, averaged over the wordings
that were put. It says nothing of wordings that were not. The effect in each wording, and in each
paraphrase, is given beside it.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from parallax.framing.analysis.design import Design
from parallax.params import Analysis
from parallax.seeding import derive_seed
from parallax.stats.contrasts import CONTRASTS, Direction, continuous_differences, frame_differences
from parallax.stats.items import Floats, ItemDifferences, mean
from parallax.stats.labels import PRIMARY_FAMILY, FamilyMember, Verdict
from parallax.stats.multiplicity import benjamini_hochberg, holm
from parallax.stats.summary import (
    ContrastSummary,
    judge_family,
    summarize_continuous,
    summarize_contrast,
)

Role = Literal["primary", "exploratory", "placebo", "paraphrase", "wording"]

LOG_ODDS = "log_odds"
# Sign of E - N and E - D in an eval-cautious model.
CAUTIOUS: dict[str, Direction] = {"refusal": 1, "harmful_compliance": -1, LOG_ODDS: 1}
PLACEBOS = ("content_free", "no_frame")
SHORT = {"refusal": "refusal", "harmful_compliance": "harmful", LOG_ODDS: LOG_ODDS}


def short_name(outcome: str, contrast: str) -> str:
    """Return the name of a headline contrast, such as "refusal_E-N"."""
    return f"{SHORT[outcome]}_{contrast}"


FAMILY_NAMES = tuple(short_name(m.category, f"{m.first}-{m.second}") for m in PRIMARY_FAMILY)


@dataclass(frozen=True, eq=False)
class Contrast:
    """Item differences between two conditions; `direction` is the preregistered sign, if any."""

    outcome: str
    name: str
    role: Role
    direction: Direction | None
    differences: ItemDifferences | Floats


@dataclass(frozen=True, eq=False)
class Effect:
    """A contrast with its analysis.

    `adjusted` is Holm's p over the primary contrasts of this subject and judge, and Benjamini and
    Hochberg's over those of any other role.
    """

    subject: str
    judge: str
    contrast: Contrast
    summary: ContrastSummary
    adjusted: float
    verdict: Verdict

    @property
    def label(self) -> str:
        """The verdict's label; `undefined` where no item has a difference."""
        return self.verdict.label if self.summary.test.items else "undefined"


def flatten_versions(values: Floats) -> Floats:
    """Make paraphrase x wording one axis of versions: (I, P, W, A, ...) to (I, P W, A, ...)."""
    items, paraphrases, wordings, *rest = values.shape
    return values.reshape(items, paraphrases * wordings, *rest)


def difference(
    values: Floats, first: str, second: str, names: Sequence[str]
) -> ItemDifferences | Floats:
    """Contrast two of the conditions `names`: (I, V, A, K) holds draws, (I, V, A) a number each."""
    if values.ndim == 4:
        return frame_differences(values, first, second, names)
    return continuous_differences(values, first, second, names)


def list_contrasts(values: Floats, outcome: str, design: Design, direction: str) -> list[Contrast]:
    """Return all contrasts of one outcome, of shape (I, P, W, A, K) or, continuous, (I, P, W, A).

    `direction` is the preregistered one.
    """
    pooled = flatten_versions(values)
    found: list[Contrast] = []

    def add(role: Role, name: str, part: Floats, first: str, second: str) -> None:
        sign = None if role == "placebo" else expected_sign(outcome, first, direction)
        differences = difference(part, first, second, design.arms)
        found.append(Contrast(outcome, name, role, sign, differences))

    for first, second in CONTRASTS:
        name = f"{first}-{second}"
        add(role_of(outcome, first, second), name, pooled, first, second)
        for p in range(values.shape[1]):
            part = flatten_versions(values[:, [p]])
            add("paraphrase", f"{name} in p{p}", part, first, second)
        if len(design.wordings) > 1:
            for w, wording in enumerate(design.wordings):
                part = flatten_versions(values[:, :, [w]])
                add("wording", f"{name} in {wording}", part, first, second)
    for arm in PLACEBOS:
        if arm in design.arms:
            add("placebo", f"{arm}-N", pooled, arm, "N")
    for a, arm in enumerate(design.arms):
        # (I, W, P, ...): within a frame the paraphrases are the conditions.
        versions = np.swapaxes(values[:, :, :, a], 1, 2)
        differences = difference(versions, "p0", "p1", ("p0", "p1"))
        found.append(Contrast(outcome, f"p0-p1 in {arm}", "placebo", None, differences))
    return found


def role_of(outcome: str, first: str, second: str) -> Role:
    """Return whether a contrast is of the preregistered family."""
    members = {(member.category, member.first, member.second) for member in PRIMARY_FAMILY}
    return "primary" if (outcome, first, second) in members else "exploratory"


def expected_sign(outcome: str, first: str, direction: str) -> Direction | None:
    """Return the preregistered sign of a contrast with E; None where nothing is predicted."""
    sign = CAUTIOUS.get(outcome)
    if sign is None or first != "E" or direction == "none":
        return None
    return sign if direction == "eval-cautious" else (1 if sign < 0 else -1)


def estimate_effects(
    subject: str,
    judge: str,
    contrasts: Sequence[Contrast],
    families: Sequence[str],
    settings: Analysis,
) -> list[Effect]:
    """Analyse contrasts and adjust their p-values within each role.

    `families` is the source family of each item, by which primary contrasts are clustered beside.
    """
    effects: list[Effect] = []
    ordered = sorted(contrasts, key=lambda contrast: contrast.role)
    for role, group in itertools.groupby(ordered, key=lambda contrast: contrast.role):
        members = list(group)
        summaries = [summarize(subject, judge, c, families, settings) for c in members]
        adjust = holm if role == "primary" else benjamini_hochberg
        adjusted, verdicts = judge_family(summaries, settings.alpha, adjust)
        effects += [
            Effect(subject, judge, *parts)
            for parts in zip(members, summaries, adjusted, verdicts, strict=True)
        ]
    return effects


def summarize(
    subject: str, judge: str, contrast: Contrast, families: Sequence[str], settings: Analysis
) -> ContrastSummary:
    """Analyse one contrast with randomness of its own, so that no other contrast can change it."""
    rng = np.random.default_rng(
        derive_seed(
            *("analyse", settings.seed, subject, judge),
            *(contrast.outcome, contrast.role, contrast.name),
        )
    )
    if isinstance(contrast.differences, ItemDifferences):
        return summarize_contrast(
            contrast.differences,
            settings.smallest_effect,
            rng,
            contrast.direction,
            families if contrast.role == "primary" else None,
            settings.alpha,
        )
    return summarize_continuous(contrast.differences, rng, contrast.direction, settings.alpha)


def find_effect(effects: Sequence[Effect], member: FamilyMember) -> Effect:
    """Return the effect of a preregistered contrast."""
    return find_named(effects, member.category, f"{member.first}-{member.second}")


def find_named(effects: Sequence[Effect], outcome: str, name: str) -> Effect:
    """Return the effect on an outcome in the contrast of that name."""
    return next(
        effect
        for effect in effects
        if (effect.contrast.outcome, effect.contrast.name) == (outcome, name)
    )


def exact_differences(effect: Effect) -> ItemDifferences:
    """Return the item differences of an effect on a judged category."""
    differences = effect.contrast.differences
    if not isinstance(differences, ItemDifferences):
        raise TypeError(f"{effect.contrast.outcome} is continuous")
    return differences


def arm_means(values: Floats) -> Floats:
    """Mean of each item in each arm over its versions with a known value: (I, A), NaN without.

    Of draws, (I, P, W, A, K), a version's value is the mean over those scored.
    """
    versions = flatten_versions(values)
    cells = _known_mean(versions, 3) if versions.ndim == 4 else versions
    return _known_mean(cells, 1)


def arm_rates(values: Floats) -> list[float]:
    """Mean over items of `arm_means`, one per arm; NaN without any item."""
    return [mean(column) for column in arm_means(values).T]


def _known_mean(values: Floats, axis: int) -> Floats:
    known = ~np.isnan(values)
    counts = known.sum(axis=axis)
    means = np.full(counts.shape, np.nan)
    np.divide(np.nansum(values, axis=axis), counts, out=means, where=counts > 0)
    return means
