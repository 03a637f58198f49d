"""How far a judge agrees with labelled responses: the figures of a judge card."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parallax.errors import DataError
from parallax.framing.items import SOURCES, LabelledResponse, Source, Split
from parallax.framing.judges.judge import Case, Judge, Outcome, Verdict, coarsen, judge_all
from parallax.seeding import derive_seed
from parallax.stats.agreement import (
    Agreement,
    cohen_kappa,
    confusion_matrix,
    encode_ratings,
    one_against_rest,
)
from parallax.stats.items import Ints
from parallax.stats.proportions import Proportion, clustered_interval


@dataclass(frozen=True)
class OutcomeCard:
    """How well one outcome is told from all others.

    `recall` is right / labelled, `precision` right / given (NaN without any), their intervals for
    responses that depend on each other within an item; an unscored response counts against recall,
    and in kappa as "not this outcome".
    """

    labelled: int
    given: int
    right: int
    recall: Proportion
    precision: Proportion
    kappa: Agreement


@dataclass(frozen=True)
class SourceCard:
    """The same for the responses of one source: written for the purpose, or sampled."""

    responses: int
    confusion: Ints
    kappa: Agreement
    by_outcome: dict[Outcome, OutcomeCard]


@dataclass(frozen=True)
class JudgeCard:
    """A judge's agreement with the labels of one part of the calibration set.

    `kappa` counts an unscored response as a disagreement, so that no judge gains by abstaining;
    `kappa_scored` leaves it out. `confusion` holds a row per label and a column per outcome, the
    last for unscored. `passed`: kappa >= least_kappa. `reliable` holds the outcomes whose own
    kappa is at least that, on the whole part and on the sampled responses, which are what a judge
    meets; without sampled ones, on the whole part alone.
    """

    judge: str
    model: str | None
    part: Split
    responses: int
    items: int
    scored: int
    unscored: dict[str, int]
    outcomes: tuple[Outcome, ...]
    confusion: Ints
    kappa: Agreement
    kappa_scored: Agreement
    by_outcome: dict[Outcome, OutcomeCard]
    by_source: dict[Source, SourceCard]
    least_kappa: float
    passed: bool
    reliable: tuple[Outcome, ...]


def measure_judge(
    judge: Judge, rows: Sequence[LabelledResponse], part: Split, least_kappa: float
) -> JudgeCard:
    """Judge the labelled responses of one part, frame stripped, and compare with their labels.

    A judge with fewer outcomes is compared with the labels as it would have to say them.

    Raises:
        DataError: the part has no response.
        ParamsError: the judge did not return one verdict per response.
    """
    chosen = choose_part(rows, part)
    return make_card(judge, chosen, judge_all(judge, to_cases(chosen)), least_kappa)


def choose_part(rows: Sequence[LabelledResponse], part: Split) -> list[LabelledResponse]:
    """Return the responses of one part.

    Raises:
        DataError: there is none.
    """
    chosen = [row for row in rows if row.split == part]
    if not chosen:
        raise DataError(f"calibration: no response in the part {part!r}; label some")
    return chosen


def to_cases(rows: Sequence[LabelledResponse]) -> list[Case]:
    """Return labelled responses as a judge sees them, frame stripped."""
    return [Case(row.body, row.response) for row in rows]


def make_card(
    judge: Judge,
    rows: Sequence[LabelledResponse],
    verdicts: Sequence[Verdict],
    least_kappa: float,
) -> JudgeCard:
    """Compare a judge's verdicts on labelled responses of one part with their labels."""
    outcomes = judge.outcomes
    truth = [coarsen(row.label, outcomes) for row in rows]
    found = [verdict.category for verdict in verdicts]
    scored = encode_ratings(list(zip(truth, found, strict=True)), outcomes)
    # Unscored as a category of its own, which no label has: a disagreement.
    strict = np.where(scored < 0, len(outcomes), scored)
    items = np.array([row.item for row in rows])
    whole = _source_card(judge, strict, items)
    sources = np.array([row.source for row in rows])
    by_source = {
        source: _source_card(judge, strict[sources == source], items[sources == source])
        for source in SOURCES
        if source in sources
    }
    needed = [whole, *(by_source[name] for name in by_source if name == "sampled")]
    return JudgeCard(
        judge=judge.name,
        model=judge.model,
        part=rows[0].split,
        responses=len(rows),
        items=len({row.item for row in rows}),
        scored=sum(category is not None for category in found),
        unscored=dict(sorted(Counter(v.reason for v in verdicts if v.category is None).items())),
        outcomes=outcomes,
        confusion=whole.confusion,
        kappa=whole.kappa,
        kappa_scored=cohen_kappa(scored, _rng(judge, "kappa_scored"), clusters=items.tolist()),
        by_outcome=whole.by_outcome,
        by_source=by_source,
        least_kappa=least_kappa,
        passed=bool(whole.kappa.value >= least_kappa),
        reliable=tuple(
            name
            for name in outcomes
            if all(card.by_outcome[name].kappa.value >= least_kappa for card in needed)
        ),
    )


def _source_card(judge: Judge, ratings: Ints, items: NDArray[np.str_]) -> SourceCard:
    """Compare codes of shape (responses, 2): label, and verdict with unscored as the last code.

    Intervals resample whole items.
    """
    clusters = items.tolist()
    outcomes = judge.outcomes
    return SourceCard(
        responses=len(ratings),
        confusion=confusion_matrix(ratings[:, 0], ratings[:, 1], len(outcomes) + 1)[:-1],
        kappa=cohen_kappa(ratings, _rng(judge, "kappa"), clusters=clusters),
        by_outcome={
            name: _outcome_card(judge, name, code, ratings, clusters)
            for code, name in enumerate(outcomes)
        },
    )


def _outcome_card(
    judge: Judge, name: Outcome, code: int, ratings: Ints, clusters: Sequence[str]
) -> OutcomeCard:
    labelled, given = (ratings[:, 0] == code), (ratings[:, 1] == code)
    right, names = labelled & given, np.array(clusters, dtype=str)
    return OutcomeCard(
        labelled=int(labelled.sum()),
        given=int(given.sum()),
        right=int(right.sum()),
        recall=clustered_interval(right[labelled], names[labelled].tolist()),
        precision=clustered_interval(right[given], names[given].tolist()),
        kappa=cohen_kappa(one_against_rest(ratings, code), _rng(judge, name), clusters=clusters),
    )


def _rng(judge: Judge, use: str) -> np.random.Generator:
    return np.random.default_rng(derive_seed("judge card", judge.name, use))
