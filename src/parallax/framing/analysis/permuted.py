"""The check that the test stays quiet where there is nothing: the same logs, frames shuffled.

The frames are permuted within an item: all draws and paraphrases that an item has under a frame
keep together. That is the null hypothesis of the item-level test, under which the frames are
exchangeable item by item, whatever ties the draws of an item to each other. Permuting single draws
would also break those ties, and a test that wrongly pooled draws would pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parallax.stats.contrasts import FRAMES, frame_differences
from parallax.stats.items import Floats, Ints
from parallax.stats.labels import PRIMARY_FAMILY, FamilyMember
from parallax.stats.multiplicity import holm
from parallax.stats.proportions import Proportion, binomial_interval
from parallax.stats.signflip import sign_flip

COPIES = 200


@dataclass(frozen=True)
class PermutedCheck:
    """Share of copies with p <= alpha: raw p of each contrast, and any of the family after Holm.

    `passed`: no share lies above alpha beyond chance, that is, no interval lies above it whole. The
    intervals hold together at 1 - alpha (Bonferroni over the shares), so that a sound test fails
    with a probability of alpha / 2 at most. A contrast that the judge cannot tell has None.
    """

    contrasts: tuple[Proportion | None, ...]
    family: Proportion
    copies: int
    passed: bool


def permute_frames(values: Floats, orders: Ints) -> Floats:
    """Reorder the frames of each item, (I, V, F, K), by `orders`, (I, F)."""
    return np.take_along_axis(values, orders[:, None, :, None], axis=2)


def check_permuted(
    outcomes: Sequence[Floats],
    alpha: float,
    rng: np.random.Generator,
    copies: int = COPIES,
    family: Sequence[FamilyMember] = PRIMARY_FAMILY,
) -> PermutedCheck:
    """Test `copies` copies of the logs with permuted frames.

    `outcomes` holds one array (I, V, F, K), frames E, D, N, per member of `family`.
    """
    items = len(outcomes[0])
    labels = np.tile(np.arange(len(FRAMES)), (items, 1))
    p_values = np.full((copies, len(family)), np.nan)
    for copy in range(copies):
        orders = rng.permuted(labels, axis=1)
        for place, (member, values) in enumerate(zip(family, outcomes, strict=True)):
            shuffled = permute_frames(values, orders)
            differences = frame_differences(shuffled, member.first, member.second)
            p_values[copy, place] = sign_flip(differences, rng).p_value
    adjusted = np.array([holm(row) for row in p_values])
    level = alpha / (len(family) + 1)
    contrasts = tuple(
        None if np.isnan(column).all() else _share(column <= alpha, level) for column in p_values.T
    )
    any_rejected = _share(np.any(adjusted <= alpha, axis=1), level)
    passed = all(share is None or share.low <= alpha for share in (*contrasts, any_rejected))
    return PermutedCheck(contrasts, any_rejected, copies, passed)


def _share(rejected: NDArray[np.bool_], level: float) -> Proportion:
    return binomial_interval(int(np.count_nonzero(rejected)), len(rejected), level)
