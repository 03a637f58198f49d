"""Adjusted p-values for families of tests.

An undefined test (NaN) stays NaN but counts as a member of its family with p = 1: the family was
fixed before the data, and dropping a member would make the others look better.
"""

from collections.abc import Sequence

import numpy as np

from parallax.errors import DataError
from parallax.stats.items import Floats


def holm(p_values: Sequence[float] | Floats) -> Floats:
    """Holm's step-down adjustment, controlling the family-wise error rate (Holm 1979).

    p~_(j) = max_{i <= j} min(1, (m - i + 1) p_(i)), p_(1) <= ... <= p_(m). Shape (tests,).

    Raises:
        DataError: a p-value outside [0, 1].
    """
    p, order = _ordered(p_values)
    factors = np.arange(p.size, 0, -1)
    adjusted = np.maximum.accumulate(np.minimum(1.0, factors * p[order]))
    return _restored(adjusted, order, p_values)


def benjamini_hochberg(p_values: Sequence[float] | Floats) -> Floats:
    """Benjamini-Hochberg step-up adjustment, controlling the false discovery rate (1995).

    p~_(j) = min_{i >= j} min(1, m p_(i) / i), p_(1) <= ... <= p_(m). Shape (tests,).

    Raises:
        DataError: a p-value outside [0, 1].
    """
    p, order = _ordered(p_values)
    scaled = p[order] * p.size / np.arange(1, p.size + 1)
    adjusted = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return _restored(adjusted, order, p_values)


def _ordered(
    p_values: Sequence[float] | Floats,
) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.intp]]]:
    p = np.asarray(p_values, dtype=np.float64).reshape(-1)
    strange = np.flatnonzero((p < 0) | (p > 1))
    if strange.size:
        place = int(strange[0])
        raise DataError(
            f"p-value {place} is {p[place]:g}: p-values lie in [0, 1], NaN if undefined"
        )
    p = np.where(np.isnan(p), 1.0, p)
    return p, np.argsort(p, kind="stable")


def _restored(
    adjusted: Floats,
    order: np.ndarray[tuple[int], np.dtype[np.intp]],
    p_values: Sequence[float] | Floats,
) -> Floats:
    original = np.asarray(p_values, dtype=np.float64).reshape(-1)
    restored = np.empty_like(adjusted)
    restored[order] = adjusted
    return np.where(np.isnan(original), np.nan, restored)
