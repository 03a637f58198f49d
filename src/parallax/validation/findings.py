"""Finders: pure functions from a data frame to its offending rows, kept by name.

A great-expectations metric is identified by the values of its arguments, so an expectation names
its finder and the metric looks it up here.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from parallax.errors import DataError
from parallax.registry import Registry

if TYPE_CHECKING:
    import pandas as pd


@dataclasses.dataclass(frozen=True)
class Findings:
    """What a finder saw: how many rows it looked at, and the offending ones in order.

    Each entry of `rows` is a row's label, or `label: what is wrong`.
    """

    checked: int
    rows: tuple[str, ...]


Finder = Callable[["pd.DataFrame"], Findings]
FINDERS: Registry[Finder] = Registry("finder")


def finder(name: str, columns: Sequence[str]) -> Callable[[Finder], Finder]:
    """Register a finder that reads `columns`; it raises DataError where the frame lacks one."""

    def store(find: Finder) -> Finder:
        def guarded(frame: "pd.DataFrame") -> Findings:
            require_columns(frame, columns)
            return find(frame)

        FINDERS.register(name)(guarded)
        return guarded

    return store


def iterate(frame: "pd.DataFrame", *columns: str) -> Iterator[tuple[Any, ...]]:
    """Return the rows of a frame as tuples of the named columns."""
    return frame[list(columns)].itertuples(index=False, name=None)


def require_columns(frame: "pd.DataFrame", columns: Iterable[str], source: str = "") -> None:
    """Refuse a frame that lacks one of the columns.

    Raises:
        DataError: the missing columns, `source` (where given) and the columns that there are.
    """
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        place = f"{source}: " if source else ""
        raise DataError(
            f"{place}missing column {', '.join(missing)}; the table has"
            f" {', '.join(map(str, frame.columns))}"
        )
