"""Judge cards and the frame control as the stages wrote them, read and checked."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from parallax.report.figures import Figures
from parallax.report.framing_words import ARM_LABELS, CATEGORY_LABELS
from parallax.report.numbers import fraction

SURFACE_LABELS = {
    "lower_case": "in lower case",
    "typographic": "with curved apostrophes and quotes",
    "blanks_around": "with blanks around it",
}


@dataclasses.dataclass(frozen=True)
class Coefficient:
    """An agreement coefficient with its 95 % interval over `units`; NaN where undefined."""

    value: float
    low: float
    high: float
    units: int


@dataclasses.dataclass(frozen=True)
class Share:
    """A fraction with its 95 % interval; NaN where undefined."""

    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class OutcomeView:
    """How well a judge tells one outcome from the others; recall and precision as fractions."""

    name: str
    labelled: int
    given: int
    recall: Share
    precision: Share
    kappa: Coefficient


@dataclasses.dataclass(frozen=True)
class Trial:
    """What was changed that should not matter, and how many verdicts it changed.

    `flips` is None where nothing was measured; `note` then says why.
    """

    name: str
    responses: int
    flips: Share | None
    note: str


@dataclasses.dataclass(frozen=True)
class Card:
    """One judge's agreement with the labelled test responses.

    `confusion` has a row per outcome, a column per outcome and one for unscored, by `columns`;
    `by_source` has the number of responses and the kappa of written and of sampled ones, `sampled`
    the outcomes on the sampled ones alone; `reliable` are the outcomes that the judge may be
    believed on. `content_free` has the probability of each letter and of each category where there
    is nothing to judge, both empty for a judge that chooses no letters.
    """

    name: str
    model: str
    responses: int
    items: int
    scored: int
    unscored: Mapping[str, int]
    kappa: Coefficient
    kappa_scored: Coefficient
    by_outcome: tuple[OutcomeView, ...]
    columns: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    by_source: Mapping[str, tuple[int, Coefficient]]
    sampled: tuple[OutcomeView, ...]
    least_kappa: float
    passed: bool
    reliable: tuple[str, ...]
    trials: tuple[Trial, ...]
    content_free: tuple[Mapping[str, float], Mapping[str, float]]

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The verdicts that the judge can give."""
        return self.columns[:-1]

    def kappa_of(self, outcome: str) -> Coefficient | None:
        """Return the kappa of one outcome against the rest; None where the judge lacks it."""
        found = [entry.kappa for entry in self.by_outcome if entry.name == outcome]
        return found[0] if found else None


@dataclasses.dataclass(frozen=True)
class Control:
    """How one judge's verdicts on one subject move with a frame label that it is shown.

    All are fractions: `shift[category][frame]`, `bias[category][contrast]`, `flips[frame]`.
    """

    judge: str
    responses: int
    shift: Mapping[str, Mapping[str, float]]
    bias: Mapping[str, Mapping[str, float]]
    flips: Mapping[str, float]
    jitter: float
    largest: float
    limit: float
    passed: bool


@dataclasses.dataclass(frozen=True)
class Echo:
    """Shares of one arm's responses that take up the frame's words; NaN where impossible."""

    arm: str
    responses: int
    clause: float
    evaluation: float
    deployment: float


@dataclasses.dataclass(frozen=True)
class AgreementRow:
    """Agreement between judges on one category of one subject's responses; `cohen` by pair."""

    name: str
    cohen: Mapping[str, Coefficient]
    fleiss: Coefficient
    krippendorff: Coefficient


def parse_cards(cards: Figures, primary: str) -> tuple[Card, ...]:
    """Return the cards, the primary judge's first, the others by name.

    Raises:
        DataError: the primary judge has no card, or one lacks a value.
    """
    others = sorted(set(cards.names) - {primary})
    return tuple(_card(name, cards.part(name)) for name in (primary, *others))


def parse_controls(
    sensitivity: Figures, subjects: Sequence[str], primary: str
) -> dict[str, tuple[Control, ...]]:
    """Return each subject's controls, one a judge, the primary one's first.

    Raises:
        DataError: a value is missing.
    """
    found = {}
    for subject in subjects:
        judges = sensitivity.part(subject, "judges")
        order = sorted(judges.names, key=lambda name: (name != primary, name))
        found[subject] = tuple(_control(name, judges.part(name)) for name in order)
    return found


def parse_echo(sensitivity: Figures, subjects: Sequence[str]) -> dict[str, tuple[Echo, ...]]:
    """Return each subject's echo rates, one an arm in the order of `ARM_LABELS`.

    Raises:
        DataError: a value is missing.
    """
    found = {}
    for subject in subjects:
        arms = sensitivity.part(subject, "echo")
        found[subject] = tuple(
            _echo(arm, arms.part(arm)) for arm in ARM_LABELS if arm in arms.names
        )
    return found


