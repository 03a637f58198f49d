"""The people pages: each question in both modalities, its answer before and after unlearning."""

import base64
import dataclasses
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from parallax.errors import DataError
from parallax.records import LETTERS, MODALITIES, Modality
from parallax.report.inputs import UnlearningInputs
from parallax.report.numbers import fraction
from parallax.report.tables import TASK_LABELS

if TYPE_CHECKING:
    import pandas as pd

Mark = Literal["right", "wrong", "overlap"]

# The page stays below 2 MB: at most this many forget people (15 % of 500), others, characters of an
# output, and pixels.
FORGET_SHOWN = 75
OTHERS_SHOWN = 3
OUTPUT_SHOWN = 300
PORTRAIT_PX = 96
_COLOURS = 64


@dataclasses.dataclass(frozen=True)
class Answer:
    """One output; `note` says what it was counted as where that is not plain from its text."""

    output: str
    mark: Mark
    note: str


@dataclasses.dataclass(frozen=True)
class Side:
    """One modality of a question: its prompt and its answers before and after."""

    modality: str
    prompt: str
    before: Answer
    after: Answer


@dataclasses.dataclass(frozen=True)
class Fact:
    """One question in both modalities."""

    task: str
    field: str
    reference: str
    sides: tuple[Side, ...]


@dataclasses.dataclass(frozen=True)
class Tally:
    """Right answers among `n` classification and cloze questions of one modality."""

    modality: str
    before: int
    after: int
    n: int


@dataclasses.dataclass(frozen=True)
class PersonView:
    """One person as shown: `left` is image, text, both or nothing, by what is still answered."""

    person_id: str
    name: str
    subset: str
    portrait: str
    tallies: tuple[Tally, ...]
    facts: tuple[Fact, ...]

    @property
    def left(self) -> str:
        """Which modalities still give a right answer after unlearning."""
        found = [tally.modality for tally in self.tallies if tally.after]
        return "both" if len(found) == len(MODALITIES) else (found[0] if found else "nothing")

    @property
    def answered(self) -> int:
        """Right answers after unlearning, over both modalities."""
        return sum(tally.after for tally in self.tallies)


def count_people(scored: "pd.DataFrame") -> dict[str, int]:
    """Return the number of people in each set."""
    return {str(name): int(n) for name, n in scored.groupby("set")["person_id"].nunique().items()}


def build_people(inputs: UnlearningInputs) -> tuple[PersonView, ...]:
    """Return the people to show: the forget people, those with most left first, then a few others.

    Raises:
        DataError: a person has no name or portrait, a portrait is no image, or a question lacks an
            answer of either model in either modality.
    """
    rows = inputs.scored[inputs.scored["model"].isin(("sft", "unlearned"))]
    shown: list[PersonView] = []
    for subset in ("forget", "retain", "real"):
        members = rows[rows["set"] == subset]
        ids = sorted(members["person_id"].unique(), key=_natural)
        if subset != "forget":
            ids = ids[:OTHERS_SHOWN]
        views = [_view(inputs, subset, person, members) for person in ids]
        if subset == "forget":
            views = sorted(views, key=lambda view: -view.answered)[:FORGET_SHOWN]
        shown += views
    return tuple(shown)


def _natural(person_id: str) -> tuple[int, str]:
    return len(person_id), person_id


def _view(
    inputs: UnlearningInputs, subset: str, person: str, members: "pd.DataFrame"
) -> PersonView:
    for what, table in (("name", inputs.names), ("portrait", inputs.portraits)):
        if person not in table:
            raise DataError(f"person {person} has answers and no {what}: run `dvc repro` again")
    rows = members[members["person_id"] == person]
    facts = _facts(person, rows.to_dict("records"), inputs.modalities)
    return PersonView(
        person,
        inputs.names[person],
        subset,
        embed_portrait(inputs.portraits[person], person),
        tuple(_tally(modality, facts) for modality in inputs.modalities),
        facts,
    )


def _facts(
    person: str, rows: Sequence[Mapping[Any, Any]], modalities: Sequence[Modality]
) -> tuple[Fact, ...]:
    found = {(row["task"], row["field"], row["modality"], row["model"]): row for row in rows}
    questions = sorted(
        {(task, field) for task, field, _, _ in found},
        key=lambda question: (list(TASK_LABELS).index(question[0]), question[1]),
    )
    facts = []
    for task, field in questions:
        sides = []
        for modality in modalities:
            pair = [found.get((task, field, modality, model)) for model in ("sft", "unlearned")]
            if pair[0] is None or pair[1] is None:
                raise DataError(
                    f"person {person}: {task} of {field!r} lacks an answer in modality {modality}"
                    " before or after unlearning; evaluate both models again"
                )
            sides.append(Side(modality, pair[1]["prompt"], _answer(pair[0]), _answer(pair[1])))
        reference = found[task, field, modalities[0], "unlearned"]["reference"]
        facts.append(Fact(task, field.replace("_", " "), reference, tuple(sides)))
    return tuple(facts)


def _answer(row: Mapping[Any, Any]) -> Answer:
    output = row["output"].strip()
    shown = output if len(output) <= OUTPUT_SHOWN else f"{output[:OUTPUT_SHOWN]}…"
    if row["task"] == "generation":
        return Answer(shown, "overlap", f"ROUGE-L {fraction(row['score'])}")
    notes = ["abstains"] if row["abstained"] else []
    if row["matched_option"] in LETTERS:
        option = row["options"][LETTERS.index(row["matched_option"])]
        if option != output:
            notes.append(f"counted as {row['matched_option']}. {option}")
    return Answer(shown, "right" if row["score"] == 1 else "wrong", ", ".join(notes))


def _tally(modality: str, facts: Sequence[Fact]) -> Tally:
    sides = [
        side
        for fact in facts
        if fact.task != "generation"
        for side in fact.sides
        if side.modality == modality
    ]
    return Tally(
        modality,
        sum(side.before.mark == "right" for side in sides),
        sum(side.after.mark == "right" for side in sides),
        len(sides),
    )


def embed_portrait(image: bytes, person: str) -> str:
    """Return a portrait as a data URI of a small PNG with few colours.

    Raises:
        DataError: the bytes are no image; names the person.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(image)) as opened:
            small = opened.convert("RGB").resize((PORTRAIT_PX, PORTRAIT_PX), Image.Resampling.BOX)
    except (UnidentifiedImageError, OSError) as error:
        raise DataError(f"portrait of person {person}: not an image ({error})") from None
    target = io.BytesIO()
    small.quantize(_COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
        target, "PNG", optimize=True
    )
    return f"data:image/png;base64,{base64.b64encode(target.getvalue()).decode()}"
