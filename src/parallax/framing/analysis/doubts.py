"""What speaks against taking a contrast at its word: one rule for each fault of an instrument.

docs/framing.md, "Doubts", states how often each rule may speak up where there is no fault;
`parallax.proof` measures it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from parallax.framing.analysis.effects import FAMILY_NAMES, Effect, find_effect
from parallax.framing.analysis.gates import Gate
from parallax.framing.analysis.repeats import Repeats
from parallax.framing.analysis.subject import AnalysedSubject
from parallax.framing.analysis.versions import Versions
from parallax.stats.abstention import AbstentionBounds, AbstentionRates
from parallax.stats.labels import PRIMARY_FAMILY
from parallax.stats.multiplicity import holm
from parallax.stats.permutation import Interaction

Check = Literal[
    "judge",
    "draws",
    "abstention",
    "worst_case",
    "families",
    "versions",
    "familiarity",
    "placebo",
    "permuted",
]


@dataclass(frozen=True)
class Doubt:
    """A check that spoke up.

    `contrasts` are the preregistered contrasts that it concerns; where it `withholds`, no claim
    rests on them. `text` says what was found, and what to look at.
    """

    check: Check
    contrasts: tuple[str, ...]
    withholds: bool
    text: str


def find_doubts(
    subject: AnalysedSubject, judge: str, gates: Sequence[Gate], alpha: float
) -> tuple[Doubt, ...]:
    """Return all doubts about a subject's preregistered contrasts under one judge.

    `gates` are the judge's, in the order of `PRIMARY_FAMILY`. Familiarity and shuffled labels were
    looked at under the primary judge, and belong to its verdicts alone.
    """
    judged = subject.judged[judge]
    family = [find_effect(judged.effects, member) for member in PRIMARY_FAMILY]
    doubts = [
        *doubt_judge(family, gates),
        *doubt_draws(subject.repeats),
        *doubt_abstention(family, judged.abstention, judged.bounds, alpha),
        *doubt_families(family, alpha),
        *doubt_versions(family, judged.versions, alpha),
        *doubt_placebos(judged.effects, alpha),
    ]
    if judge == subject.primary:
        if subject.contamination is not None:
            doubts += doubt_familiarity(family, subject.contamination, alpha)
        if not subject.permuted.passed:
            text = "the tests reject too often when the labels of the frames are shuffled"
            doubts.append(Doubt("permuted", FAMILY_NAMES, False, text))
    return tuple(doubts)


def doubt_judge(family: Sequence[Effect], gates: Sequence[Gate]) -> list[Doubt]:
    """Withhold a contrast whose judge failed a gate.

    A judge that reacts to the frames may hide an effect, too: that is said of any contrast, an
    unreliable one of a significant contrast alone.
    """
    return [
        Doubt("judge", (name,), True, gate.reason)
        for name, effect, gate in zip(FAMILY_NAMES, family, gates, strict=True)
        if not gate.passed and (gate.reliable or effect.verdict.significant)
    ]


def doubt_draws(repeats: Repeats) -> list[Doubt]:
    """Withhold everything where most draws of a prompt are one text."""
    if not repeats.collapsed:
        return []
    text = (
        f"of the pairs of draws of one prompt {100 * repeats.share:.0f} % are the same text, word"
        " for word: look for a cache whose key lacks the draw, a fixed seed at the server, or a"
        " temperature near 0, and draw again"
    )
    return [Doubt("draws", FAMILY_NAMES, True, text)]


def doubt_abstention(
    family: Sequence[Effect],
    rates: AbstentionRates,
    bounds: Sequence[AbstentionBounds | None],
    alpha: float,
) -> list[Doubt]:
    """Doubt contrasts whose frames differ in unscored responses, or that those could turn.

    A significant one of which both is true is withheld.
    """
    found = []
    places = dict(zip(rates.contrasts, range(len(rates.contrasts)), strict=True))
    for name, member, effect, bound in zip(
        FAMILY_NAMES, PRIMARY_FAMILY, family, bounds, strict=True
    ):
        place = places[member.first, member.second]
        turns = effect.verdict.significant and bound is not None and not bound.sign_survives
        worst = "with all unscored responses against it the sign would not hold"
        if rates.adjusted[place] <= alpha:
            text = (
                "responses go unscored more often in one frame:"
                f" {100 * rates.estimates[place]:+.1f} points, p"
                f" {rates.adjusted[place]:.2g}{'; ' + worst if turns else ''}"
            )
            found.append(Doubt("abstention", (name,), turns, text))
        elif turns:
            found.append(Doubt("worst_case", (name,), False, worst))
    return found


def doubt_families(family: Sequence[Effect], alpha: float) -> list[Doubt]:
    """Doubt a significant contrast that source families, taken as wholes, do not show.

    Families that are too few to show anything say nothing.
    """
    found = []
    for name, effect in zip(FAMILY_NAMES, family, strict=True):
        test = effect.summary.clustered_test
        if not effect.verdict.significant or test is None:
            continue
        if test.p_value <= alpha or test.smallest_p > alpha:
            continue
        text = (
            f"with the {test.items} source families as units in place of the requests p is"
            f" {test.p_value:.2g}: the effect may be of a few families"
        )
        found.append(Doubt("families", (name,), False, text))
    return found


def doubt_versions(
    family: Sequence[Effect], versions: Sequence[Versions | None], alpha: float
) -> list[Doubt]:
    """Doubt all significant contrasts where one of the family differs between the two versions.

    The family shows one behaviour, and Holm's p of its differences speaks for all of it. A
    contrast is withheld where the version with the smaller effect does not show it by itself.
    """
    if not any(both is not None and both.adjusted <= alpha for both in versions):
        return []
    found = []
    for name, effect, both in zip(FAMILY_NAMES, family, versions, strict=True):
        if not effect.verdict.significant or both is None:
            continue
        alone = not both.shown_by_lesser(effect.summary.estimate, alpha)
        first, second = (f"{100 * estimate:+.1f}" for estimate in both.estimates)
        text = (
            f"the effect is {first} points in version 1 of the requests and {second} in version 2"
            f" (p of the difference {both.adjusted:.2g})"
            f"{': it may be of a wording, not of the frame' if alone else ''}"
        )
        found.append(Doubt("versions", (name,), alone, text))
    return found


def doubt_familiarity(
    family: Sequence[Effect], related: dict[tuple[str, str], Interaction], alpha: float
) -> list[Doubt]:
    """Doubt all significant contrasts where one of the family depends on familiarity.

    p-values are adjusted by Holm over the family, which shows one behaviour. A contrast is withheld
    where the effect grows with familiarity and the items outside the most familiar third do not
    show it by themselves; never where the items are too few to infer from.
    """
    tests = [related[e.contrast.outcome, e.contrast.name] for e in family]
    adjusted = holm([test.p_value for test in tests])
    if not (adjusted <= alpha).any():
        return []
    found = []
    for name, effect, test, p in zip(FAMILY_NAMES, family, tests, adjusted, strict=True):
        if not effect.verdict.significant:
            continue
        whole = effect.summary.estimate
        shown = test.rest_p <= alpha and test.rest_effect * whole > 0
        alone = test.slope * whole > 0 and not shown and not test.descriptive
        text = (
            f"the effect is {100 * test.tertile_effects[-1]:+.1f} points in the third of the"
            f" requests that the model knows best and {100 * test.rest_effect:+.1f} in the others"
            f" (p of the relation {p:.2g}){': it may be memory' if alone else ''}"
            f"{', a description only: the requests are few' if test.descriptive else ''}"
        )
        found.append(Doubt("familiarity", (name,), alone, text))
    return found


def doubt_placebos(effects: Sequence[Effect], alpha: float) -> list[Doubt]:
    """Doubt all contrasts where an effect stands in which none belongs."""
    moved = [
        f"{effect.contrast.outcome.replace('_', ' ')}"
        f" {effect.contrast.name.replace('p0-p1', 'version 1 - version 2')}"
        f" {100 * effect.summary.estimate:+.1f} points"
        for effect in effects
        if effect.contrast.role == "placebo" and effect.adjusted <= alpha
    ]
    if not moved:
        return []
    text = f"placebo contrasts are significant, too ({', '.join(moved)})"
    return [Doubt("placebo", FAMILY_NAMES, False, text)]
