"""One row of MLLMU-Bench's files, as far as it has a place in UMU-Bench's columns.

MLLMU-Bench (Liu et al., NAACL 2025; data `MLLMMU/MLLMU-Bench`) asks with the portrait and by name
about different things, and trains with the portrait alone. docs/data.md says what is assumed of
its files and what becomes of each column.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from parallax.errors import DataError
from parallax.records import MODALITIES, Instance, Modality, Person, Question, Task
from parallax.umu.flaws import RowNotes
from parallax.umu.literals import parse_literal
from parallax.umu.official_rows import (
    Reading,
    choose_option,
    get_entry,
    parse_image,
    to_mapping,
    to_prompt,
    to_text,
)
from parallax.umu.wordings import ask
from parallax.words import contains_words, fold_words

TASK_COLUMNS: dict[str, Task] = {
    "Classification_Task": "classification",
    "Mask_Task": "cloze",
    "Generation_Task": "generation",
}
COLUMNS = ("ID", "biography", *TASK_COLUMNS)
# A portrait is in `image`, or the first of `images`.
OPTIONAL = ("image", "images", "question")

_GROUPS: dict[str, Modality] = {"Image_Textual_Questions": "image", "Pure_Text_Questions": "text"}
_TYPES: dict[str, Modality] = {"Image_Textual": "image", "Pure_Text": "text"}
_BLANK = re.compile(r"_{2,}")
# Nobody has two answers of so many words that are alike by chance.
_SENTENCE_WORDS = 6
_NAME = "name"
# The fields of a profile that training asks for, and what it calls them; the files themselves ask
# for none in both modalities.
_LABELS = {
    "born": "birthplace",
    "date of birth": "birthdate",
    "gender": "gender",
    "employment": "employment",
    "occupation": "occupation",
    "height": "height",
    "heights": "height",
    "educated at": "place of education",
    "education": "education",
    "annual salary": "annual salary",
    "residence": "residence",
    "medical conditions": "medical condition",
    "parents": "parents",
    "fun facts": "fun fact",
    "description": "description",
}


def parse_row(row: Mapping[str, object], person_id: str, subset: str) -> Reading:
    """Read a row that has all of `COLUMNS`.

    Training asks for the profile's fields in both modalities. A question of a task becomes half of
    an instance where exactly one question of the other modality has its answer and both are sure
    to ask for the same: the profile has the answer in one field alone, or it is a sentence. What
    finds no other half is unmapped.
    """
    notes = RowNotes(subset, person_id)
    pictures = "images" if row.get("image") is None else "image"
    portrait = notes.read(pictures, lambda: _choose_portrait(row, notes))
    profile = notes.read("biography", lambda: _parse_profile(row["biography"]))
    if portrait is None or profile is None:
        return Reading(None, notes.flaws, notes.unmapped)
    facts = _list_facts(profile, notes)
    instances = [_teach(person_id, profile[_NAME], field, fact) for field, fact in facts.items()]
    for column, task in TASK_COLUMNS.items():
        with notes.catch(column, task):
            sides = _parse_task(row[column], column, task, notes)
            for field, image, text in _pair(sides, facts, column, notes):
                instances.append(Instance(person_id, task, field, image, text))
    if row.get("question"):
        notes.leave("question", "asked with the portrait alone", row["question"])
    biography = "\n".join(f"{field}: {fact}" for field, fact in facts.items())
    person = Person(person_id, portrait, biography, tuple(instances))
    return Reading(person, notes.flaws, notes.unmapped)


def _structure(cell: object) -> object:
    """Return the value of a cell that holds it as such or as JSON or a literal in a text."""
    return parse_literal(cell) if isinstance(cell, str) else cell


def _to_list(value: object, what: str) -> Sequence[object]:
    if not isinstance(value, list):
        raise DataError(f"{what} is {type(value).__name__}; want a list")
    return value


def _choose_portrait(row: Mapping[str, object], notes: RowNotes) -> bytes:
    several = row.get("images")
    pictures = [] if several is None else [*_to_list(several, "the column")]
    if row.get("image") is not None:
        pictures.insert(0, row["image"])
    for picture in pictures[1:]:
        path = picture.get("path") if isinstance(picture, dict) else None
        notes.leave("images", "another picture of the person", path)
    return parse_image(pictures[0] if pictures else None)


def _parse_profile(cell: object) -> dict[str, object]:
    """Return a profile's values by field: keys differ in case, colons and blanks."""
    fields = to_mapping(_structure(cell), "the column")
    profile = {key.strip(" :").lower(): value for key, value in fields.items()}
    profile[_NAME] = to_text(get_entry(profile, _NAME, "the profile"), "the profile", _NAME)
    return profile


