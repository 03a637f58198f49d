"""All that is analysed, read from its files and checked against each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from parallax.errors import DataError
from parallax.files import read_json, read_table
from parallax.framing.analysis.design import Design, arrange, find_design, require_columns
from parallax.framing.analysis.repeats import Repeats, count_repeats
from parallax.framing.items import CATEGORIES, Category, read_items
from parallax.framing.judges.judge import NAN, OUTCOMES, UNSCORED, indicator
from parallax.framing.judges.responses import KEY
from parallax.stats.items import Floats, Ints

ABSENT = -1


@dataclass(frozen=True, eq=False)
class Logs:
    """Verdicts and scores of one experiment.

    `codes[judge]` are places in `OUTCOMES`, -1 where unscored, of shape (S, I, P, W, A, K);
    `outcomes[judge]` are the categories that the judge can tell, `reliable[judge]` those of its
    outcomes that its card vouches for. `log_odds[subject]` has the shape
    (I, P, W, A), nats; `familiarity[subject]` the shape (I,); both lack the subjects whose weights
    are not at hand. `families` has a source family per item; `repeats[subject]` tells how often
    two draws of a prompt are one text.
    """

    design: Design
    codes: Mapping[str, Ints]
    outcomes: Mapping[str, tuple[Category, ...]]
    reliable: Mapping[str, tuple[str, ...]]
    log_odds: Mapping[str, Floats]
    familiarity: Mapping[str, Floats]
    families: tuple[str, ...]
    repeats: Mapping[str, Repeats]

    def judged(self, subject: str, judge: str, category: str) -> Floats:
        """Return 1[category] of shape (I, P, W, A, K), NaN where the verdict leaves it open.

        A judge that cannot tell the category leaves it open everywhere: its few verdicts against
        it would make a rate of 0.
        """
        codes = self.codes[judge][self.design.subjects.index(subject)]
        if category not in self.outcomes[judge]:
            return np.full(codes.shape, NAN)
        # The last entry is for the code -1.
        table = np.array([*(indicator(outcome, category) for outcome in OUTCOMES), NAN])
        return np.asarray(table[codes])

    def scored(self, subject: str, judge: str) -> Floats:
        """Return 0 where the judge gave a verdict and NaN where not, shape (I, P, W, A, K)."""
        codes = self.codes[judge][self.design.subjects.index(subject)]
        return np.where(codes == ABSENT, NAN, 0.0)


def read_logs(
    responses: Path,
    verdicts: Path,
    log_odds: Path,
    familiarity: Path | None,
    items: Path,
    cards: Path,
    subjects: Sequence[str],
    judges: Sequence[str],
) -> Logs:
    """Read what the stages before have written for these subjects and judges.

    Raises:
        DataError: a file is malformed, incomplete, or made from other responses than the rest.
    """
    families = {item.id: item.source_family for item in read_items(items)}
    said = read_table(responses)
    design = find_design(said, subjects, families, str(responses))
    require_columns(said, ("response",), str(responses))
    read = read_json(cards)
    told = {judge: read_outcomes(read, judge, str(cards)) for judge in judges}
    return Logs(
        design=design,
        codes=read_codes(verdicts, design, told),
        outcomes={
            judge: tuple(category for category in CATEGORIES if category in outcomes)
            for judge, outcomes in told.items()
        },
        reliable={judge: read_reliable(read, judge, str(cards)) for judge in judges},
        log_odds=read_log_odds(log_odds, design),
        familiarity={} if familiarity is None else read_familiarity(familiarity, design),
        families=tuple(families[item] for item in design.items),
        repeats=count_repeats(said, subjects),
    )


def read_outcomes(cards: Any, judge: str, source: str) -> tuple[str, ...]:
    """Return the verdicts that a judge can give, as its card declares them.

    Raises:
        DataError: there is no card of the judge.
    """
    try:
        return tuple(cards[judge]["by_outcome"])
    except (KeyError, TypeError):
        raise DataError(f"{source}: no card of judge {judge!r}; calibrate the judges") from None


def read_reliable(cards: Any, judge: str, source: str) -> tuple[str, ...]:
    """Return the outcomes that a judge's card vouches for.

    Raises:
        DataError: the card does not say.
    """
    try:
        return tuple(cards[judge]["gate"]["reliable"])
    except (KeyError, TypeError):
        raise DataError(
            f"{source}: card of judge {judge!r} names no reliable outcomes; calibrate the judges"
        ) from None


def read_codes(path: Path, design: Design, told: Mapping[str, Sequence[str]]) -> dict[str, Ints]:
    """Return each judge's verdicts as codes of shape (S, I, P, W, A, K).

    Raises:
        DataError: the table holds other judges than `told`, a category that the judge cannot give,
            no verdict on a response, or a verdict without a response.
    """
    table = read_table(path)
    require_columns(table, (*KEY, "judge", "category"), str(path))
    if set(table["judge"]) != set(told):
        raise DataError(
            f"{path}: verdicts by {', '.join(sorted(set(table['judge'])))}, not by"
            f" {', '.join(told)}; judge the responses again"
        )
    codes: dict[str, Ints] = {}
    for judge, outcomes in told.items():
        rows = table[table["judge"] == judge]
        place = {UNSCORED: ABSENT, **{name: OUTCOMES.index(cast(Any, name)) for name in outcomes}}
        values = np.array(rows["category"].map(place), dtype=np.float64)
        if np.isnan(values).any():
            strange = rows["category"].iloc[int(np.flatnonzero(np.isnan(values))[0])]
            raise DataError(
                f"{path}: verdict {strange!r} by {judge}, whose card does not have it; calibrate"
                " the judges and judge the responses again"
            )
        source = f"{path}: verdict by {judge}"
        codes[judge] = arrange(rows, design, design.axes, values, source).astype(np.int64)
    return codes


def read_log_odds(path: Path, design: Design) -> dict[str, Floats]:
    """Return the log-odds of the subjects that have them, shape (I, P, W, A), nats.

    Raises:
        DataError: a subject's table is incomplete, or goes beyond the responses.
    """
    table = read_table(path)
    if table.empty:
        return {}
    axes = {name: names for name, names in design.axes.items() if name != "draw"}
    require_columns(table, (*axes, "log_odds"), str(path))
    axes["subject"] = [name for name in design.subjects if name in set(table["subject"])]
    values = np.array(table["log_odds"], dtype=np.float64)
    arranged = arrange(table, design, axes, values, f"{path}: log-odds")
    return {str(name): cells for name, cells in zip(axes["subject"], arranged, strict=True)}


def read_familiarity(path: Path, design: Design) -> dict[str, Floats]:
    """Return the familiarity score of each item, NaN where it has none, shape (I,).

    Raises:
        DataError: a column is missing, or an item stands there twice for a subject.
    """
    table = read_table(path)
    if table.empty:
        return {}
    require_columns(table, ("subject", "item", "score"), str(path))
    double = table[table.duplicated(["subject", "item"])]
    if len(double):
        row = double.iloc[0]
        raise DataError(
            f"{path}: item {row['item']} of subject {row['subject']} stands there twice; run its"
            " stage again"
        )
    scores: dict[str, Floats] = {}
    for subject in design.subjects:
        rows = table[table["subject"] == subject].set_index("item")["score"]
        values = rows.reindex(list(design.items)).to_numpy(dtype=np.float64)
        if not np.isnan(values).all():
            scores[subject] = values
    return scores
