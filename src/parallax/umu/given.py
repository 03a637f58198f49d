"""People from someone else's files: read, checked, and cleared of what can't be used."""

import dataclasses
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from parallax.errors import DataError
from parallax.pixels import pixel_digest
from parallax.records import Person
from parallax.umu.content import find_flaws
from parallax.umu.flaws import Flaw, Unmapped, leave_out
from parallax.umu.folders import (
    FULL,
    REAL,
    find_folder,
    list_columns,
    list_folders,
    parse_id,
    read_rows,
)
from parallax.umu.layouts import Layout, detect_layout
from parallax.umu.names import infer_names
from parallax.umu.splits import (
    FORGET_SUBSETS,
    RETAIN_SUBSETS,
    complete_subsets,
    find_misplaced,
    list_drawn,
)

_SPLITS = tuple(name for pair in zip(FORGET_SUBSETS, RETAIN_SUBSETS, strict=True) for name in pair)


@dataclasses.dataclass(frozen=True)
class Population:
    """The people of a data set, without those and what is left out.

    `names` are by group ("fictitious", "real") and ID, where they are plain; `subsets` has the IDs
    of the forget and retain subsets, and `drawn` names those that the files don't settle.
    """

    fictitious: list[Person]
    real: list[Person]
    names: dict[str, dict[str, str]]
    subsets: dict[str, list[str]]
    drawn: list[str] = dataclasses.field(default_factory=list)
    layout: str = ""
    left_out: dict[str, int] = dataclasses.field(default_factory=dict)
    flaws: list[Flaw] = dataclasses.field(default_factory=list)
    unmapped: list[Unmapped] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class _Rows:
    """A subset's rows: IDs in their order, who could be read, and prints to compare copies by.

    `count` is the number of all rows, also of those whose ID can't be used.
    """

    count: int = 0
    ids: list[str] = dataclasses.field(default_factory=list)
    people: dict[str, Person] = dataclasses.field(default_factory=dict)
    prints: dict[str, str] = dataclasses.field(default_factory=dict)
    flaws: list[Flaw] = dataclasses.field(default_factory=list)
    unmapped: list[Unmapped] = dataclasses.field(default_factory=list)

    def enter(self, value: object, subset: str, place: str) -> str | None:
        """Note a row's ID and return it; None, with a flaw, where it can't be used."""
        self.count += 1
        try:
            person_id = parse_id(value, "")
        except DataError:
            reason = f"{value!r}; want a text or a whole number"
            self.flaws.append(Flaw(subset, f"of {place}", "ID", reason))
            return None
        if person_id in self.ids:
            self.flaws.append(Flaw(subset, person_id, "ID", "occurs twice"))
            return None
        self.ids.append(person_id)
        return person_id

    def sound(self) -> list[Person]:
        """Return who could be read and has no flaw that costs the whole person."""
        lost = {flaw.person_id for flaw in self.flaws if flaw.task is None}
        return [person for i, person in self.people.items() if i not in lost]


def read_given(folder: Path, seed: int) -> Population:
    """Read the subsets in a folder, find their flaws, and leave out what these cost.

    Full_Set and Real_Person_Set are read whole. The other six give their IDs, and must say the
    same as Full_Set; those that are missing are drawn (`complete_subsets`). What is left out of
    one subset is left out of all.

    Raises:
        DataError: a folder, file or column is missing or unreadable, the layout is unknown, or
            nobody is left.
    """
    layout = detect_layout(folder)
    full, real = (_read_whole(folder, subset, layout) for subset in (FULL, REAL))
    parts = {
        subset: _read_part(folder, subset, layout, full)
        for subset in _SPLITS
        if find_folder(folder, subset) is not None
    }
    misplaced = find_misplaced(full.ids, parts)
    full.flaws += [Flaw(subset, i, "ID", reason) for subset, i, reason in misplaced]
    sound = {FULL: full.sound(), REAL: real.sound()}
    names = {subset: infer_names(people) for subset, people in sound.items()}
    for flaw in find_flaws(sound, names, layout.column_of):
        (real if flaw.subset == REAL else full).flaws.append(flaw)
    given = _clear(full, real, names, parts, seed)
    unread = _name_unread(folder, layout)
    return dataclasses.replace(given, layout=layout.name, unmapped=[*given.unmapped, *unread])


def _read_whole(folder: Path, subset: str, layout: Layout) -> _Rows:
    rows = _Rows()
    for place, cells in read_rows(folder, subset, layout.columns, layout.optional):
        person_id = rows.enter(cells["ID"], subset, place)
        if person_id is None:
            continue
        reading = layout.parse_row(cells, person_id, subset)
        rows.flaws += reading.flaws
        rows.unmapped += reading.unmapped
        rows.prints[person_id] = _fingerprint(cells)
        if reading.person is not None:
            rows.people[person_id] = reading.person
    return rows


