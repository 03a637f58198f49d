"""The whole experiment: every subject, every pair, and all subjects together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from parallax.framing.analysis.claims import make_claim
from parallax.framing.analysis.comparisons import (
    compare_log_odds,
    compare_subjects,
    pair_contrasts,
    pair_log_odds,
)
from parallax.framing.analysis.doubts import find_doubts
from parallax.framing.analysis.effects import Effect, estimate_effects
from parallax.framing.analysis.gates import read_gates
from parallax.framing.analysis.logs import Logs
from parallax.framing.analysis.metrics import (
    Values,
    across_values,
    comparison_values,
    headline_values,
    judged_values,
    subject_values,
)
from parallax.framing.analysis.permuted import COPIES
from parallax.framing.analysis.subject import AnalysedSubject, analyse_subject
from parallax.framing.items import PARAPHRASES
from parallax.params import Analysis


@dataclass(frozen=True)
class AnalysedExperiment:
    """The metrics as JSON values, and the effects of all subjects and judges."""

    metrics: Values
    effects: tuple[Effect, ...]


def analyse_experiment(
    logs: Logs,
    sensitivity: Any,
    source: str,
    pairs: Sequence[tuple[str, str]],
    settings: Analysis,
    progress: Callable[[int], object] = lambda count: None,
) -> AnalysedExperiment:
    """Analyse every subject under every judge, the first of which is primary.

    `sensitivity` is what the judges' frame control reported in the file `source`; `pairs` are
    subjects whose difference is tested, the second taken from the first.

    Raises:
        DataError: `sensitivity` lacks a subject or a judge.
    """
    design = logs.design
    primary = next(iter(logs.outcomes))
    gates = {
        (subject, judge): read_gates(sensitivity, subject, judge, logs.reliable[judge], source)
        for subject in design.subjects
        for judge in logs.outcomes
    }
    found = {}
    for subject in design.subjects:
        found[subject] = analyse_subject(logs, subject, primary, settings)
        progress(1)
    claims = {
        (subject, judge): make_claim(
            analysed.judged[judge].effects,
            find_doubts(analysed, judge, gates[subject, judge], settings.alpha),
            judge,
            len(design.items),
        )
        for subject, analysed in found.items()
        for judge in logs.outcomes
    }
    metrics: Values = {
        "headline": {
            subject: headline_values(
                analysed,
                claims[subject, primary],
                gates[subject, primary],
                len(design.items),
            )
            for subject, analysed in found.items()
        },
        "models": models_values(logs, found, pairs, settings),
        "settings": settings_values(logs, settings),
        "subjects": {
            subject: subject_values(
                analysed,
                {
                    judge: judged_values(
                        judged,
                        claims[subject, judge],
                        gates[subject, judge],
                        design.arms,
                        settings.alpha,
                    )
                    for judge, judged in analysed.judged.items()
                },
                design.arms,
            )
            for subject, analysed in found.items()
        },
    }
    effects = [
        effect
        for analysed in found.values()
        for effects in (*(j.effects for j in analysed.judged.values()), analysed.log_odds)
        for effect in effects
    ]
    return AnalysedExperiment(metrics, tuple(effects))


def models_values(
    logs: Logs,
    found: dict[str, AnalysedSubject],
    pairs: Sequence[tuple[str, str]],
    settings: Analysis,
) -> Values:
    """Return the comparisons between subjects, under each judge and by log-odds."""
    compared: Values = {}
    for first, second in pairs:
        a, b = found[first], found[second]
        name = f"{first} - {second}"
        contrasts = {
            judge: pair_contrasts(a.judged[judge].effects, b.judged[judge].effects)
            for judge in logs.outcomes
        }
        if a.log_odds and b.log_odds:
            contrasts["log_odds"] = pair_log_odds(a.log_odds, b.log_odds)
        compared[name] = {
            judge: comparison_values(
                estimate_effects(name, judge, members, logs.families, settings)
            )
            for judge, members in contrasts.items()
        }
    across: Values = {}
    if len(found) > 1:
        for judge in logs.outcomes:
            effects = {name: analysed.judged[judge].effects for name, analysed in found.items()}
            across[judge] = across_values(compare_subjects(effects, settings.seed, judge))
        measured = {name: a.log_odds for name, a in found.items() if a.log_odds}
        if len(measured) > 1:
            across["log_odds"] = across_values(compare_log_odds(measured, settings.seed))
    return {"pairs": compared, "across": across}


def settings_values(logs: Logs, settings: Analysis) -> Values:
    """Return what the numbers were made from."""
    design = logs.design
    return {
        **settings.model_dump(),
        "judges": list(logs.outcomes),
        "primary": next(iter(logs.outcomes)),
        "subjects": list(design.subjects),
        "items": len(design.items),
        "source_families": len(set(logs.families)),
        "paraphrases": len(PARAPHRASES),
        "wordings": list(design.wordings),
        "arms": list(design.arms),
        "draws": len(design.draws),
        "permuted_copies": COPIES,
    }
