"""Exact per-item differences: the unit on which every test and interval of the framing half works.

A difference of means of 0/1 draws is a fraction of two integers. Keeping it so lets a test decide
ties exactly, which floating-point numbers cannot.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from parallax.errors import DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class ItemDifferences:
    """One exact difference per item, `numerators / denominators`, in fractions of 1.

    Shapes (items,). A denominator of 0 marks an undefined item (nothing scored). `partial` counts
    defined items for which only some of the paraphrases could be used.
    """

    numerators: Ints
    denominators: Ints
    partial: int = 0

    @classmethod
    def from_fractions(cls, values: Iterable[Fraction | None], partial: int = 0) -> Self:
        """Pack exact values; None is an undefined item.

        Raises:
            DataError: a numerator or denominator needs more than 63 bits.
        """
        pairs = [
            (0, 0) if value is None else (value.numerator, value.denominator) for value in values
        ]
        for place, pair in enumerate(pairs):
            if max(abs(number) for number in pair) >= 2**63:
                raise DataError(
                    f"item {place}: difference {pair[0]}/{pair[1]} needs more than 63 bits;"
                    " use the same number of scored draws in every cell"
                )
        table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return cls(table[:, 0], table[:, 1], partial)

    @classmethod
    def from_units(cls, units: Sequence[int] | Ints, denominator: int) -> Self:
        """Pack differences `units / denominator` that share one denominator >= 1."""
        if denominator < 1:
            raise DataError(f"denominator {denominator}: give a whole number of at least 1")
        return cls.from_fractions(Fraction(int(unit), denominator) for unit in units)

    @property
    def fractions(self) -> list[Fraction | None]:
        """The differences as exact fractions, None where undefined."""
        return [
            Fraction(int(numerator), int(denominator)) if denominator else None
            for numerator, denominator in zip(self.numerators, self.denominators, strict=True)
        ]

    @property
    def values(self) -> Floats:
        """The differences as floats, NaN where undefined; shape (items,)."""
        values = np.full(self.numerators.shape, np.nan)
        np.divide(self.numerators, self.denominators, out=values, where=self.denominators > 0)
        return values

    @property
    def defined(self) -> int:
        """Number of items with a difference."""
        return int(np.count_nonzero(self.denominators))

    @property
    def undefined(self) -> int:
        """Number of items without one."""
        return len(self.numerators) - self.defined

    @property
    def estimate(self) -> float:
        """Mean over the defined items, a fraction of 1; NaN without any."""
        return mean(self.values)


def mean(values: Floats) -> float:
    """Mean over the entries that are not NaN; NaN without any."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def known_values(differences: ItemDifferences | Floats) -> Floats:
    """The defined values as floats, shape (defined items,); accepts exact or float differences.

    Raises:
        DataError: an array that is not one-dimensional, or an infinite value.
    """
    values = differences.values if isinstance(differences, ItemDifferences) else differences
    if values.ndim != 1:
        raise DataError(f"differences have shape {values.shape}: give one value per item")
    if np.isinf(values).any():
        place = int(np.flatnonzero(np.isinf(values))[0])
        raise DataError(f"item {place}: difference {values[place]}; use NaN for an undefined item")
    return np.asarray(values[~np.isnan(values)], dtype=np.float64)


def check_alpha(alpha: float) -> None:
    """Refuse an error level outside (0, 1).

    Raises:
        DataError: `alpha` is not strictly between 0 and 1.
    """
    if not 0 < alpha < 1:
        raise DataError(f"error level {alpha}: choose a number between 0 and 1, such as 0.05")
