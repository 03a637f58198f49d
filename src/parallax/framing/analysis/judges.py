"""Do the judges agree, and does the effect depend on who judges?"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parallax.framing.analysis.logs import Logs
from parallax.framing.items import CATEGORIES
from parallax.seeding import derive_seed
from parallax.stats.agreement import (
    MISSING,
    Agreement,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
)
from parallax.stats.contrasts import FRAMES
from parallax.stats.items import Floats, Ints

ALL_FOUR = "category"


@dataclass(frozen=True)
class JudgeAgreement:
    """Agreement of the judges that can tell an outcome; intervals resample whole items."""

    judges: tuple[str, ...]
    pairs: dict[tuple[str, str], Agreement]
    fleiss: Agreement
    krippendorff: Agreement


def measure_agreement(
    logs: Logs, subject: str, alpha: float, seed: int
) -> dict[str, JudgeAgreement]:
    """Compare the judges on one subject's responses under E, D and N.

    "category" is the choice among all four, by the judges that have them; a category's own name is
    its presence, by those that can tell it. What fewer than two judges can tell is left out.
    """
    found = {}
    for outcome in (ALL_FOUR, *CATEGORIES):
        wanted = CATEGORIES if outcome == ALL_FOUR else (outcome,)
        judges = [name for name, told in logs.outcomes.items() if set(wanted) <= set(told)]
        if len(judges) > 1:
            ratings = np.column_stack([_rate(logs, subject, judge, outcome) for judge in judges])
            found[outcome] = _agree(logs, ratings, judges, alpha, (seed, subject, outcome))
    return found


def _rate(logs: Logs, subject: str, judge: str, outcome: str) -> Ints:
    """One code per response under E, D and N, items in order, -1 where unscored."""
    values: Floats | Ints
    if outcome == ALL_FOUR:
        values = logs.codes[judge][logs.design.subjects.index(subject)]
    else:
        judged = logs.judged(subject, judge, next(c for c in CATEGORIES if c == outcome))
        values = np.where(np.isnan(judged), MISSING, judged)
    return np.asarray(values[:, :, :, : len(FRAMES)].reshape(-1), dtype=np.int64)


def _agree(
    logs: Logs, ratings: Ints, judges: Sequence[str], alpha: float, place: tuple[object, ...]
) -> JudgeAgreement:
    items = logs.design.items
    clusters = [item for item in items for _ in range(len(ratings) // len(items))]

    def draw(*use: object) -> np.random.Generator:
        return np.random.default_rng(derive_seed("agreement", *place, *use))

    columns = {judge: ratings[:, [column]] for column, judge in enumerate(judges)}
    return JudgeAgreement(
        judges=tuple(judges),
        pairs={
            (a, b): cohen_kappa(
                np.hstack([columns[a], columns[b]]), draw("cohen", a, b), alpha, clusters=clusters
            )
            for a, b in itertools.combinations(judges, 2)
        },
        fleiss=fleiss_kappa(ratings, draw("fleiss"), alpha, clusters=clusters),
        krippendorff=krippendorff_alpha(ratings, draw("krippendorff"), alpha, clusters=clusters),
    )
