"""One row of UMU-Bench's official files, checked and turned into a person."""

import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from parallax.errors import DataError
from parallax.pixels import pixel_digest
from parallax.records import LETTERS, Person, Question, Task
from parallax.umu.flaws import Flaw, RowNotes, Side, Unmapped
from parallax.umu.literals import parse_literal

QA_COLUMNS = ("MM_QA", "UM_QA")
TASK_COLUMNS: dict[str, Task] = {
    "Classify": "classification",
    "Cloze": "cloze",
    "Generation": "generation",
}
COLUMNS = ("ID", "image", "Biography", *QA_COLUMNS, *TASK_COLUMNS)

TEXT_KEY = "unimodal"
IMAGE_KEY = "muitimodal"
_IMAGE_KEYS = (IMAGE_KEY, "multimodal")
# Half of a character, as "\\ud83d" in JSON; no UTF-8 file can hold it.
_SURROGATE = re.compile("[\ud800-\udfff]")
_LETTER = re.compile(r"\s*([A-Za-z])\s*(?:[.:)]\s*(.*?))?\s*", re.DOTALL)


class Reading(NamedTuple):
    """What a row gives: a person (None where there's none), its flaws, and what has no place."""

    person: Person | None
    flaws: list[Flaw]
    unmapped: list[Unmapped]


def parse_row(row: Mapping[str, object], person_id: str, subset: str) -> Reading:
    """Read a row that has all of `COLUMNS`.

    Instances come in the order of the columns (QA, classification, cloze, generation), and within
    a column in the order of its image questions. A column that can't be read costs its task, but
    QA, portrait and biography cost the person.
    """
    notes = RowNotes(subset, person_id)
    portrait = notes.read("image", lambda: parse_image(row["image"]))
    biography = notes.read("Biography", lambda: parse_biography(row["Biography"]))
    image, text = (
        notes.read(column, lambda: _parse_qa(parse_literal(row[column])))  # noqa: B023 - called now
        for column in QA_COLUMNS
    )
    taught = image is not None and text is not None
    instances = notes.pair("qa", QA_COLUMNS, image or {}, text or {}) if taught else []
    for column, task in TASK_COLUMNS.items():
        with notes.catch(column, task):
            sides = _parse_task(parse_literal(row[column]), task)
            instances += notes.pair(task, (column, column), *sides)
    person = None
    if taught and portrait is not None and biography is not None:
        person = Person(person_id, portrait, biography, tuple(instances))
    return Reading(person, notes.flaws, notes.unmapped)


def parse_person(row: Mapping[str, object], person_id: str, subset: str) -> Person:
    """Return the person of a row without a flaw.

    Raises:
        DataError: the row is bad; the message names the subset, the ID, the column and the reason.
    """
    reading = parse_row(row, person_id, subset)
    if reading.flaws or reading.person is None:
        raise DataError(str(reading.flaws[0]))
    return reading.person


def parse_image(cell: object) -> bytes:
    """Return the bytes of an image cell, {'bytes': …, 'path': …}, if they can be decoded."""
    data = cell.get("bytes") if isinstance(cell, dict) else None
    if not isinstance(data, bytes) or not data:
        raise DataError("no bytes of an image; want {'bytes': …, 'path': …}")
    pixel_digest(data)
    return data


def parse_biography(cell: object) -> str:
    """Return a biography, which may be missing."""
    if cell is None:
        return ""
    if not isinstance(cell, str):
        raise DataError(f"{cell!r} is no text")
    return cell


def _parse_qa(value: object) -> Side:
    columns = to_mapping(value, "the column")
    prompts = to_mapping(get_entry(columns, "question", "the column"), "'question'")
    answers = to_mapping(get_entry(columns, "answer", "the column"), "'answer'")
    return {
        field: attempt(lambda: _parse_answered(field, prompts, answers))  # noqa: B023 - called now
        for field in prompts | answers
    }


