"""What unscored rows could do to a contrast, and whether they depend on the frame."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from parallax.errors import DataError
from parallax.stats.contrasts import CONTRASTS, FRAMES, count_cells, frame_differences
from parallax.stats.items import Floats, ItemDifferences
from parallax.stats.multiplicity import holm
from parallax.stats.signflip import SignFlip, sign_flip


@dataclasses.dataclass(frozen=True)
class AbstentionBounds:
    """A contrast on scored rows and under the worst cases of abstention, fractions of 1.

    `lowest` takes every unscored row as 0 under the first frame and 1 under the second, `highest`
    the reverse; the contrast of fully scored rows lies between. `sign_survives` says that both
    bounds are on the same side of 0. `p_lowest` and `p_highest` are sign-flip p-values there.
    """

    scored: float
    lowest: float
    highest: float
    p_scored: float
    p_lowest: float
    p_highest: float
    unscored_first: int
    unscored_second: int
    sign_survives: bool


@dataclasses.dataclass(frozen=True)
class AbstentionRates:
    """Unscored share per frame, and sign-flip tests of its contrasts, Holm-adjusted together."""

    rates: tuple[float, ...]
    contrasts: tuple[tuple[str, str], ...]
    estimates: tuple[float, ...]
    tests: tuple[SignFlip, ...]
    adjusted: tuple[float, ...]


def abstention_bounds(
    outcomes: Floats,
    first: str,
    second: str,
    frames: Sequence[str] = FRAMES,
    rng: np.random.Generator | None = None,
) -> AbstentionBounds:
    """Bound the contrast first - second over everything that unscored rows might have been.

    NaN is an unscored row of a response that exists; shape (items, paraphrases, frames, draws).
    `rng` is used only where the exact test would be too large.

    Raises:
        DataError: malformed outcomes, or a frame that `frames` lacks.
    """
    observed = frame_differences(outcomes, first, second, frames)
    a, b = frames.index(first), frames.index(second)
    lowest = frame_differences(_filled(outcomes, a, b), first, second, frames)
    highest = frame_differences(_filled(outcomes, b, a), first, second, frames)
    low, high = lowest.estimate, highest.estimate
    return AbstentionBounds(
        scored=observed.estimate,
        lowest=low,
        highest=high,
        p_scored=sign_flip(observed, rng).p_value,
        p_lowest=sign_flip(lowest, rng).p_value,
        p_highest=sign_flip(highest, rng).p_value,
        unscored_first=int(np.isnan(outcomes[:, :, a]).sum()),
        unscored_second=int(np.isnan(outcomes[:, :, b]).sum()),
        sign_survives=low > 0 or high < 0,
    )


def abstention_rates(
    outcomes: Floats,
    frames: Sequence[str] = FRAMES,
    contrasts: Sequence[tuple[str, str]] = CONTRASTS,
    rng: np.random.Generator | None = None,
) -> AbstentionRates:
    """Test whether rows are unscored more often under one frame than under another.

    The same item-level contrast and sign-flip test as for a category, on 1[unscored].
    Shape (items, paraphrases, frames, draws).

    Raises:
        DataError: malformed outcomes, or a frame that `frames` lacks.
    """
    count_cells(outcomes)
    if not outcomes.size:
        raise DataError(f"outcomes of shape {outcomes.shape} hold no rows: nothing to test")
    unscored = np.isnan(outcomes).astype(np.float64)
    differences: list[ItemDifferences] = [
        frame_differences(unscored, first, second, frames) for first, second in contrasts
    ]
    tests = tuple(sign_flip(difference, rng) for difference in differences)
    return AbstentionRates(
        rates=tuple(float(rate) for rate in unscored.mean(axis=(0, 1, 3))),
        contrasts=tuple(contrasts),
        estimates=tuple(difference.estimate for difference in differences),
        tests=tests,
        adjusted=tuple(float(p) for p in holm([test.p_value for test in tests])),
    )


def _filled(outcomes: Floats, zero_frame: int, one_frame: int) -> Floats:
    """Copy with the unscored rows of one frame set to 0 and of the other to 1."""
    filled = outcomes.copy()
    for frame, value in ((zero_frame, 0.0), (one_frame, 1.0)):
        cells = filled[:, :, frame]
        cells[np.isnan(cells)] = value
    return filled
