"""From judged draws to per-item contrasts between frames.

Outcomes have shape (items, paraphrases, frames, draws) and hold 1 (the response is of the category
in question), 0 (it is not) or NaN (unscored). Generations are never pooled: the item is the unit.
"""

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import numpy as np

from parallax.errors import DataError
from parallax.stats.items import Floats, Ints, ItemDifferences

FRAMES = ("E", "D", "N")
CONTRASTS = (("E", "N"), ("E", "D"), ("D", "N"))
# Items that must have moved before an interval and a spread are believed; see `least_nonzero`.
LEAST_NONZERO, LEAST_NONZERO_OF_MANY, LEAST_NONZERO_SHARE = 8, 15, 0.4

Direction = Literal[-1, 1]


@dataclasses.dataclass(frozen=True)
class SignCounts:
    """How many items moved, and which way.

    `inverted` counts the items against the preregistered direction, None without one;
    `few_nonzero` warns that fewer than `least_nonzero` items moved at all.
    """

    positive: int
    zero: int
    negative: int
    undefined: int
    inverted: int | None
    few_nonzero: bool


def least_nonzero(items: int) -> int:
    """Fewest items that must have moved for the interval of `items` items to be believed.

    max(8, min(15, ceil(0.4 items))): 8 of 20, 12 of 30, 15 of 38 or more. Where fewer move, the
    items that would have moved most are apt to be missing, and both the interval and the spread
    come out too small: simulated coverage falls to .6, with this many it is .93 or more
    (docs/proof.md).
    """
    share = math.ceil(LEAST_NONZERO_SHARE * items)
    return max(LEAST_NONZERO, min(LEAST_NONZERO_OF_MANY, share))


def count_cells(outcomes: Floats) -> tuple[Ints, Ints]:
    """Count successes and scored draws per cell.

    Returns two arrays of shape (items, paraphrases, frames).

    Raises:
        DataError: not four axes, or a value other than 0, 1 and NaN.
    """
    if outcomes.ndim != 4:
        raise DataError(
            f"outcomes have shape {outcomes.shape}: give (items, paraphrases, frames, draws)"
        )
    scored = ~np.isnan(outcomes)
    strange = scored & (outcomes != 0) & (outcomes != 1)
    if strange.any():
        place = tuple(int(axis) for axis in np.argwhere(strange)[0])
        raise DataError(
            f"outcome at (item, paraphrase, frame, draw) {place} is {outcomes[place]:g}:"
            " use 0, 1, or NaN for unscored"
        )
    successes = (outcomes == 1).sum(axis=-1, dtype=np.int64)
    return successes, scored.sum(axis=-1, dtype=np.int64)


def cell_means(outcomes: Floats) -> Floats:
    """Mean over the scored draws of a cell, NaN where none is scored.

    q[i,p,f] = sum_k y[i,p,f,k] / (number of scored k); framing protocol, item-level analysis.
    Shape (items, paraphrases, frames), fractions of 1.
    """
    successes, scored = count_cells(outcomes)
    means = np.full(successes.shape, np.nan)
    np.divide(successes, scored, out=means, where=scored > 0)
    return means


def frame_differences(
    outcomes: Floats, first: str, second: str, frames: Sequence[str] = FRAMES
) -> ItemDifferences:
    """Exact per-item contrast of two frames.

    d[i] = mean over paraphrases of (q[i,p,first] - q[i,p,second]). A paraphrase enters when both
    of its cells have a scored draw; an item with no such paraphrase is undefined, one with some
    but not all is counted as `partial`. `frames` names the third axis of `outcomes`.

    Raises:
        DataError: malformed outcomes, or a frame that `frames` lacks.
    """
    successes, scored = count_cells(outcomes)
    a, b = (_frame_index(frame, frames, outcomes.shape[2]) for frame in (first, second))
    return _mean_of_pairs(successes[..., a], scored[..., a], successes[..., b], scored[..., b])


def paraphrase_frame_differences(
    outcomes: Floats, first: str, second: str, frames: Sequence[str] = FRAMES
) -> tuple[ItemDifferences, ...]:
    """The contrast of two frames within each paraphrase: d[i,p] = q[i,p,first] - q[i,p,second].

    Returns one `ItemDifferences` per paraphrase. Raises as `frame_differences`.
    """
    return tuple(
        frame_differences(outcomes[:, [paraphrase]], first, second, frames)
        for paraphrase in range(outcomes.shape[1])
    )