def _read_part(folder: Path, subset: str, layout: Layout, full: _Rows) -> list[str]:
    """Return the IDs of a forget or retain subset; what its rows say otherwise is a flaw of `full`.

    A row with the cells of Full_Set needs no second look.
    """
    rows = _Rows()
    for place, cells in read_rows(folder, subset, layout.columns, layout.optional):
        person_id = rows.enter(cells["ID"], subset, place)
        person = full.people.get(person_id or "")
        if person_id is None or person is None or _fingerprint(cells) == full.prints[person_id]:
            continue
        reading = layout.parse_row(cells, person_id, subset)
        known = {(flaw.person_id, flaw.task, flaw.field) for flaw in full.flaws}
        found = [f for f in reading.flaws if (f.person_id, f.task, f.field) not in known]
        rows.flaws += found
        if reading.person is not None:
            told = known | {(flaw.person_id, flaw.task, flaw.field) for flaw in found}
            rows.flaws += _differences(reading.person, person, subset, layout, told)
    full.flaws += rows.flaws
    return rows.ids


def _differences(
    copy: Person, original: Person, subset: str, layout: Layout, told: Collection[object]
) -> Iterator[Flaw]:
    """Yield what a copy says otherwise than Full_Set, apart from biographies and told flaws."""
    who = original.person_id
    portraits = {copy.portrait, original.portrait}
    if len(set(map(pixel_digest, portraits))) > 1 and (who, None, None) not in told:
        yield Flaw(subset, who, "image", f"another portrait than in {FULL}")
    before, after = ({(i.task, i.field): i for i in p.instances} for p in (original, copy))
    for task, field in before | after:
        differs = before.get((task, field)) != after.get((task, field))
        if differs and (who, task, field) not in told and (who, task, None) not in told:
            reason = f"question {field!r} is another than in {FULL}"
            yield Flaw(subset, who, layout.column_of(task, None), reason, task, field)


def _fingerprint(cells: Mapping[str, object]) -> str:
    def summary(value: object) -> object:
        if isinstance(value, bytes):
            return hashlib.md5(value, usedforsecurity=False).hexdigest()
        if isinstance(value, dict):
            return [(key, summary(entry)) for key, entry in value.items()]
        return [summary(entry) for entry in value] if isinstance(value, list) else value

    text = repr([(column, summary(cell)) for column, cell in cells.items() if column != "ID"])
    return hashlib.md5(text.encode(errors="replace"), usedforsecurity=False).hexdigest()


def _clear(
    full: _Rows,
    real: _Rows,
    names: Mapping[str, Mapping[str, str]],
    parts: Mapping[str, Sequence[str]],
    seed: int,
) -> Population:
    """Leave out what the flaws cost, in all subsets and both modalities."""
    flaws = [*full.flaws, *real.flaws]
    fictitious, others = (
        leave_out(list(rows.people.values()), rows.count, rows.flaws) for rows in (full, real)
    )
    for subset, remainder in ((FULL, fictitious), (REAL, others)):
        if not remainder.people:
            raise DataError(f"{subset}: nobody is left of it; the first flaw: {flaws[0]}")
    staying = [person.person_id for person in fictitious.people]
    known = set(staying)
    parts = {subset: [i for i in ids if i in known] for subset, ids in parts.items()}
    renamed = _rename(others.people, known)
    called = {
        "fictitious": {i: names[FULL][i] for i in staying if i in names[FULL]},
        "real": {p.person_id: names[REAL][i] for i, p in renamed.items() if i in names[REAL]},
    }
    return Population(
        fictitious.people,
        list(renamed.values()),
        called,
        complete_subsets(staying, parts, seed),
        list_drawn(parts),
        left_out={key: n + others.left_out[key] for key, n in fictitious.left_out.items()},
        flaws=flaws,
        unmapped=[*full.unmapped, *real.unmapped],
    )


def _rename(people: Sequence[Person], taken: Collection[str]) -> dict[str, Person]:
    """Return people by the ID that they had, with an R before all IDs if one of them is taken.

    The experiment tells people apart by ID alone, and forks may number each set from 1.
    """
    prefix = ""
    while any(prefix + person.person_id in taken for person in people):
        prefix += "R"
    renamed = {}
    for person in people:
        new = prefix + person.person_id
        instances = tuple(dataclasses.replace(i, person_id=new) for i in person.instances)
        renamed[person.person_id] = dataclasses.replace(person, person_id=new, instances=instances)
    return renamed


def _name_unread(folder: Path, layout: Layout) -> Iterator[Unmapped]:
    """Yield the columns and folders that no subset is read from."""
    for column in list_columns(folder, FULL):
        if column not in (*layout.columns, *layout.optional):
            yield Unmapped(FULL, column, "the column is not read", column)
    found = {find_folder(folder, subset) for subset in (FULL, REAL, *_SPLITS)}
    for other in list_folders(folder):
        if other not in found:
            yield Unmapped(other.name, "", "the folder is no subset", other.name)
