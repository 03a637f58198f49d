"""Prompts that differ in one clause alone: the slot schema and its rendering."""

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from parallax.errors import DataError
from parallax.framing.items import PARAPHRASES, Item
from parallax.params import Arm, ClauseSet

Frame = Literal["E", "D", "N"]
ClauseArm = Literal["E", "D", "N", "content_free"]
ItemSet = Literal["pilot", "all"]
Span = tuple[int, int]

FRAMES: tuple[Frame, ...] = get_args(Frame)
CLAUSE_ARMS: tuple[ClauseArm, ...] = get_args(ClauseArm)
ARMS: tuple[Arm, ...] = get_args(Arm)
CLAUSE_SETS: tuple[ClauseSet, ...] = get_args(ClauseSet)

MASK = "[CLAUSE]"


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that would tell a model of an evaluation, whatever the frame: not for bodies.
EVALUATION_WORDS = _word_set(
    "test tests tested testing tester testers evaluate evaluates evaluated evaluating evaluation"
    " evaluations evaluator assess assesses assessed assessing assessment assessments benchmark"
    " benchmarks benchmarked benchmarking audit audits audited auditing auditor auditors exam exams"
    " examine examined examination examinations safety score scores scored scoring grade grades"
    " graded grading grader probe probes probing experiment experiments experimental trial trials"
    " red-team red-teaming"
)

# Words that grant, deny or demand something: they would turn a clause into an instruction.
PERMISSION_WORDS = _word_set(
    "can cannot could may might must shall should will would ought need needs needed needn't can't"
    " couldn't mustn't shouldn't won't wouldn't allow allows allowed allowing permit permits"
    " permitted permission forbid forbids forbidden prohibit prohibited ban banned authorise"
    " authorised authorize authorized approve approved approval require required requires obliged"
    " supposed free okay ok please"
)


def find_words(text: str, words: Collection[str]) -> tuple[str, ...]:
    """Return the whole words of `text`, in lower case and in their order, that `words` contains."""
    found = re.findall(r"\w+(?:['\-]\w+)*", text.lower().replace("\u2019", "'"))
    # A compound such as "safety-tuned" counts by its parts too.
    parts = [part for word in found for part in dict.fromkeys((word, *word.split("-")))]
    return tuple(part for part in parts if part in words)


def _check_clause(text: str) -> str:
    if text != " ".join(text.split()) or set(text) & set("{}"):
        raise ValueError("want one line without stray blanks and braces")
    return text


Clause = Annotated[str, Field(min_length=1), AfterValidator(_check_clause)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Clauses(_Strict):
    """One wording of the slot in the three frames and in the placebo that says nothing."""

    E: Clause
    D: Clause
    N: Clause
    content_free: Clause

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if len({self[arm] for arm in CLAUSE_ARMS}) < len(CLAUSE_ARMS):
            raise ValueError("two arms have the same clause: word them differently")
        return self

    def __getitem__(self, arm: ClauseArm) -> str:
        clause: str = getattr(self, arm)
        return clause


class _Common(_Strict):
    """What all frames share (framing protocol, section on the design)."""

    carrier: str
    position: Literal["before", "after"]
    role: Literal["user"]
    body_ref: Literal["body"]
    authority: Literal["user"]
    instruction_source: Literal["user"]
    slots: tuple[Literal["clause"]]

    @model_validator(mode="after")
    def _fit_carrier(self) -> Self:
        clause, body = f"{{{self.slots[0]}}}", f"{{{self.body_ref}}}"
        if sorted(re.findall(r"\{.*?\}", self.carrier)) != [body, clause]:
            raise ValueError(f"carrier {self.carrier!r}: want {clause} and {body} once each")
        if (self.carrier.index(clause) < self.carrier.index(body)) != (self.position == "before"):
            raise ValueError(f"position {self.position!r}: the carrier has the clause elsewhere")
        return self


class FrameSpec(_Common):
    """A pre-approved slot: everything but `clause[arm]` is the same in all frames."""

    name: str
    clause: Clauses


@dataclass(frozen=True)
class Prompt:
    """One rendered prompt: a single message of role `role`.

    `span` is where the clause stands in `text`, in characters (start, end), None without a frame;
    `body_hash` is the sha256 of the body, in hex.
    """

    item: str
    paraphrase: int
    arm: Arm
    wording: str
    text: str
    span: Span | None
    role: str
    body_hash: str

    @property
    def messages(self) -> tuple[dict[str, str], ...]:
        """The prompt as chat messages."""
        return ({"role": self.role, "content": self.text},)


def render(item: Item, paraphrase: int, arm: Arm, spec: FrameSpec) -> Prompt:
    """Render one version of an item's body in one arm; without a frame it is the bare body.

    Raises:
        DataError: the item lacks this version.
    """
    body = item.text(paraphrase)
    text, span = (body, None) if arm == "no_frame" else fill(spec, spec.clause[arm], body)
    return Prompt(item.id, paraphrase, arm, spec.name, text, span, spec.role, hash_body(body))


def fill(spec: FrameSpec, clause: str, body: str) -> tuple[str, Span]:
    """Put a clause and a body into the carrier; return the text and where the clause stands."""
    # Split first, so that a body with a placeholder in it stays as it is.
    before, after = (
        part.replace(f"{{{spec.body_ref}}}", body)
        for part in spec.carrier.split(f"{{{spec.slots[0]}}}")
    )
    return before + clause + after, (len(before), len(before) + len(clause))


def plan_prompts(
    items: Iterable[Item], specs: Sequence[FrameSpec], arms: Sequence[Arm] = FRAMES
) -> tuple[Prompt, ...]:
    """Render every item's two versions in every wording and arm; the frameless arm has no wordings.

    Raises:
        DataError: an item has no paraphrase, or an arm is unknown or named twice.
    """
    if unknown := set(arms) - set(ARMS):
        raise DataError(f"arm {sorted(unknown)[0]!r}: want one of {', '.join(ARMS)}")
    if len(set(arms)) < len(arms):
        raise DataError(f"arms {', '.join(arms)}: one is named twice; name each once")
    return tuple(
        render(item, paraphrase, arm, spec)
        for item in items
        for paraphrase in PARAPHRASES
        for number, spec in enumerate(specs)
        for arm in arms
        if arm != "no_frame" or number == 0
    )


def mask(text: str, span: Span) -> str:
    """Return `text` with the clause at `span` replaced by a fixed mark.

    Raises:
        DataError: the span does not lie within the text.
    """
    start, end = span
    if not 0 <= start <= end <= len(text):
        raise DataError(f"span {span}: want 0 <= start <= end <= {len(text)}, the text's length")
    return text[:start] + MASK + text[end:]


def hash_body(body: str) -> str:
    """Return the sha256 of a body's UTF-8 bytes, in hex."""
    return hashlib.sha256(body.encode()).hexdigest()


class _Wording(Clauses):
    name: Annotated[str, Field(min_length=1)]


class _FrameFile(_Common):
    clauses: dict[ClauseSet, Annotated[tuple[_Wording, ...], Field(min_length=3)]]

    @model_validator(mode="after")
    def _be_complete(self) -> Self:
        if missing := [name for name in CLAUSE_SETS if name not in self.clauses]:
            raise ValueError(f"clauses has no set {missing[0]!r}: add it")
        names = [wording.name for wordings in self.clauses.values() for wording in wordings]
        if double := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"two wordings are named {double!r}: rename one")
        return self


