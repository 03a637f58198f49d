"""The other way round: which design detects an effect, and what it costs in generations."""

import dataclasses
import math
from collections.abc import Sequence

from parallax.errors import DataError
from parallax.stats.power import items_needed
from parallax.stats.spread import PilotSpread, spread_at


@dataclasses.dataclass(frozen=True)
class Design:
    """Items x versions x frames x draws, and the deviation of d[i] that it is planned with."""

    items: int
    versions: int
    draws: int
    frames: int
    sd: float

    @property
    def generations(self) -> int:
        """Responses to draw from one model."""
        return self.items * self.versions * self.frames * self.draws


def fit_design(
    pilot: PilotSpread,
    versions: int,
    draws: int,
    effect: float,
    target: float = 0.8,
    alpha: float = 0.05,
    frames: int = 3,
) -> Design:
    """Return the design with the fewest items that detects `effect` with probability `target`.

    At least so many that the sign-flip test can reject at all: its least p is 2 / 2^n.

    Raises:
        DataError: the pilot shows no spread, the effect is 0, or a level is out of range.
    """
    sd = spread_at(pilot, versions, draws).sd
    if sd == 0:
        raise DataError(
            "no item moved in the pilot, so that nothing is known of its spread: choose another"
            " outcome or a larger pilot"
        )
    items = max(items_needed(effect, sd, target, alpha), math.ceil(1 - math.log2(alpha)))
    return Design(items, versions, draws, frames, sd)


def cheapest(designs: Sequence[Design], most_items: int) -> Design | None:
    """Return the design with the fewest generations of those with at most `most_items` items.

    The fewer items of two that cost the same; None where all need more. Items are what limits: the
    generations, n P K, that an effect needs are in proportion to P K Var d = v_a P K + v_b K + v_c,
    so that one draw of as few versions as possible is cheapest wherever there are items enough.
    """
    fitting = [design for design in designs if design.items <= most_items]
    return min(fitting, key=lambda design: (design.generations, design.items), default=None)
