"""What may be said of a subject: the word, and what stands in its way."""

from collections.abc import Sequence
from dataclasses import dataclass

from parallax.framing.analysis.doubts import Doubt
from parallax.framing.analysis.effects import FAMILY_NAMES, Effect, find_effect
from parallax.stats.labels import PRIMARY_FAMILY, Caution, name_caution

PILOT_ITEMS = 20


@dataclass(frozen=True)
class Claim:
    """The direction that a subject's significant contrasts share under one judge.

    `withheld` names the significant ones on which a doubt lets no claim rest; the others count.
    `text` is the claim as a sentence, with the doubts by their names.
    """

    caution: Caution
    withheld: tuple[str, ...]
    doubts: tuple[Doubt, ...]
    text: str


def make_claim(effects: Sequence[Effect], doubts: Sequence[Doubt], judge: str, items: int) -> Claim:
    """Name what a subject's contrasts under one judge allow to say."""
    members = [find_effect(effects, member) for member in PRIMARY_FAMILY]
    barred = {name for doubt in doubts if doubt.withholds for name in doubt.contrasts}
    significant = [effect.verdict.significant for effect in members]
    counted = [s and name not in barred for name, s in zip(FAMILY_NAMES, significant, strict=True)]
    caution = name_caution([effect.summary.estimate for effect in members], counted)
    withheld = tuple(
        name for name, s in zip(FAMILY_NAMES, significant, strict=True) if s and name in barred
    )
    scope = f"under this judge ({judge})"
    said = {
        "none": f"no significant contrast {scope}",
        "mixed": f"significant contrasts in both directions {scope}",
    }.get(caution, f"{caution} {scope}")
    pilot = f"pilot of {items} items" if items <= PILOT_ITEMS else f"{items} items"
    parts = (said, *_list_doubts(doubts, withheld), pilot)
    return Claim(caution, withheld, tuple(doubts), "; ".join(parts))


def _list_doubts(doubts: Sequence[Doubt], withheld: Sequence[str]) -> list[str]:
    """Return "withheld: refusal_E-N (judge)" and "in doubt: placebo", as far as they apply."""
    reasons = {
        name: [doubt.check for doubt in doubts if doubt.withholds and name in doubt.contrasts]
        for name in withheld
    }
    barred = [f"{name} ({', '.join(checks)})" for name, checks in reasons.items()]
    told = {check for checks in reasons.values() for check in checks}
    others = dict.fromkeys(doubt.check for doubt in doubts if doubt.check not in told)
    said = [f"withheld: {', '.join(barred)}"] if barred else []
    return [*said, f"in doubt: {', '.join(others)}"] if others else said
