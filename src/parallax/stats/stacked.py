"""The tests of one contrast, over a stack of simulated data sets at once.

Twins of `sign_flip`, `t_interval`, `tost`, `count_signs` and `minimum_detectable_effect` for data
sets whose items share one denominator; tests compare each with its twin on random tables.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy import special

from parallax.stats.contrasts import least_nonzero
from parallax.stats.items import Floats, Ints, check_alpha
from parallax.stats.power import minimum_detectable_effect

# Cells of the largest table of characteristic functions, 32 MiB of float64.
MAX_CELLS = 2**22


@dataclasses.dataclass(frozen=True, eq=False)
class StackedContrast:
    """One contrast of every data set, arrays of shape (sets,); effects in fractions of 1.

    `equivalence_p` is NaN on constant data, as `tost` has it, and so is `detectable`, which is NaN
    for few moving items, too.
    """

    estimates: Floats
    sds: Floats
    p_values: Floats
    equivalence_p: Floats
    detectable: Floats
    few_nonzero: NDArray[np.bool_]


def stack_contrasts(units: Ints, denominator: int, margin: float, alpha: float) -> StackedContrast:
    """Analyse item differences `units / denominator`, shape (sets, items) with two items or more.

    `margin` is the smallest effect of interest, a fraction of 1.
    """
    check_alpha(alpha)
    items = units.shape[1]
    estimates = units.mean(axis=1) / denominator
    sds = units.std(axis=1, ddof=1) / denominator
    sds[(units == units[:, :1]).all(axis=1)] = 0.0
    errors = np.where(sds > 0, sds, np.nan) / np.sqrt(items)
    few = np.count_nonzero(units, axis=1) < least_nonzero(items)
    known = np.where((sds > 0) & ~few, sds, np.nan)
    return StackedContrast(
        estimates=estimates,
        sds=sds,
        p_values=stack_sign_flips(units),
        equivalence_p=np.asarray(special.stdtr(items - 1, (np.abs(estimates) - margin) / errors)),
        detectable=known * minimum_detectable_effect(items, 1.0, alpha=alpha),
        few_nonzero=few,
    )


def stack_sign_flips(units: Ints) -> Floats:
    """Exact two-sided sign-flip p of each data set; shape (sets, items) to (sets,).

    P(|X| >= |x|) for X = sum_i s_i a_i with fair signs. With |X| <= L and w_k = 2 pi k / W for an
    odd W > L, the lattice sum is inverted over its characteristic function (Gil-Pelaez 1951):

        P(|X| < T) = (1/W) sum_k [prod_i cos(a_i w_k / 2)] sin((T - 1) w_k / 2) / sin(w_k / 2)

    with T - 1 for the term k = 0; X has the parity of L, and W odd keeps every cosine from 0. The
    absolute error is about 1e-14 T.
    """
    magnitudes = np.abs(units)
    observed = np.abs(units.sum(axis=1))
    p_values = np.ones(len(units))
    moved = np.flatnonzero(observed)
    if not moved.size:
        return p_values
    values, counts = _count_magnitudes(magnitudes[moved])
    period = int(magnitudes.sum(axis=1).max()) + 1
    period += 1 - period % 2
    half = np.pi * np.arange(1, (period + 1) // 2) / period  # w_k / 2, k > 0; k < 0 is the same
    cosines = np.cos(np.outer(values, half))
    logs, signs = np.log(np.abs(cosines)), (cosines < 0).astype(np.float64)
    sines = np.sin(half)
    rows = max(1, MAX_CELLS // half.size)
    for start in range(0, moved.size, rows):
        some = slice(start, start + rows)
        waves = np.exp(counts[some] @ logs) * (1 - 2 * (counts[some] @ signs % 2))
        last = observed[moved[some]] - 1
        waves *= np.sin(np.outer(last, half)) / sines
        p_values[moved[some]] = 1 - (last + 2 * waves.sum(axis=1)) / period
    return np.clip(p_values, 0.0, 1.0)


def _count_magnitudes(magnitudes: Ints) -> tuple[Ints, Floats]:
    """The magnitudes above 0 that occur, and how often in each data set: (sets, magnitudes)."""
    sets, width = len(magnitudes), int(magnitudes.max()) + 1
    flat = magnitudes + width * np.arange(sets)[:, None]
    counts = np.bincount(flat.ravel(), minlength=sets * width).reshape(sets, width)
    values = np.flatnonzero(counts[:, 1:].any(axis=0)) + 1
    return values, counts[:, values].astype(np.float64)
