"""Sign-flip test with whole source families as the exchangeable unit."""

from collections.abc import Sequence
from fractions import Fraction

from parallax.errors import DataError
from parallax.stats.items import ItemDifferences


def family_sums(differences: ItemDifferences, families: Sequence[str]) -> ItemDifferences:
    """Sum the defined differences of each source family, families sorted by name.

    D_g = sum of d_i over the items of family g. `sign_flip(family_sums(...))` flips a family's
    items together, with the same statistic sum_i d_i: valid when items of a family depend on
    each other. The sums are no rates: take the estimate from the items.

    Raises:
        DataError: not one family per item.
    """
    if len(families) != len(differences.numerators):
        raise DataError(
            f"{len(families)} families for {len(differences.numerators)} items: give one per item"
        )
    sums: dict[str, Fraction] = {}
    for family, value in zip(families, differences.fractions, strict=True):
        if value is not None:
            sums[family] = sums.get(family, Fraction(0)) + value
    return ItemDifferences.from_fractions(sums[family] for family in sorted(sums))