def _parse_answered(
    field: str, prompts: Mapping[str, object], answers: Mapping[str, object]
) -> Question:
    if field not in prompts or field not in answers:
        raise DataError(f"key {field!r} has a question or an answer, not both")
    place = f"question {field!r}"
    return Question(to_prompt(prompts[field], place), to_text(answers[field], place, "answer"))


def _parse_task(value: object, task: Task) -> tuple[Side, Side]:
    modalities = to_mapping(value, "the column")
    spellings = [key for key in _IMAGE_KEYS if key in modalities]
    if len(spellings) != 1:
        raise DataError(f"want one of the keys {list(_IMAGE_KEYS)}, found {list(modalities)}")
    image, text = (
        {
            field: attempt(lambda: _parse_entry(entry, field, task))  # noqa: B023 - called now
            for field, entry in to_mapping(
                get_entry(modalities, key, "the column"), repr(key)
            ).items()
        }
        for key in (spellings[0], TEXT_KEY)
    )
    return image, text


def _parse_entry(value: object, field: str, task: Task) -> Question:
    place = f"question {field!r}"
    entry = to_mapping(value, place)
    prompt = to_prompt(get_entry(entry, "question", place), place)
    answer = to_text(get_entry(entry, "answer", place), place, "answer")
    if task != "classification":
        return Question(prompt, answer)
    return choose_option(prompt, answer, get_entry(entry, "options", place), place)


def choose_option(prompt: str, answer: str, options: object, place: str) -> Question:
    """Return a question whose answer, `B` or `B. text`, points to one of the options A to D."""
    texts = to_mapping(options, f"options of {place}")
    if sorted(texts) != list(LETTERS):
        raise DataError(f"{place}: options {sorted(texts)}; want {list(LETTERS)}")
    options = {letter: to_text(texts[letter], place, f"option {letter}") for letter in LETTERS}
    match = _LETTER.fullmatch(answer)
    if match is None or match[1].upper() not in options:
        raise DataError(f"{place}: answer {answer!r} is not the letter of an option")
    option = options[match[1].upper()]
    if match[2] and _letters(match[2]) != _letters(option):
        raise DataError(f"{place}: answer {answer!r}, but option {match[1]} is {option!r}")
    return Question(prompt, option, tuple(options.values()))


def attempt(make: Callable[[], Question]) -> Question | DataError:
    """Return what `make` returns or the DataError that it raises."""
    try:
        return make()
    except DataError as error:
        return error


def to_mapping(value: object, what: str) -> dict[str, object]:
    """Return a mapping with texts as keys."""
    if not isinstance(value, dict):
        raise DataError(f"{what} is {type(value).__name__}; want a mapping")
    # Keys may be numbers in a literal; 1 and "1" in one mapping would become one field.
    mapping = {str(key): entry for key, entry in value.items()}
    if len(mapping) < len(value):
        raise DataError(f"{what} has keys that differ only in type: {list(value)}")
    return mapping


def get_entry(mapping: Mapping[str, object], key: str, what: str) -> object:
    """Return an entry that must be there."""
    if key not in mapping:
        raise DataError(f"{what} has no key {key!r}; found {list(mapping)}")
    return mapping[key]


def to_prompt(value: object, place: str) -> str:
    """Return a question without what belongs to the prompt's template."""
    text = to_text(value, place, "question").replace("<image>", "").strip()
    text = text.removeprefix("USER:").removesuffix("ASSISTANT:")
    return to_text(text, place, "question")


def to_text(value: object, place: str, what: str) -> str:
    """Return a text or a number (a year in JSON) as text without surrounding blanks."""
    if isinstance(value, float) and math.isnan(value):
        value = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        # Beside a NaN a year becomes 1974.0.
        value = str(int(value) if isinstance(value, float) and value.is_integer() else value)
    if value is None or (isinstance(value, str) and not value.strip()):
        raise DataError(f"{place}: empty {what}")
    if not isinstance(value, str):
        raise DataError(f"{place}: {what} {value!r} is no text")
    if _SURROGATE.search(value):
        raise DataError(f"{place}: {what} {value!r} is no valid Unicode")
    return value.strip()


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())
