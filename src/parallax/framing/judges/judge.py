"""What a judge is: cases in, one verdict each out, and never a verdict where it has none."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol, get_args, runtime_checkable

from parallax.errors import ModelError, ParamsError
from parallax.framing.items import CATEGORIES, Category, LabelledResponse
from parallax.params import Judging
from parallax.registry import Registry

Outcome = Literal[Category, "not_harmful_compliance"]
NOT_HARMFUL: Final = "not_harmful_compliance"
UNSCORED: Final = ""
OUTCOMES: tuple[Outcome, ...] = (*CATEGORIES, NOT_HARMFUL)
"""The four categories, and what a judge without a refusal class can say in place of three."""

NAN = float("nan")


@dataclass(frozen=True)
class Case:
    """A response and the body that it answers.

    `framed` is the body as one frame shows it, given only where the judge is to see a frame.
    """

    body: str
    response: str
    framed: str | None = None

    @property
    def request(self) -> str:
        """What a judge reads as the request: the body, unless a frame is shown."""
        return self.body if self.framed is None else self.framed


@dataclass(frozen=True)
class Verdict:
    """A category with the reason for it, or none (unscored) with the reason for that.

    `margin` tells how clear the choice was, in the judge's own unit (see each judge); NaN where
    the judge has no such number.
    """

    category: Outcome | None
    reason: str
    margin: float = NAN


class Judge(Protocol):
    """One way to tell the categories apart."""

    @property
    def name(self) -> str:
        """What it is called in tables and parameters."""
        ...

    @property
    def model(self) -> str | None:
        """The name of the weights behind it, None for rules."""
        ...

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The verdicts that it can give."""
        ...

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """Return one verdict per case, in the cases' order."""
        ...


@dataclass(frozen=True)
class Prior:
    """How probable each letter and each category is as an answer about nothing; each sum to 1."""

    letters: dict[str, float]
    categories: dict[Category, float]


@runtime_checkable
class Worded(Protocol):
    """A judge that asks by a rubric in words."""

    def reword(self) -> Sequence[Judge]:
        """Return the judge with other wordings of the rubric that mean the same."""
        ...


@runtime_checkable
class Lettered(Protocol):
    """A judge that chooses among letters."""

    def content_free(self) -> Prior:
        """Return what it answers where request and response have no content."""
        ...


@dataclass(frozen=True)
class Setup:
    """What judges are built from: settings, and the labelled responses that they may learn from.

    `fit` holds the calibration set's fit part alone, so that no judge can see the test part.
    """

    settings: Judging
    fit: tuple[LabelledResponse, ...]


JUDGES: Registry[Callable[[Setup], Judge]] = Registry("judge")


def judge_all(judge: Judge, cases: Sequence[Case]) -> list[Verdict]:
    """Return one verdict per case.

    Raises:
        ModelError: the judge returned more or fewer, or an outcome that it does not declare.
    """
    verdicts = judge.judge(cases)
    if len(verdicts) != len(cases):
        raise ModelError(
            f"judge {judge.name!r} gave {len(verdicts)} verdicts for {len(cases)} responses:"
            " return one for each"
        )
    for verdict in verdicts:
        if verdict.category is not None and verdict.category not in judge.outcomes:
            raise ModelError(
                f"judge {judge.name!r} gave {verdict.category!r}: it declares"
                f" {', '.join(judge.outcomes)}"
            )
    return verdicts


def indicator(category: str, wanted: Category) -> float:
    """Return 1[category = wanted]; NaN where the verdict leaves it open.

    An unscored verdict ("") always does; "not_harmful_compliance" does for all categories but
    harmful_compliance, for which it is 0.

    Raises:
        ModelError: `category` is no outcome.
    """
    if category == UNSCORED or (category == NOT_HARMFUL and wanted != "harmful_compliance"):
        return NAN
    if category not in get_args(Category) and category != NOT_HARMFUL:
        raise ModelError(
            f"verdict {category!r}: a judge may give one of {', '.join(OUTCOMES)}, or none"
        )
    return float(category == wanted)


def coarsen(label: Category, outcomes: Sequence[Outcome]) -> Outcome:
    """Return a label as a judge with these outcomes would have to say it."""
    return label if label in outcomes else NOT_HARMFUL


def require_independent(
    judge: Judge, subjects: Collection[str], *, allow_self: bool = False
) -> None:
    """Refuse a judge that is one of the models under test.

    Raises:
        ParamsError: the judge's model, or the last part of its name, is among `subjects`.
    """
    if judge.model is None or allow_self:
        return
    models = {name for model in judge.model.split("+") for name in (model, Path(model).name)}
    if same := sorted(models & set(subjects)):
        raise ParamsError(
            f"judge {judge.name!r} is the model under test {same[0]!r}: name another model for it,"
            " or set judging.allow_self to true"
        )
