"""A pilot as planning sees it: how far each preregistered contrast spreads, and what it cost."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from parallax.errors import DataError
from parallax.files import read_table
from parallax.framing.items import CATEGORIES
from parallax.framing.judges.judge import NOT_HARMFUL, indicator
from parallax.framing.judges.responses import KEY
from parallax.stats.contrasts import FRAMES
from parallax.stats.items import Floats
from parallax.stats.labels import PRIMARY_FAMILY, FamilyMember
from parallax.stats.spread import PilotSpread, pilot_spread

if TYPE_CHECKING:
    import pandas as pd


@dataclasses.dataclass(frozen=True)
class Pilot:
    """One subject under one judge; `spreads` hold what the judge can tell of `PRIMARY_FAMILY`.

    `tokens` is the mean length of a response under the frames, in new tokens.
    """

    subject: str
    judge: str
    items: int
    versions: int
    draws: int
    spreads: dict[FamilyMember, PilotSpread]
    tokens: float


def read_pilot(verdicts: Path, responses: Path, subject: str | None, judge: str) -> Pilot:
    """Read a run's verdicts and the length of its responses; a lone subject need not be named.

    Raises:
        DataError: a column, the subject or the judge is missing, or the pilot is too small.
    """
    given = _columns(verdicts, (*KEY, "judge", "category"))
    drawn = _columns(responses, ("subject", "arm", "new_tokens"))
    subjects = sorted(set(given["subject"]))
    if subject is None and len(subjects) > 1:
        raise DataError(f"{verdicts}: subjects {', '.join(subjects)}; name one with --subject")
    name = subjects[0] if subject is None else subject
    for column, value in (("subject", name), ("judge", judge)):
        if value not in set(given[column]):
            found = ", ".join(sorted(set(given[column])))
            raise DataError(f"{verdicts}: no {column} {value!r}; choose one of {found}")
    rows = given[(given["subject"] == name) & (given["judge"] == judge)]
    # A judge that says "not harmful compliance" leaves the other categories open.
    lacking = NOT_HARMFUL in set(rows["category"])
    cells = {
        member: outcomes(rows, member.category, (member.first, member.second))
        for member in PRIMARY_FAMILY
        if not lacking or member.category == "harmful_compliance"
    }
    framed = drawn[(drawn["subject"] == name) & drawn["arm"].isin(FRAMES)]
    items, versions, _, draws = next(iter(cells.values())).shape
    return Pilot(
        subject=name,
        judge=judge,
        items=items,
        versions=versions,
        draws=draws,
        spreads={
            member: pilot_spread(values[:, :, 0], values[:, :, 1])
            for member, values in cells.items()
        },
        tokens=float(framed["new_tokens"].mean()),
    )


def outcomes(rows: "pd.DataFrame", category: str, arms: Sequence[str]) -> Floats:
    """Return 1[category], shape (items, paraphrases x wordings, arms, draws).

    `rows` are one judge's verdicts on one subject. NaN where a verdict leaves it open, or where
    there is none.
    """
    import pandas as pd

    framed = rows[rows["arm"].isin(FRAMES)]
    names = ["item", "paraphrase", "wording", "arm", "draw"]
    levels = [arms if name == "arm" else sorted(set(framed[name])) for name in names]
    wanted = next(name for name in CATEGORIES if name == category)
    found = [indicator(verdict, wanted) for verdict in framed["category"]]
    table = pd.Series(found, index=pd.MultiIndex.from_frame(framed[names]))
    whole = table.reindex(pd.MultiIndex.from_product(levels, names=names))
    items, paraphrases, wordings, *rest = map(len, levels)
    values = np.array(whole, dtype=np.float64)
    return values.reshape(items, paraphrases * wordings, *rest)


def _columns(path: Path, names: Sequence[str]) -> "pd.DataFrame":
    table = read_table(path)
    for name in names:
        if name not in table:
            raise DataError(f"{path}: no column {name!r}; give what `dvc repro` wrote")
    return table
