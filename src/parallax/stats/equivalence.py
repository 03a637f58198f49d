"""Equivalence: is the effect shown to be smaller than the smallest effect of interest?"""

import dataclasses

from scipy import special

from parallax.errors import DataError
from parallax.stats.intervals import is_degenerate, standard_error
from parallax.stats.items import Floats, ItemDifferences, known_values, mean


@dataclasses.dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests against -margin and +margin.

    `p_value` is the larger of the two; all are NaN on constant data or under two items.
    """

    p_value: float
    p_lower: float
    p_upper: float
    margin: float
    items: int


def tost(differences: ItemDifferences | Floats, margin: float) -> Equivalence:
    """Test |mean difference| >= margin against |mean difference| < margin (Schuirmann 1987).

    p_lower = P(T >= (mean + margin) / se), p_upper = P(T <= (mean - margin) / se), T with n - 1
    degrees of freedom, p = max of both. p <= alpha exactly when the 1 - 2 alpha t interval lies
    inside (-margin, margin). Shape (items,); `margin` in the units of the differences.

    Raises:
        DataError: `margin` is not above 0.
    """
    if not margin > 0:
        raise DataError(f"equivalence margin {margin}: give a number above 0, such as 0.05")
    values = known_values(differences)
    if is_degenerate(values):
        nan = float("nan")
        return Equivalence(nan, nan, nan, margin, values.size)
    error = standard_error(values)
    freedom = values.size - 1
    p_lower = float(special.stdtr(freedom, -(mean(values) + margin) / error))
    p_upper = float(special.stdtr(freedom, (mean(values) - margin) / error))
    return Equivalence(max(p_lower, p_upper), p_lower, p_upper, margin, values.size)
