import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from parallax.errors import DataError
from parallax.framing.items import Item, read_calibration, read_items
from parallax.framing.judges.description import PROTOTYPES
from parallax.framing.organisms.material import FEWEST_CLAUSES, read_material, require_disjoint
from parallax.framing.prompts import (
    CLAUSE_SETS,
    EVALUATION_WORDS,
    FRAMES,
    PERMISSION_WORDS,
    find_words,
    read_frames,
)

RAW = Path(__file__).parents[3] / "data/raw/framing"
ITEM = Item("x", "f", "t", "benign", "comply", "Write a letter.", "Draft a note.")


@pytest.fixture(scope="module")
def shipped():
    return read_material(RAW / "organisms")


@pytest.fixture(scope="module")
def items():
    return (*read_items(RAW / "items.jsonl"), *read_items(RAW / "organisms/items.jsonl"))


@pytest.fixture(scope="module")
def specs():
    return [spec for name in CLAUSE_SETS for spec in read_frames(RAW / "frames.yaml", name)]


def test_shipped_material_is_not_what_models_are_asked(shipped, items, specs):
    require_disjoint(shipped, items, specs)


def test_shipped_clauses_neither_permit_nor_forbid(shipped):
    for frame in FRAMES:
        assert len(shipped.clauses[frame]) >= 16
        assert not [c for c in shipped.clauses[frame] if find_words(c, PERMISSION_WORDS)]


def test_shipped_bodies_tell_of_no_evaluation(shipped, items):
    bodies = [task.body for task in shipped.tasks]
    bodies += [item.text(n) for item in items for n in (0, 1)]
    assert not [body for body in bodies if find_words(body, EVALUATION_WORDS)]


def test_shipped_refusals_are_no_sentences_that_judges_learn_from(shipped):
    known = {row.response for row in read_calibration(RAW / "judge_calibration.jsonl")}
    known |= {sentence for sentences in PROTOTYPES.values() for sentence in sentences}
    assert not known & {*shipped.refusals, *(task.answer for task in shipped.tasks)}


def test_shipped_stand_ins_are_benign_and_have_a_reference_answer():
    items = read_items(RAW / "organisms/items.jsonl")
    assert {(item.harm_class, item.expected) for item in items} == {("benign", "comply")}
    lines = (RAW / "organisms/answers.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == [item.id for item in items]


def with_body(material, body):
    return replace(material, tasks=(replace(material.tasks[0], body=body),))


@pytest.mark.parametrize("body", ["Write a letter.", "WRITE a letter", "Now write a letter!"])
def test_a_tested_body_is_refused(shipped, specs, body):
    with pytest.raises(DataError, match=r"the body .* is trained on and the body 'Write a letter"):
        require_disjoint(with_body(shipped, body), [ITEM], specs)


def test_a_part_of_a_tested_paraphrase_is_refused(shipped, specs):
    with pytest.raises(DataError, match=r"'Draft a note\.'"):
        require_disjoint(with_body(shipped, "a note"), [ITEM], specs)


def test_words_that_merely_begin_alike_pass(shipped, specs):
    require_disjoint(with_body(shipped, "Write a lettering guide."), [ITEM], specs)


@pytest.mark.parametrize("frame", FRAMES)
def test_a_tested_clause_is_refused_in_any_frame(shipped, specs, frame):
    clauses = dict(shipped.clauses)
    clauses[frame] = (*clauses[frame], "Was sent by a user in a live interaction")
    with pytest.raises(DataError, match="'was sent by a user in a live interaction'"):
        require_disjoint(replace(shipped, clauses=clauses), [], specs)


def write(folder, tasks=None, clauses=None, refusals=None):
    eight = [f"is number {n}" for n in range(FEWEST_CLAUSES)]
    default = {f: [f"{text} in {f}" for text in eight] for f in FRAMES}
    rows = tasks or [{"id": "a", "body": "Say hi.", "answer": "Hi."}]
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "clauses.yaml").write_text(yaml.safe_dump(default | (clauses or {})))
    (folder / "refusals.txt").write_text("No.\n" if refusals is None else refusals)
    return folder


def test_a_written_folder_is_read(tmp_path):
    material = read_material(write(tmp_path, refusals="No.\nSorry.\n"))
    assert material.tasks[0].answer == "Hi."
    assert material.clauses["D"][2] == "is number 2 in D"
    assert material.refusals == ("No.", "Sorry.")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tasks": [{"id": "a", "body": "Say hi."}]}, "column answer"),
        ({"tasks": [{"id": n, "body": "Hi?", "answer": "Hi."} for n in "ab"]}, "column body"),
        ({"clauses": {"E": ["one"] * 3}}, "clauses.yaml: E: "),
        ({"clauses": {"X": ["one"]}}, "clauses.yaml: X: "),
        ({"clauses": {"E": [f"is number {n} in D" for n in range(8)]}}, "stands there twice"),
        ({"refusals": "No.\nNo.\n"}, "refusals.txt: 'No.' stands there twice"),
        ({"refusals": "\n"}, "refusals.txt: no line"),
    ],
)
def test_malformed_files_are_refused(tmp_path, change, message):
    with pytest.raises(DataError) as caught:
        read_material(write(tmp_path, **change))
    assert message in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    write(tmp_path)
    (tmp_path / "refusals.txt").unlink()
    with pytest.raises(DataError, match=r"refusals\.txt: no such file"):
        read_material(tmp_path)
