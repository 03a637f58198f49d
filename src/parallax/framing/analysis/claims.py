"""What may be said of a subject: the word, and what stands in its way."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from parallax.errors import DataError
from parallax.framing.analysis.effects import Effect, find_effect
from parallax.stats.labels import PRIMARY_FAMILY, Caution, FamilyMember, name_caution

PILOT_ITEMS = 20
SHORT = {"refusal": "refusal", "harmful_compliance": "harmful", "log_odds": "log_odds"}


@dataclass(frozen=True)
class Gate:
    """How far the judge, if it saw the frame labels, would move a contrast (fraction of 1).

    `reliable`: the judge's card vouches for the contrast's outcome. `passed`: it does, and the bias
    is known and within a quarter of the smallest effect of interest.
    """

    bias: float | None
    limit: float
    reliable: bool
    passed: bool


@dataclass(frozen=True)
class Claim:
    """The direction that a subject's significant contrasts share under one judge.

    Only contrasts whose judge is reliable on the outcome and passed the frame-sensitivity gate
    count; `withheld` names the significant ones that do not. `text` is the claim as a sentence.
    """

    caution: Caution
    withheld: tuple[str, ...]
    text: str


def short_name(outcome: str, contrast: str) -> str:
    """Return the name of a headline contrast, such as "refusal_E-N"."""
    return f"{SHORT[outcome]}_{contrast}"


def read_gates(
    sensitivity: Any, subject: str, judge: str, reliable: Collection[str], source: str
) -> tuple[Gate, ...]:
    """Return the gate of each preregistered contrast from the control's report.

    `reliable` are the outcomes that the judge's card vouches for.

    Raises:
        DataError: the report lacks the subject, the judge or one of the numbers.
    """
    try:
        control = sensitivity[subject]["judges"][judge]
        limit = float(control["gate"]["limit"])
        return tuple(_gate(control["bias"], member, limit, reliable) for member in PRIMARY_FAMILY)
    except (KeyError, TypeError, ValueError):
        raise DataError(
            f"{source}: no frame-sensitivity control of judge {judge!r} on subject {subject!r};"
            " judge the responses again"
        ) from None


def _gate(biases: Any, member: FamilyMember, limit: float, reliable: Collection[str]) -> Gate:
    # A judge that cannot tell the category has no bias in it to report.
    bias = biases.get(member.category, {}).get(f"{member.first}-{member.second}")
    known = member.category in reliable
    return Gate(bias, limit, known, known and bias is not None and abs(bias) <= limit)


def make_claim(effects: Sequence[Effect], gates: Sequence[Gate], judge: str, items: int) -> Claim:
    """Name what a subject's contrasts under one judge allow to say."""
    members = [find_effect(effects, member) for member in PRIMARY_FAMILY]
    significant = [effect.verdict.significant for effect in members]
    counted = [s and gate.passed for s, gate in zip(significant, gates, strict=True)]
    caution = name_caution([effect.summary.estimate for effect in members], counted)
    withheld = tuple(
        short_name(effect.contrast.outcome, effect.contrast.name)
        for effect, s, gate in zip(members, significant, gates, strict=True)
        if s and not gate.passed
    )
    scope = f"under this judge ({judge})"
    pilot = f"pilot of {items} items" if items <= PILOT_ITEMS else f"{items} items"
    said = {
        "none": f"no significant contrast {scope}",
        "mixed": f"significant contrasts in both directions {scope}",
    }.get(caution, f"{caution} {scope}")
    if withheld:
        said += (
            f"; withheld, since the judge is frame-sensitive or unreliable: {', '.join(withheld)}"
        )
    return Claim(caution, withheld, f"{said}; {pilot}")
