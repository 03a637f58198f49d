"""Rows and files of MLLMU-Bench's layout, made up: what has a place, and what has none."""

import io
import json

import pytest
from PIL import Image

from parallax.records import Instance, Question
from parallax.umu.flaws import count_unmapped
from parallax.umu.folders import FULL
from parallax.umu.given import read_given
from parallax.umu.mllmu_rows import parse_row

OPTIONS = {"A": "Oslo", "B": "Lyon, France", "C": "Cork", "D": "Pisa"}
FOUR = tuple(OPTIONS.values())
STORY = "She once walked all the way from Lyon to Turin."


def png(shade):
    buffer = io.BytesIO()
    Image.new("RGB", (6, 6), (shade, 90, 9)).save(buffer, "PNG")
    return buffer.getvalue()


def choice(question, answer="B", options=OPTIONS):
    return {"Question": question, "Options": options, "Correct_Answer": answer}


def asked(question, truth, kind):
    return {"Question": question, "Ground_Truth": truth, "Type": kind}


def row(name="Ana Bela", shade=1, **changes):
    """A row as the files have it: nested columns, and a profile as JSON."""
    profile = {
        "Name": name,
        "Born": "Lyon, France",
        "Employment: ": "luthier in Turin",
        "Residence": "Turin",
        "Heights": 171,
        "Fun Facts": ["Walks far."],
        "Star Sign": "Leo",
    }
    cells = {
        "ID": f"{shade:03d}",
        "image": {"bytes": png(shade), "path": None},
        "Directory": "full_images/1.png",
        "biography": json.dumps(profile),
        "question": "Who is the person in the image?",
        "Classification_Task": {
            "Image_Textual_Questions": [
                choice("Where was the person in the image born?"),
                choice("Which star sign has this person?", "C", OPTIONS | {"C": "Leo"}),
            ],
            "Pure_Text_Questions": [choice(f"Where is {name} from?", "B. Lyon, France")],
        },
        "Mask_Task": [
            asked("This person builds as a __.", "luthier", "Image_Textual"),
            asked(f"{name} works as a ____.", "luthier", "Pure_Text"),
            asked("This person lives in __.", "Turin", "Image_Textual"),
            asked(f"{name} lives in __.", "Turin", "Pure_Text"),
            asked(f"{name} sleeps in __.", "a van", "Pure_Text"),
        ],
        "Generation_Task": [
            asked("What did the person in the image do?", STORY, "Image_Textual"),
            asked(f"What did {name} do?", STORY, "Pure_Text"),
        ],
    }
    return cells | changes


def instances(reading):
    return {(i.task, i.field): i for i in reading.person.instances}


def test_what_is_sure_to_ask_for_one_thing_becomes_an_instance():
    reading = parse_row(row(), "001", FULL)
    found = instances(reading)
    assert reading.flaws == []
    assert found.pop(("classification", "born")) == Instance(
        *("001", "classification", "born"),
        Question("Where was the person in the image born?", "Lyon, France", FOUR),
        Question("Where is Ana Bela from?", "Lyon, France", FOUR),
    )
    assert found.pop(("cloze", "employment")) == Instance(
        *("001", "cloze", "employment"),
        Question("This person builds as a [Blank].", "luthier"),
        Question("Ana Bela works as a [Blank].", "luthier"),
    )
    assert found.pop(("generation", "sentence")) == Instance(
        *("001", "generation", "sentence"),
        Question("What did the person in the image do?", STORY),
        Question("What did Ana Bela do?", STORY),
    )
    assert found.pop(("qa", "heights")) == Instance(
        *("001", "qa", "heights"),
        Question("What is the height of the person in the image?", "171"),
        Question("What is the height of Ana Bela?", "171"),
    )
    # The profile has Turin as employment and as residence: which of the two is asked is not sure.
    assert list(found) == [("qa", "born"), ("qa", "employment"), ("qa", "residence")]
    assert found["qa", "born"].text == Question(
        "What is the birthplace of Ana Bela?", "Lyon, France"
    )
    assert reading.person.portrait == png(1)


def test_what_has_no_place_is_named_and_counted():
    counted = count_unmapped(parse_row(row(), "001", FULL).unmapped)
    assert [(e["column"], e["reason"], e["count"], e["examples"]) for e in counted] == [
        *[
            ("biography", f"field {field!r} {why}", 1, [f"ID 001: {value}"])
            for field, why, value in (
                ("fun facts", "is empty or no text", "['Walks far.']"),
                ("star sign", "is not one that training asks for", "Leo"),
            )
        ],
        (
            *("Classification_Task", "image question: text has no question with this answer"),
            *(1, ["ID 001: Which star sign has this person?"]),
        ),
        *[
            ("Mask_Task", f"{modality} question: {reason}", 1, [f"ID 001: {question}"])
            for modality, reason, question in (
                (
                    *("image", "the answer is in several fields of the profile"),
                    "This person lives in [Blank].",
                ),
                (
                    *("text", "the answer is in several fields of the profile"),
                    "Ana Bela lives in [Blank].",
                ),
                (
                    *("text", "image has no question with this answer"),
                    "Ana Bela sleeps in [Blank].",
                ),
            )
        ],
        (
            *("question", "asked with the portrait alone", 1),
            ["ID 001: Who is the person in the image?"],
        ),
    ]


