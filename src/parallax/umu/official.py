"""The official UMU-Bench files: one folder per subset, questions as Python literals in strings.

Layout as read by the benchmark's code (github.com/QDRhhhh/UMU-bench). Its misspelt key
`muitimodal` is written and read here and goes no further.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from parallax.errors import DataError
from parallax.files import replace_file
from parallax.records import LETTERS, Instance, Person, Question, Task
from parallax.umu.folders import FILE_NAME, ROWS_AT_ONCE, parse_id, read_rows
from parallax.umu.official_rows import COLUMNS, IMAGE_KEY, TASK_COLUMNS, TEXT_KEY, parse_person

AUXILIARY = "Auxiliary_Set"

# Lets the `datasets` library show the portraits as pictures instead of as bytes.
_FEATURES = {
    column: {"_type": "Image"} if column == "image" else {"dtype": "string", "_type": "Value"}
    for column in COLUMNS
}


def write_subset(folder: Path, subset: str, people: Sequence[Person]) -> None:
    """Write `folder`/`subset`/train-00000-of-00001.parquet; same people, same bytes.

    Raises:
        DataError: the answer of a classification is not among its options.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    portrait = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    schema = pa.schema(
        [(column, portrait if column == "image" else pa.string()) for column in COLUMNS],
        metadata={"huggingface": json.dumps({"info": {"features": _FEATURES}})},
    )
    # A dictionary would hold all portraits in one page, which a reader could not take in parts.
    with (
        replace_file(folder / subset / FILE_NAME) as part,
        pq.ParquetWriter(part, schema, compression="zstd", use_dictionary=False) as writer,
    ):
        for first in range(0, len(people), ROWS_AT_ONCE):
            rows = [_to_row(person) for person in people[first : first + ROWS_AT_ONCE]]
            writer.write_table(pa.Table.from_pylist(rows, schema))


def read_subset(folder: Path, subset: str) -> list[Person]:
    """Read the people of one subset, in the order of the file.

    Both spellings of the multimodal key, Python literals and JSON, text and whole-number IDs, and
    the folder names of known forks are accepted.

    Raises:
        DataError: the folder or a file is missing or unreadable, or a row is bad; the message
            names the subset, the ID, the column and the reason. No row is ever left out.
    """
    rows = _by_id(folder, subset, COLUMNS)
    return [parse_person(row, person_id, subset) for person_id, row in rows.items()]


def read_ids(folder: Path, subset: str) -> list[str]:
    """Read only the IDs of one subset, in the order of the file.

    Raises:
        DataError: as for `read_subset`.
    """
    return list(_by_id(folder, subset, ("ID",)))


def _by_id(folder: Path, subset: str, columns: Sequence[str]) -> dict[str, dict[str, object]]:
    rows: dict[str, dict[str, object]] = {}
    for place, cells in read_rows(folder, subset, columns):
        person_id = parse_id(cells["ID"], f"{subset}, {place}")
        if person_id in rows:
            raise DataError(f"{subset}, ID {person_id}, column ID: occurs twice")
        rows[person_id] = cells
    return rows


def _to_row(person: Person) -> dict[str, object]:
    of_task: dict[Task, list[Instance]] = {}
    for instance in person.instances:
        of_task.setdefault(instance.task, []).append(instance)
    qa = of_task.get("qa", [])
    row: dict[str, object] = {
        "ID": person.person_id,
        "image": {"bytes": person.portrait, "path": f"{person.person_id}.png"},
        "Biography": person.biography,
        "MM_QA": repr(_qa_cell({instance.field: instance.image for instance in qa})),
        "UM_QA": repr(_qa_cell({instance.field: instance.text for instance in qa})),
    }
    for column, task in TASK_COLUMNS.items():
        instances = of_task.get(task, [])
        cell = {
            TEXT_KEY: {entry.field: _entry(entry.text, entry) for entry in instances},
            IMAGE_KEY: {entry.field: _entry(entry.image, entry) for entry in instances},
        }
        row[column] = repr(cell)
    return row


def _qa_cell(questions: dict[str, Question]) -> dict[str, dict[str, str]]:
    return {
        "question": {field: question.prompt for field, question in questions.items()},
        "answer": {field: question.answer for field, question in questions.items()},
    }


def _entry(question: Question, instance: Instance) -> dict[str, object]:
    if instance.task != "classification":
        return {"question": question.prompt, "answer": question.answer}
    options = dict(zip(LETTERS, question.options, strict=True))
    letters = [letter for letter, text in options.items() if text == question.answer]
    if not letters:
        raise DataError(
            f"ID {instance.person_id}, classification of {instance.field}: the answer"
            f" {question.answer!r} is not among the options {list(question.options)}"
        )
    return {"question": question.prompt, "options": options, "answer": letters[0]}