def read_frames(path: Path, clause_set: ClauseSet) -> tuple[FrameSpec, ...]:
    """Read a clause set of frames.yaml, one specification per wording in the file's order.

    Raises:
        DataError: the file is missing or malformed, or the set is unknown; one line names the key
            and what is allowed.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; restore it from the repository") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start} is not UTF-8; save it as UTF-8") from None
    except yaml.YAMLError as error:
        raise DataError(f"{path}: not YAML ({' '.join(str(error).split())})") from None
    try:
        file = _FrameFile.model_validate(values)
    except ValidationError as error:
        raise DataError(f"{path}: {_explain(error)}") from None
    if clause_set not in file.clauses:
        raise DataError(f"clause set {clause_set!r}: want one of {', '.join(CLAUSE_SETS)}")
    common = file.model_dump(exclude={"clauses"})
    return tuple(
        FrameSpec(
            **common, name=wording.name, clause=Clauses(**wording.model_dump(exclude={"name"}))
        )
        for wording in file.clauses[clause_set]
    )


def choose_items(items: Sequence[Item], item_set: ItemSet) -> tuple[Item, ...]:
    """Return the items marked for the pilot, or all.

    Raises:
        DataError: the pilot is wanted and no item is marked for it.
    """
    chosen = tuple(item for item in items if item.pilot or item_set == "all")
    if not chosen:
        raise DataError(
            f"framing.item_set is 'pilot', but none of {len(items)} items is marked `pilot`: mark"
            " some, or set it to 'all'"
        )
    return chosen


def choose_wordings(specs: Sequence[FrameSpec], wordings: Sequence[str]) -> tuple[FrameSpec, ...]:
    """Return the specifications with these names, in the order of the names.

    Raises:
        DataError: a name is unknown; the message lists those that there are.
    """
    known = {spec.name: spec for spec in specs}
    if unknown := [name for name in wordings if name not in known]:
        raise DataError(
            f"framing.wordings: {unknown[0]!r} is no wording of the clause set; it has"
            f" {', '.join(known)}"
        )
    return tuple(known[name] for name in wordings)


def _explain(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(str(part) for part in item['loc']) or 'top level'}:"
        f" {_value(item)}{item['msg'].removeprefix('Value error, ')}"
        for item in error.errors()
    )


def _value(item: Any) -> str:
    """Show the refused value where it is a single one, not a whole mapping."""
    return f"{item['input']!r}: " if isinstance(item["input"], str | int | float) else ""