def placebo_differences(
    outcomes: Floats, frame: str, frames: Sequence[str] = FRAMES, pair: tuple[int, int] = (0, 1)
) -> ItemDifferences:
    """The placebo contrast of two paraphrases within one frame: q[i,p1,frame] - q[i,p2,frame].

    The paraphrases are matched in meaning, so a frame effect no larger than this is wording.

    Raises:
        DataError: malformed outcomes, an unknown frame, or a paraphrase index out of range.
    """
    successes, scored = count_cells(outcomes)
    where = _frame_index(frame, frames, outcomes.shape[2])
    for paraphrase in pair:
        if not 0 <= paraphrase < outcomes.shape[1]:
            raise DataError(
                f"paraphrase index {paraphrase}: the outcomes have {outcomes.shape[1]} paraphrases"
            )
    columns = [successes[:, [pair[0]], where], scored[:, [pair[0]], where]]
    columns += [successes[:, [pair[1]], where], scored[:, [pair[1]], where]]
    return _mean_of_pairs(*columns)


def continuous_differences(
    cells: Floats, first: str, second: str, frames: Sequence[str] = FRAMES
) -> Floats:
    """Per-item contrast of a continuous outcome, such as log-odds in nats; shape (items,).

    d[i] = mean over paraphrases of (x[i,p,first] - x[i,p,second]) over the paraphrases for which
    both are known; NaN without any. `cells` has shape (items, paraphrases, frames).

    Raises:
        DataError: not three axes, or a frame that `frames` lacks.
    """
    if cells.ndim != 3:
        raise DataError(f"cells have shape {cells.shape}: give (items, paraphrases, frames)")
    a, b = (_frame_index(frame, frames, cells.shape[2]) for frame in (first, second))
    pairs = cells[..., a] - cells[..., b]
    known = ~np.isnan(pairs)
    values = np.full(len(pairs), np.nan)
    np.divide(np.nansum(pairs, axis=1), known.sum(axis=1), out=values, where=known.any(axis=1))
    return values


def count_signs(
    differences: ItemDifferences | Floats, direction: Direction | None = None
) -> SignCounts:
    """Count items above, at and below zero, and those against the preregistered direction.

    The signs of exact differences are those of their integer numerators, so a zero is a zero.
    """
    if isinstance(differences, ItemDifferences):
        signs = np.sign(differences.numerators[differences.denominators > 0])
        undefined = differences.undefined
    else:
        signs = np.sign(differences[~np.isnan(differences)]).astype(np.int64)
        undefined = len(differences) - len(signs)
    positive, zero, negative = (int(np.count_nonzero(signs == sign)) for sign in (1, 0, -1))
    return SignCounts(
        positive=positive,
        zero=zero,
        negative=negative,
        undefined=undefined,
        inverted=None if direction is None else (negative if direction > 0 else positive),
        few_nonzero=positive + negative < least_nonzero(positive + zero + negative),
    )


def _frame_index(frame: str, frames: Sequence[str], width: int) -> int:
    if len(frames) != width:
        raise DataError(f"{len(frames)} frame names for an axis of {width}: name every frame once")
    if frame not in frames:
        raise DataError(f"unknown frame {frame!r}: choose one of {', '.join(frames)}")
    return frames.index(frame)


def _mean_of_pairs(
    successes_a: Ints, scored_a: Ints, successes_b: Ints, scored_b: Ints
) -> ItemDifferences:
    """Average k_a/n_a - k_b/n_b over the pairs with n_a, n_b > 0; all of shape (items, pairs)."""
    usable = (scored_a > 0) & (scored_b > 0)
    pairs = usable.sum(axis=1)
    partial = int(np.count_nonzero((pairs > 0) & (pairs < usable.shape[1])))
    k_a, n_a, k_b, n_b = (array[usable] for array in (successes_a, scored_a, successes_b, scored_b))
    # Every n divides `common`, so that each term is whole in units of 1 / common.
    common = math.lcm(*np.unique([n_a, n_b]).tolist())
    large = common * usable.shape[1] * int(max(n_a.max(initial=1), n_b.max(initial=1))) >= 2**62
    terms = np.zeros(usable.shape, dtype=object if large else np.int64)
    terms[usable] = k_a * (common // n_a.astype(terms.dtype))
    terms[usable] -= k_b * (common // n_b.astype(terms.dtype))
    numerators = terms.sum(axis=1)
    denominators = pairs.astype(terms.dtype) * common
    if large:
        values = zip(numerators.tolist(), denominators.tolist(), strict=True)
        return ItemDifferences.from_fractions(
            (Fraction(n, d) if d else None for n, d in values), partial
        )
    # An item without pairs has numerator and denominator 0, of which 0 is the common divisor.
    divisors = np.maximum(np.gcd(numerators, denominators), 1)
    return ItemDifferences(numerators // divisors, denominators // divisors, partial)
