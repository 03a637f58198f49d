"""Is the effect one of the frame, or of one wording of the requests?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parallax.framing.analysis.effects import Effect, exact_differences, find_named
from parallax.stats.labels import PRIMARY_FAMILY
from parallax.stats.multiplicity import holm
from parallax.stats.pairs import paired_difference
from parallax.stats.signflip import sign_flip


@dataclass(frozen=True)
class Versions:
    """A contrast in body and paraphrase, fractions of 1, and the test of their difference.

    `p_values` are each version's own; `p_value` is the sign-flip test of d_i(body) -
    d_i(paraphrase), `adjusted` Holm's over the preregistered contrasts.
    """

    estimates: tuple[float, float]
    p_values: tuple[float, float]
    p_value: float
    adjusted: float

    def shown_by_lesser(self, whole: float, alpha: float) -> bool:
        """Say whether the version with less of an effect of the sign of `whole` shows it, too."""
        first, second = self.estimates
        lesser = int(first > second) if whole > 0 else int(first < second)
        return self.p_values[lesser] <= alpha and self.estimates[lesser] * whole > 0


def compare_versions(
    effects: Sequence[Effect], told: Sequence[str], rng: np.random.Generator
) -> tuple[Versions | None, ...]:
    """Compare the versions in each preregistered contrast; None for what the judge cannot tell.

    `effects` are a subject's under one judge, `told` the categories that it can tell.
    """
    pairs = []
    for member in PRIMARY_FAMILY:
        name = f"{member.first}-{member.second}"
        pairs.append(
            tuple(find_named(effects, member.category, f"{name} in p{p}") for p in (0, 1))
            if member.category in told
            else None
        )
    tests = [
        None
        if pair is None
        else sign_flip(paired_difference(*map(exact_differences, pair)), rng).p_value
        for pair in pairs
    ]
    adjusted = holm([float("nan") if p is None else p for p in tests])
    return tuple(
        None
        if pair is None or p is None
        else Versions(
            (pair[0].summary.estimate, pair[1].summary.estimate),
            (pair[0].summary.test.p_value, pair[1].summary.test.p_value),
            p,
            float(together),
        )
        for pair, p, together in zip(pairs, tests, adjusted, strict=True)
    )