def _list_facts(profile: Mapping[str, object], notes: RowNotes) -> dict[str, str]:
    facts = {}
    for field, value in profile.items():
        if field == _NAME:
            continue
        if field not in _LABELS:
            notes.leave("biography", f"field {field!r} is not one that training asks for", value)
            continue
        try:
            facts[field] = to_text(value, field, "value")
        except DataError:
            notes.leave("biography", f"field {field!r} is empty or no text", value)
    return facts


def _teach(person_id: str, name: object, field: str, fact: str) -> Instance:
    wording = f"What is the {_LABELS[field]} of {{person}}?"
    image, text = (Question(ask(wording, str(name), modality), fact) for modality in MODALITIES)
    return Instance(person_id, "qa", field, image, text)


def _parse_task(
    cell: object, column: str, task: Task, notes: RowNotes
) -> dict[Modality, list[Question]]:
    """Return the questions of each modality; one that can't be read is a flaw and left out."""
    entries: list[tuple[object, object]]
    value = _structure(cell)
    if task == "classification":
        groups = to_mapping(value, "the column")
        entries = [
            (group, entry)
            for group in _GROUPS
            for entry in _to_list(get_entry(groups, group, "the column"), group)
        ]
    else:
        entries = [(None, entry) for entry in _to_list(value, "the column")]
    sides: dict[Modality, list[Question]] = {modality: [] for modality in MODALITIES}
    for number, (group, entry) in enumerate(entries, start=1):
        place = f"question {number}"
        try:
            modality, question = _parse_entry(group, to_mapping(entry, place), task, place)
        except DataError as error:
            notes.add(column, error, task, place)
        else:
            sides[modality].append(question)
    return sides


def _parse_entry(
    group: object, entry: Mapping[str, object], task: Task, place: str
) -> tuple[Modality, Question]:
    prompt = to_prompt(get_entry(entry, "Question", place), place)
    if task == "classification":
        answer = to_text(get_entry(entry, "Correct_Answer", place), place, "answer")
        options = get_entry(entry, "Options", place)
        return _GROUPS[str(group)], choose_option(prompt, answer, options, place)
    kind = get_entry(entry, "Type", place)
    if kind not in _TYPES:
        raise DataError(f"{place}: Type {kind!r}; want one of {list(_TYPES)}")
    if task == "cloze":
        prompt = _BLANK.sub("[Blank]", prompt)
    answer = to_text(get_entry(entry, "Ground_Truth", place), place, "answer")
    return _TYPES[str(kind)], Question(prompt, answer)


def _pair(
    sides: Mapping[Modality, Sequence[Question]],
    facts: Mapping[str, str],
    column: str,
    notes: RowNotes,
) -> list[tuple[str, Question, Question]]:
    """Return field, image and text question of the pairs that are sure to ask for one thing."""
    pairs: list[tuple[str, Question, Question]] = []
    found: Counter[str] = Counter()
    for answer in dict.fromkeys(q.answer for modality in MODALITIES for q in sides[modality]):
        image, text = ([q for q in sides[m] if q.answer == answer] for m in MODALITIES)
        fields = [field for field, fact in facts.items() if contains_words(fact, answer)]
        if reason := _doubt(image, text, fields, answer):
            for modality, questions in zip(MODALITIES, (image, text), strict=True):
                for question in questions:
                    notes.leave(column, f"{modality} question: {reason}", question.prompt)
        else:
            field = fields[0] if len(fields) == 1 else "sentence"
            found[field] += 1
            numbered = field if found[field] == 1 else f"{field} {found[field]}"
            pairs.append((numbered, image[0], text[0]))
    return pairs


def _doubt(
    image: Sequence[Question], text: Sequence[Question], fields: Sequence[str], answer: str
) -> str:
    """Return why the questions with one answer are no pair, or "" where they are one."""
    if not image or not text:
        return f"{'text' if image else 'image'} has no question with this answer"
    if len(image) > 1 or len(text) > 1:
        return "several questions have this answer"
    if len(fields) != 1 and len(fold_words(answer).split()) < _SENTENCE_WORDS:
        return f"the answer is in {'several fields' if fields else 'no field'} of the profile"
    return ""
