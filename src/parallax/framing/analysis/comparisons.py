"""Differences of differences: between judges on one subject, and between subjects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from parallax.framing.analysis.effects import (
    LOG_ODDS,
    Contrast,
    Effect,
    exact_differences,
    find_effect,
)
from parallax.params import SizePair, TunedPair
from parallax.seeding import derive_seed
from parallax.stats.contrasts import CONTRASTS
from parallax.stats.items import Floats, ItemDifferences
from parallax.stats.labels import PRIMARY_FAMILY
from parallax.stats.pairs import (
    CochranQ,
    Omnibus,
    bootstrap_omnibus,
    cochran_q,
    paired_difference,
)


@dataclass(frozen=True)
class Across:
    """One contrast over all subjects.

    `cochran` compares the shares of items that moved towards caution under E (None for a
    continuous outcome), `omnibus` the mean effects.
    """

    outcome: str
    contrast: str
    cochran: CochranQ | None
    omnibus: Omnibus


def order_pair(pair: TunedPair | SizePair) -> tuple[str, str]:
    """Return the two subjects of a pair as (instruct, base) or (large, small)."""
    if isinstance(pair, TunedPair):
        return pair.instruct, pair.base
    return pair.large, pair.small


def pair_contrasts(first: Sequence[Effect], second: Sequence[Effect]) -> list[Contrast]:
    """Return d_i(first) - d_i(second) of the preregistered contrasts, a family of their own.

    "Significant in one and not in the other" is no evidence of a difference; this is.
    """
    found = []
    for member in PRIMARY_FAMILY:
        a, b = (exact_differences(find_effect(e, member)) for e in (first, second))
        name = f"{member.first}-{member.second}"
        found.append(Contrast(member.category, name, "primary", None, paired_difference(a, b)))
    return found


def pair_log_odds(first: Sequence[Effect], second: Sequence[Effect]) -> list[Contrast]:
    """Return the same of the log-odds' contrasts between frames, nats."""
    return [
        Contrast(LOG_ODDS, name, "exploratory", None, a - b)
        for name in (f"{x}-{y}" for x, y in CONTRASTS)
        for a, b in [(_continuous(first, name), _continuous(second, name))]
    ]


def compare_subjects(
    effects: Mapping[str, Sequence[Effect]], seed: int, judge: str
) -> list[Across]:
    """Test whether the subjects have one effect, contrast by contrast; two subjects or more."""
    found = []
    for member in PRIMARY_FAMILY:
        table = np.column_stack(
            [exact_differences(find_effect(rows, member)).values for rows in effects.values()]
        )
        moved = np.where(np.isnan(table), np.nan, member.cautious_sign * table > 0)
        name = f"{member.first}-{member.second}"
        omnibus = _omnibus(table, seed, judge, member.category, name)
        found.append(Across(member.category, name, cochran_q(moved), omnibus))
    return found


def compare_log_odds(effects: Mapping[str, Sequence[Effect]], seed: int) -> list[Across]:
    """Test the same for the log-odds' contrasts with E."""
    found = []
    for name in (f"{first}-{second}" for first, second in CONTRASTS if first == "E"):
        table = np.column_stack([_continuous(rows, name) for rows in effects.values()])
        found.append(Across(LOG_ODDS, name, None, _omnibus(table, seed, "", LOG_ODDS, name)))
    return found


def _omnibus(table: Floats, *place: object) -> Omnibus:
    return bootstrap_omnibus(table, np.random.default_rng(derive_seed("across", *place)))


def _continuous(effects: Sequence[Effect], name: str) -> Floats:
    return next(
        effect.contrast.differences
        for effect in effects
        if effect.contrast.name == name
        and not isinstance(effect.contrast.differences, ItemDifferences)
    )
