"""Faults of given files, and what is left out because of them: always both modalities."""

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from parallax.errors import DataError
from parallax.records import TASKS, Instance, Person, Question, Task

_EXAMPLES = 5  # of each kind of unmapped thing that are named
T = TypeVar("T")
Side = dict[str, Question | DataError]
"""One modality's questions of a task by field, or why a question can't be used."""


@dataclasses.dataclass(frozen=True)
class Flaw:
    """One fault of a given file; its text is one line.

    It costs the knowledge instance `task` and `field`, all instances of `task` where `field` is
    None, or the whole person where `task` is None too.
    """

    subset: str
    person_id: str
    column: str
    reason: str
    task: Task | None = None
    field: str | None = None

    def __str__(self) -> str:
        return f"{self.subset}, ID {self.person_id}, column {self.column}: {self.reason}"


@dataclasses.dataclass(frozen=True)
class Unmapped:
    """Something of a given file that is no fault and yet has no place in the official columns."""

    subset: str
    column: str
    reason: str
    example: str


class RowNotes:
    """Collects what is to say about one row, so that a bad cell doesn't hide the next one."""

    def __init__(self, subset: str, person_id: str) -> None:
        self.flaws: list[Flaw] = []
        self.unmapped: list[Unmapped] = []
        self._subset, self._person_id = subset, person_id

    def add(
        self, column: str, reason: object, task: Task | None = None, field: str | None = None
    ) -> None:
        """Add a flaw of this row."""
        self.flaws.append(Flaw(self._subset, self._person_id, column, str(reason), task, field))

    def leave(self, column: str, reason: str, example: object) -> None:
        """Add something of this row that has no place in the official columns."""
        shown = f"ID {self._person_id}: {example}"
        self.unmapped.append(Unmapped(self._subset, column, reason, shown))

    @contextlib.contextmanager
    def catch(self, column: str, task: Task | None = None) -> Iterator[None]:
        """Turn a DataError inside the block into a flaw."""
        try:
            yield
        except DataError as error:
            self.add(column, error, task)

    def read(self, column: str, make: Callable[[], T], task: Task | None = None) -> T | None:
        """Return what `make` returns; a DataError becomes a flaw and None."""
        with self.catch(column, task):
            return make()
        return None

    def pair(self, task: Task, columns: tuple[str, str], image: Side, text: Side) -> list[Instance]:
        """Return the instances of a task in the order of their image questions.

        `columns` hold the image and the text questions. A field that lacks a side, or whose side
        can't be used, is a flaw and no instance.
        """
        instances = []
        for field in image | text:
            sides = (image.get(field), text.get(field))
            odd = next(
                (n for n, side in enumerate(sides) if isinstance(side, DataError)),
                None,
            )
            if odd is not None:
                self.add(columns[odd], sides[odd], task, field)
            elif isinstance(sides[0], Question) and isinstance(sides[1], Question):
                instances.append(Instance(self._person_id, task, field, sides[0], sides[1]))
            else:
                has, lacks = ("image", "text") if sides[0] else ("text", "image")
                reason = f"question {field!r} has no {lacks} twin of its {has} side"
                self.add(" and ".join(dict.fromkeys(columns)), reason, task, field)
        return instances


def refuse_flaws(flaws: Sequence[Flaw]) -> None:
    """Refuse files with flaws.

    Raises:
        DataError: the first flaw, how many there are, and how to go on without what they cost.
    """
    if flaws:
        more = f" (and {len(flaws) - 1} more)" if len(flaws) > 1 else ""
        raise DataError(
            f"{flaws[0]}{more}: mend the files, or set data.on_error to report to leave out what is"
            " concerned, in both modalities"
        )


def list_flaws(flaws: Iterable[Flaw]) -> list[dict[str, str]]:
    """Return the flaws as rows of a table; a flaw that costs a person has no task or field."""
    return [{key: value or "" for key, value in dataclasses.asdict(flaw).items()} for flaw in flaws]


def count_unmapped(unmapped: Iterable[Unmapped]) -> list[dict[str, object]]:
    """Return what has no place, counted by subset, column and reason, each with a few examples."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for entry in unmapped:
        groups.setdefault((entry.subset, entry.column, entry.reason), []).append(entry.example)
    return [
        {
            "subset": subset,
            "column": column,
            "reason": reason,
            "count": len(examples),
            "examples": examples[:_EXAMPLES],
        }
        for (subset, column, reason), examples in groups.items()
    ]


@dataclasses.dataclass(frozen=True)
class Remainder:
    """Who and what stays of a group of people, and how much does not.

    `left_out` has the number of people, one for each row, and of the other people's knowledge
    instances by task. Questions of a column that could not be read at all are not among them.
    """

    people: list[Person]
    left_out: dict[str, int]


def leave_out(people: Sequence[Person], rows: int, flaws: Iterable[Flaw]) -> Remainder:
    """Leave out what the flaws cost; `rows` is the number of all rows, readable or not.

    Whose QA question of a field is left out isn't evaluated on that field either, and whose last
    QA question is left out isn't evaluated at all: no model could have learned it.
    """
    flaws = list(flaws)
    gone = {flaw.person_id for flaw in flaws if flaw.task is None}
    keys = {(flaw.person_id, flaw.task, flaw.field) for flaw in flaws if flaw.task}

    def is_lost(instance: Instance) -> bool:
        who, field = instance.person_id, instance.field
        tasks: tuple[Task, Task] = (instance.task, "qa")
        return (who, instance.task, None) in keys or any((who, t, field) in keys for t in tasks)

    kept = []
    lost = {key for key in keys if key[2] is not None}
    for person in people:
        lost |= {(i.person_id, i.task, i.field) for i in person.instances if is_lost(i)}
        instances = tuple(instance for instance in person.instances if not is_lost(instance))
        if person.person_id not in gone and any(i.task == "qa" for i in instances):
            kept.append(dataclasses.replace(person, instances=instances))
    staying = {person.person_id for person in kept}
    tasks = Counter(task for who, task, _ in lost if who in staying)
    counts = {"people": rows - len(kept)} | {task: tasks[task] for task in TASKS}
    return Remainder(kept, counts)