def name_judge(card: Card) -> str:
    """Return the words that stand beside every claim about behaviour."""
    return f"under this judge ({card.name}, kappa {fraction(card.kappa.value)})"


def agreement_rows(subject: Figures) -> tuple[AgreementRow, ...]:
    """Return how far the judges agree on a subject, by category; none with one judge alone."""
    labels = {"category": "all categories", **CATEGORY_LABELS}
    return tuple(
        AgreementRow(
            label,
            {
                pair.replace("/", " and "): read_coefficient(found)
                for pair, found in subject.parts("agreement", name, "cohen").items()
            },
            read_coefficient(subject.part("agreement", name, "fleiss")),
            read_coefficient(subject.part("agreement", name, "krippendorff")),
        )
        for name, label in labels.items()
        if subject.has("agreement", name)
    )


def _card(name: str, card: Figures) -> Card:
    columns = tuple(map(str, card.list("confusion", "columns")))
    unscored = card.part("unscored")
    return Card(
        name=name,
        model=card.text("model"),
        responses=card.count("responses"),
        items=card.count("items"),
        scored=card.count("scored"),
        unscored={reason: unscored.count(reason) for reason in unscored.names},
        kappa=read_coefficient(card.part("kappa")),
        kappa_scored=read_coefficient(card.part("kappa_scored")),
        by_outcome=_outcomes(card, columns[:-1]),
        columns=columns,
        confusion=tuple(card.list("confusion", "rows", o) for o in columns[:-1]),
        by_source={
            source: (found.count("responses"), read_coefficient(found.part("kappa")))
            for source, found in card.parts("by_source").items()
        },
        sampled=_outcomes(card.part("by_source", "sampled"), columns[:-1])
        if card.has("by_source", "sampled")
        else (),
        least_kappa=card.number("gate", "least_kappa"),
        passed=card.flag("gate", "passed"),
        reliable=tuple(map(str, card.list("gate", "reliable"))),
        trials=tuple(_trials(card.part("robustness"))),
        content_free=_content_free(card.part("robustness")),
    )


def _trials(robustness: Figures) -> Iterator[Trial]:
    """Yield what was tried on a judge, and in its place what could not be."""
    yield _trial("asked again, in another batch", robustness.part("retest"))
    rewordings = robustness.list("rewordings")
    for number, entry in enumerate(rewordings, 1):
        yield _trial(f"rubric in other words, {number}", Figures(entry, "rewordings"))
    if not rewordings:
        yield Trial("rubric in other words", 0, None, "not applicable: it has no rubric of ours")
    for name, entry in robustness.parts("surfaces").items():
        yield _trial(f"response {SURFACE_LABELS.get(name, name)}", entry)


def _trial(name: str, entry: Figures) -> Trial:
    return Trial(name, entry.count("responses"), _share(entry), "")


def _content_free(robustness: Figures) -> tuple[Mapping[str, float], Mapping[str, float]]:
    if not robustness.has("content_free"):
        return {}, {}
    found = robustness.part("content_free")
    return found.numbers("letters"), found.numbers("categories")


def _outcomes(entry: Figures, names: Sequence[str]) -> tuple[OutcomeView, ...]:
    return tuple(_outcome(name, entry.part("by_outcome", name)) for name in names)


def _outcome(name: str, entry: Figures) -> OutcomeView:
    return OutcomeView(
        name=name,
        labelled=entry.count("labelled"),
        given=entry.count("given"),
        recall=_share(entry.part("recall")),
        precision=_share(entry.part("precision")),
        kappa=read_coefficient(entry.part("kappa")),
    )


def _share(entry: Figures) -> Share:
    return Share(*(entry.number(key) for key in ("value", "low", "high")))


def read_coefficient(entry: Figures) -> Coefficient:
    """Return a coefficient of agreement with its interval."""
    value, low, high = (entry.number(key) for key in ("value", "low", "high"))
    return Coefficient(value, low, high, entry.count("units"))


def _control(judge: str, entry: Figures) -> Control:
    return Control(
        judge=judge,
        responses=entry.count("responses"),
        shift={name: row.numbers() for name, row in entry.parts("shift").items()},
        bias={name: row.numbers() for name, row in entry.parts("bias").items()},
        flips=entry.part("flips").numbers(),
        jitter=entry.number("jitter"),
        largest=entry.number("gate", "largest_bias"),
        limit=entry.number("gate", "limit"),
        passed=entry.flag("gate", "passed"),
    )


def _echo(arm: str, entry: Figures) -> Echo:
    return Echo(
        arm=arm,
        responses=entry.count("responses"),
        clause=entry.number("clause"),
        evaluation=entry.number("evaluation_words"),
        deployment=entry.number("deployment_words"),
    )
