"""One subject, analysed whole: under each judge, between judges, and by its log-odds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parallax.framing.analysis.comparisons import pair_contrasts
from parallax.framing.analysis.effects import (
    LOG_ODDS,
    Effect,
    arm_rates,
    estimate_effects,
    find_effect,
    flatten_versions,
    list_contrasts,
)
from parallax.framing.analysis.judges import JudgeAgreement, measure_agreement
from parallax.framing.analysis.logs import Logs
from parallax.framing.analysis.permuted import PermutedCheck, check_permuted
from parallax.framing.analysis.repeats import Repeats
from parallax.framing.analysis.versions import Versions, compare_versions
from parallax.framing.items import CATEGORIES
from parallax.params import Analysis
from parallax.seeding import derive_seed
from parallax.stats.abstention import (
    AbstentionBounds,
    AbstentionRates,
    abstention_bounds,
    abstention_rates,
)
from parallax.stats.contrasts import FRAMES
from parallax.stats.items import Floats
from parallax.stats.labels import PRIMARY_FAMILY
from parallax.stats.permutation import Interaction, score_interaction
from parallax.stats.variance import VarianceComponents, variance_components


@dataclass(frozen=True)
class JudgedSubject:
    """A subject under one judge.

    `rates[category]` and `unscored` have one share per arm; `variance[category][wording]` holds
    components within a wording; `bounds` and `versions` stand in the order of `PRIMARY_FAMILY`,
    None for a category that the judge cannot tell.
    """

    effects: tuple[Effect, ...]
    rates: dict[str, list[float]]
    unscored: list[float]
    bounds: tuple[AbstentionBounds | None, ...]
    abstention: AbstentionRates
    versions: tuple[Versions | None, ...]
    variance: dict[str, dict[str, VarianceComponents]]


@dataclass(frozen=True)
class AnalysedSubject:
    """A subject under every judge.

    Familiarity and shuffled labels are looked at under the `primary` judge. `differences[judge]`
    are the effects under the primary judge minus those under this one; `log_odds` is empty where
    they were not measured, `log_odds_means` is then None, and so is `contamination` without
    familiarity scores.
    """

    primary: str
    judged: dict[str, JudgedSubject]
    agreement: dict[str, JudgeAgreement]
    differences: dict[str, tuple[Effect, ...]]
    log_odds: tuple[Effect, ...]
    log_odds_means: list[float] | None
    contamination: dict[tuple[str, str], Interaction] | None
    permuted: PermutedCheck
    repeats: Repeats


def analyse_subject(logs: Logs, subject: str, primary: str, settings: Analysis) -> AnalysedSubject:
    """Analyse one subject; `primary` is the judge whose verdicts carry the claims."""
    judged = {judge: analyse_judged(logs, subject, judge, settings) for judge in logs.outcomes}
    differences = {
        judge: tuple(
            estimate_effects(
                subject,
                f"{primary}-{judge}",
                pair_contrasts(judged[primary].effects, other.effects),
                logs.families,
                settings,
            )
        )
        for judge, other in judged.items()
        if judge != primary
    }
    log_odds: tuple[Effect, ...] = ()
    cells = logs.log_odds.get(subject)
    if cells is not None:
        contrasts = list_contrasts(cells, LOG_ODDS, logs.design, settings.direction)
        log_odds = tuple(estimate_effects(subject, "", contrasts, logs.families, settings))
    family = [find_effect(judged[primary].effects, member) for member in PRIMARY_FAMILY]
    secondary = [e for e in log_odds if e.contrast.name in ("E-N", "E-D")]
    return AnalysedSubject(
        primary=primary,
        judged=judged,
        agreement=measure_agreement(logs, subject, settings.alpha, settings.seed),
        differences=differences,
        log_odds=log_odds,
        log_odds_means=None if cells is None else arm_rates(cells),
        contamination=relate_to_familiarity(
            [*family, *secondary], logs.familiarity.get(subject), settings.seed
        ),
        permuted=check_permuted(
            [_frames(logs.judged(subject, primary, member.category)) for member in PRIMARY_FAMILY],
            settings.alpha,
            np.random.default_rng(derive_seed("permuted", settings.seed, subject, primary)),
        ),
        repeats=logs.repeats[subject],
    )


def analyse_judged(logs: Logs, subject: str, judge: str, settings: Analysis) -> JudgedSubject:
    """Analyse one subject under one judge."""
    told = logs.outcomes[judge]
    asked = [c for c in CATEGORIES if c in told or c in {m.category for m in PRIMARY_FAMILY}]
    values: dict[str, Floats] = {
        category: logs.judged(subject, judge, category) for category in asked
    }
    contrasts = [
        contrast
        for category in asked
        for contrast in list_contrasts(values[category], category, logs.design, settings.direction)
        # Of what the judge cannot tell, the preregistered contrasts stay, undefined.
        if category in told or contrast.role == "primary"
    ]
    scored = logs.scored(subject, judge)
    rng = np.random.default_rng(derive_seed("abstention", settings.seed, subject, judge))
    effects = tuple(estimate_effects(subject, judge, contrasts, logs.families, settings))
    return JudgedSubject(
        effects=effects,
        rates={category: arm_rates(values[category]) for category in told},
        unscored=arm_rates(np.isnan(scored).astype(np.float64)),
        bounds=tuple(
            abstention_bounds(_frames(values[m.category]), m.first, m.second, rng=rng)
            if m.category in told
            else None
            for m in PRIMARY_FAMILY
        ),
        abstention=abstention_rates(_frames(scored), rng=rng),
        versions=compare_versions(
            effects,
            told,
            np.random.default_rng(derive_seed("versions", settings.seed, subject, judge)),
        ),
        variance={
            category: {
                wording: variance_components(values[category][:, :, w, : len(FRAMES)])
                for w, wording in enumerate(logs.design.wordings)
            }
            for category in told
        },
    )


def relate_to_familiarity(
    effects: Sequence[Effect], scores: Floats | None, seed: int
) -> dict[tuple[str, str], Interaction] | None:
    """Relate item effects to how familiar the items are, by (outcome, contrast)."""
    if scores is None:
        return None
    return {
        (effect.contrast.outcome, effect.contrast.name): score_interaction(
            effect.contrast.differences,
            scores,
            np.random.default_rng(
                derive_seed(
                    *("contamination", seed, effect.subject, effect.judge),
                    *(effect.contrast.outcome, effect.contrast.name),
                )
            ),
        )
        for effect in effects
    }


def _frames(values: Floats) -> Floats:
    """Versions under E, D and N: (I, P W, F, K)."""
    return flatten_versions(values)[:, :, : len(FRAMES)]
