"""One row of an official file, checked and turned into a person."""

import contextlib
import io
import math
import re
import struct
from collections.abc import Iterator, Mapping
from typing import TypeVar

from parallax.errors import DataError
from parallax.records import LETTERS, Instance, Person, Question, Task
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

T = TypeVar("T")
Questions = dict[str, Question]
"""Questions of one column and modality by field."""


def parse_id(value: object, place: str) -> str:
    """Return an ID as text; forks write whole numbers, and floats where a column had gaps.

    Raises:
        DataError: the ID is empty or of another type.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{place}, column ID: {value!r}; want a text or a whole number")
    return value.strip()


def parse_row(row: Mapping[str, object], person_id: str, subset: str) -> Person:
    """Return the person of a row that has all of `COLUMNS`.

    Instances come in the order of the columns (QA, classification, cloze, generation), and within
    a column in the order of its image questions.

    Raises:
        DataError: the row is bad; the message names the subset, the ID, the column and the reason.
    """
    place = f"{subset}, ID {person_id}"
    with _column(place, "image"):
        portrait = _parse_image(row["image"])
    with _column(place, "Biography"):
        biography = _parse_biography(row["Biography"])
    sides: list[Questions] = []
    for column in QA_COLUMNS:
        with _column(place, column):
            sides.append(_parse_qa(parse_literal(row[column])))
    image, text = sides
    with _column(place, " and ".join(QA_COLUMNS)):
        instances = _pair(person_id, "qa", image, text)
    for column, task in TASK_COLUMNS.items():
        with _column(place, column):
            image, text = _parse_task(parse_literal(row[column]), task)
            instances += _pair(person_id, task, image, text)
    return Person(person_id, portrait, biography, tuple(instances))


@contextlib.contextmanager
def _column(place: str, column: str) -> Iterator[None]:
    try:
        yield
    except DataError as error:
        raise DataError(f"{place}, column {column}: {error}") from None


def _parse_image(cell: object) -> bytes:
    from PIL import Image

    data = cell.get("bytes") if isinstance(cell, dict) else None
    if not isinstance(data, bytes) or not data:
        raise DataError("no bytes of an image; want {'bytes': …, 'path': …}")
    try:
        with Image.open(io.BytesIO(data)) as image:
            image.load()
    # What Pillow's readers raise on broken files is not one family of exceptions.
    except (
        OSError,
        ValueError,
        SyntaxError,
        EOFError,
        IndexError,
        OverflowError,
        TypeError,
        struct.error,
        Image.DecompressionBombError,
    ) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"undecodable image of {len(data)} bytes ({reason})") from None
    return data


def _parse_biography(cell: object) -> str:
    if cell is None:
        return ""
    if not isinstance(cell, str):
        raise DataError(f"{cell!r} is no text")
    return cell


def _parse_qa(value: object) -> Questions:
    columns = _mapping(value, "the column")
    prompts = _mapping(_entry(columns, "question", "the column"), "'question'")
    answers = _mapping(_entry(columns, "answer", "the column"), "'answer'")
    if odd := sorted(prompts.keys() ^ answers.keys()):
        raise DataError(f"key {odd[0]!r} has a question or an answer, not both")
    return {
        field: Question(_prompt(prompts[field], field), _text(answers[field], field, "answer"))
        for field in prompts
    }


def _parse_task(value: object, task: Task) -> tuple[Questions, Questions]:
    modalities = _mapping(value, "the column")
    spellings = [key for key in _IMAGE_KEYS if key in modalities]
    if len(spellings) != 1:
        raise DataError(f"want one of the keys {list(_IMAGE_KEYS)}, found {list(modalities)}")
    image, text = (
        {
            field: _parse_question(_mapping(entry, f"question {field!r}"), field, task)
            for field, entry in _mapping(_entry(modalities, key, "the column"), repr(key)).items()
        }
        for key in (spellings[0], TEXT_KEY)
    )
    return image, text


def _parse_question(entry: Mapping[str, object], field: str, task: Task) -> Question:
    place = f"question {field!r}"
    prompt = _prompt(_entry(entry, "question", place), field)
    answer = _text(_entry(entry, "answer", place), field, "answer")
    if task != "classification":
        return Question(prompt, answer)
    options = _mapping(_entry(entry, "options", place), f"options of {place}")
    if sorted(options) != list(LETTERS):
        raise DataError(f"{place}: options {sorted(options)}; want {list(LETTERS)}")
    texts = {letter: _text(options[letter], field, f"option {letter}") for letter in LETTERS}
    return Question(prompt, _right_option(answer, texts, place), tuple(texts.values()))


def _right_option(answer: str, options: Mapping[str, str], place: str) -> str:
    """Return the text of the option that the answer, `B` or `B. text`, points to."""
    match = _LETTER.fullmatch(answer)
    if match is None or match[1].upper() not in options:
        raise DataError(f"{place}: answer {answer!r} is not the letter of an option")
    option = options[match[1].upper()]
    if match[2] and _letters(match[2]) != _letters(option):
        raise DataError(f"{place}: answer {answer!r}, but option {match[1]} is {option!r}")
    return option


def _pair(person_id: str, task: Task, image: Questions, text: Questions) -> list[Instance]:
    if odd := sorted(image.keys() ^ text.keys()):
        has, lacks = ("image", "text") if odd[0] in image else ("text", "image")
        raise DataError(f"question {odd[0]!r} has no {lacks} twin of its {has} side")
    return [Instance(person_id, task, field, image[field], text[field]) for field in image]


def _mapping(value: object, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise DataError(f"{what} is {type(value).__name__}; want a mapping")
    # Keys may be numbers in a literal; 1 and "1" in one mapping would become one field.
    mapping = {str(key): entry for key, entry in value.items()}
    if len(mapping) < len(value):
        raise DataError(f"{what} has keys that differ only in type: {list(value)}")
    return mapping


def _entry(mapping: Mapping[str, object], key: str, what: str) -> object:
    if key not in mapping:
        raise DataError(f"{what} has no key {key!r}; found {list(mapping)}")
    return mapping[key]


def _prompt(value: object, field: str) -> str:
    """Return a question without what belongs to the prompt's template."""
    text = _text(value, field, "question").replace("<image>", "").strip()
    text = text.removeprefix("USER:").removesuffix("ASSISTANT:")
    return _text(text, field, "question")


def _text(value: object, field: str, what: str) -> str:
    """Return a text or a number (a year in JSON) as text without surrounding blanks."""
    if isinstance(value, float) and math.isnan(value):
        value = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        raise DataError(f"question {field!r}: empty {what}")
    if not isinstance(value, str):
        raise DataError(f"question {field!r}: {what} {value!r} is no text")
    if _SURROGATE.search(value):
        raise DataError(f"question {field!r}: {what} {value!r} is no valid Unicode")
    return value.strip()


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())
