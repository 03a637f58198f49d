"""The cells that an experiment plans, and arrays with one entry for each of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from parallax.errors import DataError
from parallax.framing.items import PARAPHRASES
from parallax.framing.judges.responses import KEY
from parallax.framing.prompts import ARMS, FRAMES
from parallax.params import Arm

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Design:
    """Every subject answers every combination of these names; arrays have their axes so.

    A response without frame knows no wording: it stands for each of them. The arms are in the
    order of `ARMS`, so that E, D and N come first; all other names are sorted.
    """

    subjects: tuple[str, ...]
    items: tuple[str, ...]
    wordings: tuple[str, ...]
    arms: tuple[Arm, ...]
    draws: tuple[int, ...]

    @property
    def axes(self) -> dict[str, Sequence[object]]:
        """The names along the axes (S, I, P, W, A, K), by column."""
        return {
            "subject": self.subjects,
            "item": self.items,
            "paraphrase": PARAPHRASES,
            "wording": self.wordings,
            "arm": self.arms,
            "draw": self.draws,
        }


def find_design(
    responses: "pd.DataFrame", subjects: Sequence[str], items: Collection[str], source: str
) -> Design:
    """Return the design of a table of responses, which must fill it.

    Raises:
        DataError: a column, a frame or a response is missing, a name is unknown, two rows have one
            key, or the table holds other subjects than `subjects`.
    """
    require_columns(responses, KEY, source)
    found = {column: set(responses[column].tolist()) for column in KEY}
    known: dict[str, Collection[object]] = {
        "subject": subjects,
        "item": items,
        "paraphrase": PARAPHRASES,
        "arm": ARMS,
    }
    for column, names in known.items():
        if strange := sorted(found[column] - set(names)):
            raise DataError(
                f"{source}: {column} {strange[0]!r} is none of this experiment's; generate the"
                " responses anew"
            )
    for column, names in (("subject", subjects), ("arm", FRAMES)):
        if absent := [name for name in names if name not in found[column]]:
            raise DataError(f"{source}: no response of {column} {absent[0]}; generate them")
    framed = responses.loc[responses["arm"] != "no_frame", "wording"]
    design = Design(
        subjects=tuple(subjects),
        items=tuple(sorted(found["item"])),
        wordings=tuple(sorted(framed.unique())),
        arms=tuple(arm for arm in ARMS if arm in found["arm"]),
        draws=tuple(sorted(found["draw"])),
    )
    arrange(responses, design, design.axes, np.ones(len(responses)), f"{source}: response")
    return design


def arrange(
    table: "pd.DataFrame",
    design: Design,
    axes: Mapping[str, Sequence[object]],
    values: NDArray[np.float64],
    source: str,
) -> NDArray[np.float64]:
    """Put one value per row where the row's names say; the shape is that of `axes`.

    Raises:
        DataError: a place gets no value or two, or a row has no place; the message begins with
            `source` and names the place.
    """
    rows = spread_frameless(table[list(axes)].assign(value=values), design.wordings)
    shape = tuple(map(len, axes.values()))
    places = np.array([_positions(rows[column], names) for column, names in axes.items()])
    stray = np.flatnonzero((places < 0).any(axis=0))
    if stray.size:
        row = rows.iloc[int(stray[0])]
        name = ", ".join(f"{column} {row[column]}" for column in axes)
        raise DataError(f"{source} of {name} belongs to none of the responses; run its stage again")
    flat = np.ravel_multi_index(tuple(places), shape)
    counts = np.bincount(flat, minlength=int(np.prod(shape)))
    for wrong, what in ((counts == 0, "is missing"), (counts > 1, "stands there twice")):
        if wrong.any():
            place = np.unravel_index(int(np.flatnonzero(wrong)[0]), shape)
            name = ", ".join(
                f"{column} {names[int(index)]}"
                for (column, names), index in zip(axes.items(), place, strict=True)
            )
            raise DataError(f"{source} of {name} {what}; run its stage again")
    arranged = np.empty(shape)
    arranged.flat[flat] = rows["value"].to_numpy()
    return arranged


def spread_frameless(table: "pd.DataFrame", wordings: Sequence[str]) -> "pd.DataFrame":
    """Repeat the rows of the arm without frame, which has one wording in name, for all wordings."""
    import pandas as pd

    frameless = table["arm"] == "no_frame"
    each = pd.DataFrame({"wording": list(wordings)})
    spread = table[frameless].drop(columns="wording").merge(each, how="cross")
    return pd.concat([table[~frameless], spread], ignore_index=True)


def require_columns(table: "pd.DataFrame", columns: Sequence[str], source: str) -> None:
    """Refuse a table without one of the columns, or without rows.

    Raises:
        DataError: it is so.
    """
    for column in columns:
        if column not in table:
            raise DataError(f"{source}: no column {column!r}; run its stage again")
    if table.empty:
        raise DataError(f"{source}: no rows; run its stage again")


def _positions(column: "pd.Series", names: Sequence[object]) -> NDArray[np.int64]:
    import pandas as pd

    found: NDArray[np.int64] = pd.Index(list(names)).get_indexer(pd.Index(column))
    return found