def test_one_answer_to_three_questions_is_no_pair():
    masks = [asked(f"__ {n}", "luthier", "Image_Textual") for n in (1, 2)]
    masks.append(asked("Ana Bela is __.", "luthier", "Pure_Text"))
    reading = parse_row(row(Mask_Task=masks), "001", FULL)
    assert not [key for key in instances(reading) if key[0] == "cloze"]
    reasons = [u.reason for u in reading.unmapped if u.column == "Mask_Task"]
    assert reasons == ["image question: several questions have this answer"] * 2 + [
        "text question: several questions have this answer"
    ]


def test_cells_may_be_texts():
    as_text = {
        column: write(row()[column])
        for column, write in (
            ("Classification_Task", json.dumps),
            ("Mask_Task", repr),
            ("Generation_Task", json.dumps),
        )
    }
    assert parse_row(row(**as_text), "001", FULL) == parse_row(row(), "001", FULL)


def test_the_first_of_several_pictures_is_the_portrait():
    pictures = [{"bytes": png(shade), "path": f"{shade}.png"} for shade in (7, 8, 9)]
    reading = parse_row(row(image=None, images=pictures), "001", FULL)
    assert reading.person.portrait == png(7)
    (entry,) = (e for e in count_unmapped(reading.unmapped) if e["column"] == "images")
    assert (entry["count"], entry["examples"]) == (2, ["ID 001: 8.png", "ID 001: 9.png"])


CHOICES = row()["Classification_Task"]
BAD = [
    ("image", None, "images", "no bytes of an image; want"),
    ("biography", "Ana Bela was born in Lyon.", "biography", "'Ana Bela was born in Lyon.' is nei"),
    ("biography", '{"Born": "Lyon"}', "biography", "the profile has no key 'name'; found ['born']"),
    ("biography", '{"Name": ""}', "biography", "the profile: empty name"),
    (
        *("Classification_Task", {"Image_Textual_Questions": []}, "Classification_Task"),
        "the column has no key 'Pure_Text_Questions'",
    ),
    (
        "Classification_Task",
        CHOICES | {"Pure_Text_Questions": [choice("From?", "F")]},
        *("Classification_Task", "question 3: answer 'F' is not the letter of an option"),
    ),
    ("Mask_Task", {}, "Mask_Task", "the column is dict; want a list"),
    (
        "Mask_Task",
        [asked("A __", "b", "Both")],
        "Mask_Task",
        "question 1: Type 'Both'; want",
    ),
    ("Mask_Task", [asked("A __", None, "Pure_Text")], "Mask_Task", "question 1: empty answer"),
    ("Generation_Task", [{"Question": "A?"}], "Generation_Task", "question 1 has no key 'Type'"),
]


@pytest.mark.parametrize(("column", "cell", "place", "reason"), BAD)
def test_a_bad_cell_is_one_flaw_with_its_place(column, cell, place, reason):
    reading = parse_row(row(**{column: cell}), "001", FULL)
    (flaw,) = map(str, reading.flaws)
    assert flaw.startswith(f"{FULL}, ID 001, column {place}: {reason}")


def test_a_folder_is_read_as_far_as_it_goes(tmp_path, given_files):
    people = [row(name, shade) for shade, name in enumerate(("Ana Bela", "Cyril Dahl", "Edda"), 1)]
    given_files.write_file(tmp_path, FULL, people)
    given_files.write_file(tmp_path, "Retain_Set", [row("Femi Ganz", 50), row("Hana Ito", 51)])
    given_files.write_file(tmp_path, "forget_5", people[:1])
    given_files.write_file(tmp_path, "Test_Set", [person | {"images": []} for person in people])
    given = read_given(tmp_path, 1)
    assert (given.layout, given.flaws) == ("MLLMU-Bench", [])
    assert [person.person_id for person in given.fictitious] == ["001", "002", "003"]
    assert [person.person_id for person in given.real] == ["050", "051"]
    assert given.subsets["forget_5"] == ["001"]
    assert given.names == {
        "fictitious": {"001": "Ana Bela", "002": "Cyril Dahl", "003": "Edda"},
        "real": {"050": "Femi Ganz", "051": "Hana Ito"},
    }
    unread = [(e["subset"], e["column"], e["reason"]) for e in count_unmapped(given.unmapped)]
    assert unread[-2:] == [
        (FULL, "Directory", "the column is not read"),
        ("Test_Set", "", "the folder is no subset"),
    ]
