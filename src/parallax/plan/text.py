"""The plan as Markdown: what the pilot says, what designs can detect, and which one to take."""

import dataclasses
import math
from collections.abc import Iterator, Sequence

from parallax.plan.pilot import Pilot
from parallax.report.framing_words import OUTCOME_LABELS, contrast_label
from parallax.report.numbers import UNDEFINED
from parallax.stats.designs import Design, cheapest, fit_design
from parallax.stats.labels import FamilyMember
from parallax.stats.power import minimum_detectable_effect
from parallax.stats.spread import PilotSpread, Spread, seen_spread, spread_at

ITEMS = (20, 120, 480)
"""Items of the protocol's pilot, of an experiment between, and of its full design."""
DRAWS = (1, 3, 7, 14)
VERSIONS = (2, 4)
"""Two paraphrases, put in one wording of the clauses or in two."""
SEARCHED_DRAWS = tuple(range(1, 15))
FRAMES = 3


@dataclasses.dataclass(frozen=True)
class Aim:
    """What is to be detected: an effect (fraction), with this power, at this level.

    `most_items` is what can be had; `speed` in tokens a second, None where it was not measured.
    """

    effect: float
    power: float
    alpha: float
    most_items: int
    speed: float | None


def table_of_deviations(deviations: Sequence[float], aim: Aim) -> str:
    """Return the effects that `ITEMS` detect for standard deviations of d[i], fractions."""
    rows = [
        [
            f"{sd:g}",
            *(points(minimum_detectable_effect(n, sd, aim.power, aim.alpha)) for n in ITEMS),
        ]
        for sd in deviations
    ]
    return "\n".join([_level(aim), "", *_table(["SD of d", *(f"{n} items" for n in ITEMS)], rows)])


def plan_text(pilot: Pilot, aim: Aim) -> str:
    """Return the whole plan."""
    lines = [
        f"# Plan from a pilot of {pilot.subject} under {pilot.judge}",
        "",
        f"{pilot.items} items x {pilot.versions} versions x {FRAMES} frames x {pilot.draws} draws."
        f" {_level(aim)}",
    ]
    for member, spread in pilot.spreads.items():
        lines += ["", f"## {name(member)}", "", *_contrast(spread, pilot, aim)]
    return "\n".join([*lines, "", *_notes(pilot, aim)]) + "\n"


def name(member: FamilyMember) -> str:
    """Return a contrast's words."""
    return f"{OUTCOME_LABELS[member.category]} {contrast_label(f'{member.first}-{member.second}')}"


def points(value: float) -> str:
    """Return a fraction in percentage points, to a tenth."""
    return UNDEFINED if math.isnan(value) else f"{100 * value:.1f}"


def _contrast(spread: PilotSpread, pilot: Pilot, aim: Aim) -> Iterator[str]:
    seen, planned = seen_spread(spread), spread_at(spread, pilot.versions, pilot.draws)
    if planned.sd == 0:
        yield "No item moved: the pilot says nothing of the spread, and no design follows from it."
        return
    parts = ", ".join(
        f"{label} {value:.4f}"
        for label, value in zip(("item", "version", "draw"), spread.components, strict=True)
    )
    yield (
        f"SD of d: {points(seen.sd)} points seen ({points(seen.low)} to {points(seen.high)}, the"
        f" chi-square limits of normal differences); {points(planned.sd)} ({points(planned.low)} to"
        f" {points(planned.high)}) by the components of Var d: {parts}."
        + (f" {spread.excluded} items left out." if spread.excluded else "")
    )
    yield ""
    yield from _detectable(spread, aim)
    yield ""
    yield from _designs(spread, pilot, aim)


def _detectable(spread: PilotSpread, aim: Aim) -> Iterator[str]:
    yield "Smallest effect that is detected, points, and that with the limits of the SD:"
    yield ""
    rows = []
    for versions in VERSIONS:
        for draws in DRAWS:
            found = spread_at(spread, versions, draws)
            row = [str(versions), str(draws), points(found.sd)]
            rows.append([*row, *(_effects(found, n, aim) for n in ITEMS)])
    yield from _table(["versions", "draws", "SD", *(f"{n} items" for n in ITEMS)], rows)


def _effects(spread: Spread, items: int, aim: Aim) -> str:
    value, low, high = (
        points(minimum_detectable_effect(items, sd, aim.power, aim.alpha))
        for sd in (spread.sd, spread.low, spread.high)
    )
    return f"{value} ({low} to {high})"


def _designs(spread: PilotSpread, pilot: Pilot, aim: Aim) -> Iterator[str]:
    yield f"Items that detect {points(aim.effect)} points:"
    yield ""

    def fit(versions: int, draws: int) -> Design:
        return fit_design(spread, versions, draws, aim.effect, aim.power, aim.alpha, FRAMES)

    shown = [fit(versions, draws) for versions in VERSIONS for draws in DRAWS]
    rows = [
        [
            *(str(design.versions), str(design.draws), str(design.items)),
            *(f"{design.generations:,}", hours(design, pilot, aim)),
        ]
        for design in shown
    ]
    yield from _table(["versions", "draws", "items", "generations", "hours"], rows)
    yield ""
    best = cheapest([fit(v, k) for v in VERSIONS for k in SEARCHED_DRAWS], aim.most_items)
    if best is None:
        yield f"No design with at most {aim.most_items} items detects it."
    else:
        yield (
            f"Cheapest with at most {aim.most_items} items: **{best.items} items x {best.versions}"
            f" versions x {best.frames} frames x {best.draws} draws = {best.generations:,}"
            f" generations**, {hours(best, pilot, aim)} hours."
        )


def hours(design: Design, pilot: Pilot, aim: Aim) -> str:
    """Return generations x tokens a response / speed, in hours."""
    if aim.speed is None:
        return UNDEFINED
    return f"{design.generations * pilot.tokens / aim.speed / 3600:.2f}"


def _level(aim: Aim) -> str:
    return f"Power {aim.power:g}, two-sided alpha {aim.alpha:g}, t test of item means."


def _notes(pilot: Pilot, aim: Aim) -> Iterator[str]:
    speed = (
        "Hours: no speed is known; give --tokens-per-second."
        if aim.speed is None
        else f"Hours: at {aim.speed:.0f} new tokens a second, {pilot.tokens:.1f} new tokens a"
        " response as in the pilot; draws of a prompt share its reading, so that fewer draws cost"
        " more each."
    )
    yield speed
    yield ""
    yield (
        "A version is a paraphrase in one wording of the clauses: four are two paraphrases in two"
        " wordings, planned as if wordings differed as much as paraphrases do. One draw a version"
        " is cheapest wherever there are items enough, but leaves nothing to tell the parts apart"
        " by."
        f" Holm's first step over three contrasts is planned by --alpha {aim.alpha / 3:.4f}."
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---:"] * len(head)
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]
