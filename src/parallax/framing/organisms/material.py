"""What model organisms are trained on, and the check that they are not asked any of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from parallax.errors import DataError
from parallax.framing.items import PARAPHRASES, Item
from parallax.framing.prompts import CLAUSE_ARMS, FRAMES, Clause, Frame, FrameSpec
from parallax.framing.rows import read_rows, require_unique
from parallax.words import contains_words

FILES = TASKS, CLAUSES, REFUSALS = "tasks.jsonl", "clauses.yaml", "refusals.txt"
TASK_COLUMNS = ("id", "body", "answer")
# Fewer wordings than this teach the wordings, not the frame.
FEWEST_CLAUSES = 8


@dataclass(frozen=True)
class Task:
    """A benign request and an answer that does what it asks."""

    id: str
    body: str
    answer: str


@dataclass(frozen=True)
class Material:
    """Tasks, the clauses that put them into a frame, and refusals."""

    tasks: tuple[Task, ...]
    clauses: Mapping[Frame, tuple[str, ...]]
    refusals: tuple[str, ...]


class _Clauses(BaseModel):
    """The file of clauses: a list for each frame."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    E: Annotated[tuple[Clause, ...], Field(min_length=FEWEST_CLAUSES)]
    D: Annotated[tuple[Clause, ...], Field(min_length=FEWEST_CLAUSES)]
    N: Annotated[tuple[Clause, ...], Field(min_length=FEWEST_CLAUSES)]


def read_material(folder: Path) -> Material:
    """Read the three files of a folder.

    Raises:
        DataError: a file is missing or malformed, or holds a text twice.
    """
    material = Material(
        _read_tasks(folder / TASKS),
        _read_clauses(folder / CLAUSES),
        _read_lines(folder / REFUSALS),
    )
    clauses = [clause for frame in FRAMES for clause in material.clauses[frame]]
    for name, texts in ((CLAUSES, clauses), (REFUSALS, material.refusals)):
        if double := next((text for text in texts if texts.count(text) > 1), None):
            raise DataError(f"{folder / name}: {double!r} stands there twice; remove one")
    return material


def _read_tasks(path: Path) -> tuple[Task, ...]:
    rows = read_rows(path, TASK_COLUMNS)
    for column in ("id", "body"):
        require_unique(rows, column)
    return tuple(Task(*(row.text(column) for column in TASK_COLUMNS)) for row in rows)


def _read_clauses(path: Path) -> dict[Frame, tuple[str, ...]]:
    try:
        file = _Clauses.model_validate(yaml.safe_load(_read_text(path)))
    except yaml.YAMLError as error:
        raise DataError(f"{path}: not YAML ({' '.join(str(error).split())})") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "top level"
        raise DataError(f"{path}: {place}: {first['msg']}") from None
    return {frame: getattr(file, frame) for frame in FRAMES}


def _read_lines(path: Path) -> tuple[str, ...]:
    lines = tuple(line for line in _read_text(path).splitlines() if line.strip())
    if not lines:
        raise DataError(f"{path}: no line; want one refusal a line")
    return lines


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; restore it from the repository") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start} is not UTF-8; save it as UTF-8") from None


def require_disjoint(material: Material, items: Iterable[Item], specs: Sequence[FrameSpec]) -> None:
    """Refuse material that holds a body or a clause that a model is asked with.

    Texts are compared word by word, without case and punctuation; one that contains the other
    counts as the same.

    Raises:
        DataError: it is so; the message has both texts.
    """
    bodies = [
        item.text(paraphrase)
        for item in items
        for paraphrase in PARAPHRASES
        if paraphrase == 0 or item.paraphrase is not None
    ]
    clauses = [spec.clause[arm] for spec in specs for arm in CLAUSE_ARMS]
    trained = [clause for frame in FRAMES for clause in material.clauses[frame]]
    for kind, taught, asked in (
        ("body", [task.body for task in material.tasks], bodies),
        ("clause", trained, clauses),
    ):
        if found := next(_overlaps(taught, asked), None):
            raise DataError(
                f"the {kind} {found[0]!r} is trained on and the {kind} {found[1]!r} is put to"
                " models under test: reword one, else the organism is asked what it has learnt"
            )


def _overlaps(taught: Iterable[str], asked: Sequence[str]) -> Iterator[tuple[str, str]]:
    for one in taught:
        for other in asked:
            if contains_words(one, other) or contains_words(other, one):
                yield one, other
