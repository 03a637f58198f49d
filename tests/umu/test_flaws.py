import re
import shutil

import pytest

from parallax.errors import DataError
from parallax.umu.flaws import list_flaws, refuse_flaws
from parallax.umu.folders import FULL, REAL
from parallax.umu.given import read_given

SEED = 2026
GORAN = "Goran Fictitiousson6"  # the name of person 7


def read(folder):
    return read_given(folder, SEED)


def put(*path, value):
    """A change of a parsed cell: value at a path of keys."""

    def change(cell):
        for key in path[:-1]:
            cell = cell[key]
        cell[path[-1]] = value

    return change


def drop(*path):
    def change(cell):
        for key in path[:-1]:
            cell = cell[key]
        del cell[path[-1]]

    return change


def text(new):
    return lambda value: new


def cell(column, change, person_id="7", subsets=None):
    return lambda files, folder: files.edit_cell(folder, person_id, column, change, subsets)


def give_portrait(taken):
    """Let person 7 have the portrait of another one, in all subsets."""

    def plant(files, folder):
        (portrait,) = (r["image"] for r in files.read_file(folder, FULL) if r["ID"] == taken)
        files.edit_cell(folder, "7", "image", lambda image: portrait)

    return plant


def rename(new):
    """Give person 7 another's name in all text questions."""

    def plant(files, folder):
        for column in ("UM_QA", "Classify", "Cloze", "Generation"):
            files.edit_cell(
                folder, "7", column, lambda v: repr(v).replace("Goran Fictitiousson6", new)
            )

    return plant


def ask_again(answer):
    """Ask person 7 for the height twice, and answer the second time with `answer`."""

    def plant(files, folder):
        for column, name in (
            ("MM_QA", "the person in the image"),
            ("UM_QA", "Goran Fictitiousson6"),
        ):

            def change(value, name=name):
                value["question"]["size"] = f"The HEIGHT of {name} is what?"
                value["answer"]["size"] = answer

            files.edit_cell(folder, "7", column, change)

    return plant


def offer_twice(value):
    """Make two wrong options of a text question one, apart from case."""
    entry = value["unimodal"]["birth_city"]
    wrong = [letter for letter in "ABCD" if letter != entry["answer"]]
    entry["options"] |= {wrong[0]: "rome", wrong[1]: "Rome"}


def rows(change, *subsets):
    return lambda files, folder: files.edit_rows(folder, change, subsets or None)


def without(person_id):
    return lambda found: [row for row in found if row["ID"] != person_id]


def with_id(person_id, new):
    return lambda found: [row | {"ID": new} if row["ID"] == person_id else row for row in found]


PNG = b"\x89PNG\r\n\x1a\n and no more"
CITY = "question 'birth_city'"
QA = "MM_QA and UM_QA"
MEND = ": mend the files, or set data.on_error to report"

# What is done to the files, the subset, the ID, the column, and the reason of the one flaw.
FLAWS = {
    "no image": (cell("image", text(None)), FULL, "7", "image", "no bytes of an image; want {'by"),
    "an image that is none": (
        cell("image", text({"bytes": PNG, "path": "7.png"})),
        *(FULL, "7", "image", f"undecodable image of {len(PNG)} bytes ("),
    ),
    "an unreadable QA column": (
        cell("MM_QA", text("{'question': {")),
        *(FULL, "7", "MM_QA", "\"{'question': {\" is neither a Python literal nor JSON"),
    ),
    "a QA column without answers": (
        cell("UM_QA", drop("answer")),
        *(FULL, "7", "UM_QA", "the column has no key 'answer'; found ['question']"),
    ),
    "null for a column": (
        cell("UM_QA", text("null")),
        *(FULL, "7", "UM_QA", "the column is NoneType; want a mapping"),
    ),
    "an empty answer": (
        cell("MM_QA", put("answer", "birth_city", value="")),
        *(FULL, "7", "MM_QA", f"{CITY}: empty answer"),
    ),
    "NaN for an answer": (
        cell("UM_QA", lambda v: repr(v).replace("'Perth'", "nan")),
        *(FULL, "7", "UM_QA", f"{CITY}: empty answer"),
    ),
    "a list for an answer": (
        cell("MM_QA", put("answer", "birth_city", value=["Perth"])),
        *(FULL, "7", "MM_QA", f"{CITY}: answer ['Perth'] is no text"),
    ),
    "a question without answer": (
        cell("MM_QA", drop("answer", "birth_city")),
        *(FULL, "7", "MM_QA", "key 'birth_city' has a question or an answer, not both"),
    ),
    "half a character": (
        cell("MM_QA", put("answer", "birth_city", value="Per\ud83dth")),
        *(FULL, "7", "MM_QA", f"{CITY}: answer 'Per\\ud83dth' is no valid Unicode"),
    ),
    "a field twice in a cell": (
        cell("MM_QA", lambda v: repr(v).replace("'birth_region'", "'birth_city'")),
        *(FULL, "7", "MM_QA", "key 'birth_city' occurs twice"),
    ),
    "a QA question without its twin": (
        cell("UM_QA", lambda v: (drop("question", "height")(v), drop("answer", "height")(v))[0]),
        *(FULL, "7", QA, "question 'height' has no text twin of its image side"),
    ),
    "a task without its modality": (
        cell("Cloze", drop("muitimodal")),
        *(FULL, "7", "Cloze", "want one of the keys ['muitimodal', 'multimodal'], found ['unim"),
    ),
    "a choice without its twin": (
        cell("Classify", drop("muitimodal", "birth_city")),
        *(FULL, "7", "Classify", "question 'birth_city' has no image twin of its text side"),
    ),
    "three options": (
        cell("Classify", drop("unimodal", "birth_city", "options", "D")),
        *(FULL, "7", "Classify", f"{CITY}: options ['A', 'B', 'C']; want ['A', 'B', 'C', 'D']"),
    ),
    "an empty option": (
        cell("Classify", put("unimodal", "birth_city", "options", "C", value=" ")),
        *(FULL, "7", "Classify", f"{CITY}: empty option C"),
    ),
    "a letter that is no option": (
        cell("Classify", put("muitimodal", "birth_city", "answer", value="E")),
        *(FULL, "7", "Classify", f"{CITY}: answer 'E' is not the letter of an option"),
    ),
    "a letter with another's text": (
        cell("Classify", put("muitimodal", "birth_city", "answer", value="A. Atlantis")),
        *(FULL, "7", "Classify", f"{CITY}: answer 'A. Atlantis', but option A is '"),
    ),
    "an option twice": (
        cell("Classify", offer_twice),
        *(FULL, "7", "Classify", f"{CITY}: offers 'rome' 2 times"),
    ),
    "a cloze without answer": (
        cell("Cloze", put("unimodal", "birth_city", "answer", value=None)),
        *(FULL, "7", "Cloze", f"{CITY}: empty answer"),
    ),
    "a generation without its twin": (
        cell("Generation", drop("unimodal", "background")),
        *(FULL, "7", "Generation", "question 'background' has no text twin of its image side"),
    ),
    "modalities that disagree": (
        cell("Cloze", put("unimodal", "birth_city", "answer", value="Rome")),
        *(FULL, "7", "Cloze", f"{CITY}: answers 'Perth' by image, 'Rome' by text"),
    ),
    "a name in an image question": (
        cell("Cloze", put("muitimodal", "birth_city", "question", value="Goran is of [Blank].")),
        *(FULL, "7", "Cloze", f"{CITY}: the image question has 'goran' of Goran Fictitiousson6"),
    ),
    "a text question without name": (
        cell("UM_QA", put("question", "birth_city", value="Which birth city is it?")),
        *(FULL, "7", "UM_QA", f"{CITY}: the text question lacks Goran Fictitiousson6"),
    ),
    "a question asked twice": (
        ask_again("156 cm"),
        *(FULL, "7", "MM_QA", "question 'size': asked in the words of question 'height'"),
    ),
    "another's name": (
        rename("Ana Fictitiousson0"),
        *(FULL, "7", "questions", "the name 'Ana Fictitiousson0' of Full_Set, ID 1"),
    ),
    "another's portrait": (
        give_portrait("1"),
        *(FULL, "7", "image", "the portrait of Full_Set, ID 1"),
    ),
    "nothing to learn from": (
        lambda files, folder: [
            files.edit_cell(folder, "7", column, text("{'question': {}, 'answer': {}}"))
            for column in ("MM_QA", "UM_QA")
        ],
        *(FULL, "7", QA, "no question to learn from"),
    ),
    "an ID twice": (
        rows(lambda found: [*found, found[0]], FULL),
        *(FULL, "1", "ID", "occurs twice"),
    ),
    "no ID": (
        rows(lambda found: [found[0] | {"ID": ""}, *found], REAL),
        *(REAL, "of row 0 of train-00000-of-00001.parquet", "ID", "''; want a text or a whole"),
    ),
    "someone kept and forgotten": (
        lambda files, folder: files.edit_rows(
            folder, lambda found: [*found, files.read_file(folder, "forget_5")[0]], ["retain_95"]
        ),
        *("retain_95", "25", "ID", "is in forget_5 too"),
    ),
    "someone in neither part": (
        rows(without("7"), "retain_90"),
        *("retain_90", "7", "ID", "lacks this person, as does forget_10"),
    ),
    "forget sets that don't nest": (
        lambda files, folder: (
            files.edit_rows(folder, without("25"), ["forget_10"]),
            files.remove_subset(folder, "retain_90"),
        ),
        *("forget_10", "25", "ID", "lacks this person of forget_5"),
    ),
    "a stranger": (
        rows(lambda found: [*found, found[0] | {"ID": "999"}], "forget_5", "forget_10"),
        *("forget_5", "999", "ID", "is not in Full_Set"),
    ),
    "a bad copy": (
        cell("Cloze", put("unimodal", "residence", "answer", value=""), subsets=["retain_95"]),
        *("retain_95", "7", "Cloze", "question 'residence': empty answer"),
    ),
    "a copy with another text": (
        cell("MM_QA", put("question", "height", value="How tall?"), subsets=["retain_85"]),
        *("retain_85", "7", QA, "question 'height' is another than in Full_Set"),
    ),
    "a copy with another portrait": (
        lambda files, folder: files.edit_cell(
            folder,
            *("7", "image"),
            lambda image: files.read_file(folder, REAL)[0]["image"],
            ["retain_95", "retain_90"],
        ),
        *("retain_95", "7", "image", "another portrait than in Full_Set"),
    ),
}


@pytest.mark.parametrize("fault", FLAWS)
def test_a_flaw_is_one_line_with_its_place_and_costs_both_modalities(folder, given_files, fault):
    plant, subset, person_id, column, reason = FLAWS[fault]
    plant(given_files, folder)
    given = read(folder)
    (line,) = map(str, given.flaws)
    assert line.startswith(f"{subset}, ID {person_id}, column {column}: {reason}")
    assert "\n" not in line
    with pytest.raises(DataError, match=re.escape(line) + MEND):
        refuse_flaws(given.flaws)
    flaw = given.flaws[0]
    everyone = {person.person_id: person for person in given.fictitious + given.real}
    if flaw.task is None:
        assert flaw.person_id not in everyone
        assert all(flaw.person_id not in ids for ids in given.subsets.values())
    else:
        kept = {(i.task, i.field) for i in everyone[flaw.person_id].instances}
        assert not {(flaw.task, flaw.field), *((t, flaw.field) for t in AFTER[flaw.task])} & kept
        assert len(kept) >= 20


# What is not evaluated where a question of the task is left out: without QA, nothing.
AFTER = {
    "qa": ("classification", "cloze", "generation"),
    "classification": (),
    "cloze": (),
    "generation": (),
}

FILES = {
    "a missing column": (
        rows(lambda found: [{k: v for k, v in r.items() if k != "Cloze"} for r in found], FULL),
        r"Full_Set: .*train-00000-of-00001\.parquet has no column Cloze$",
    ),
    "a missing column of a part": (
        rows(
            lambda found: [{k: v for k, v in r.items() if k != "image"} for r in found], "forget_5"
        ),
        r"forget_5: .*parquet has no column image$",
    ),
    "another benchmark's columns": (
        rows(lambda found: [{"ID": r["ID"], "text": ""} for r in found], FULL),
        r"Full_Set: no column of a known layout \(UMU-Bench has ID, .*; MLLMU-Bench .*found text$",
    ),
    "the columns of both": (
        rows(
            lambda found: [
                r
                | dict.fromkeys(("biography", "Classification_Task"), "")
                | dict.fromkeys(("Generation_Task", "Mask_Task"), "")
                for r in found
            ],
            FULL,
        ),
        "Full_Set: has the columns of UMU-Bench and MLLMU-Bench: keep those of one$",
    ),
    "no parquet": (
        lambda files, folder: (folder / REAL / files.FILE_NAME).write_bytes(b"PAR1"),
        r"Real_Person_Set: .* is not readable as parquet \(",
    ),
    "a shard alone": (
        lambda files, folder: (folder / FULL / files.FILE_NAME).rename(
            folder / FULL / "train-00000-of-00003.parquet"
        ),
        r"Full_Set: .* has 1 of the 3 files train-\*-of-00003\.parquet: copy all of them$",
    ),
    "a whole shard and one of another table": (
        lambda files, folder: (folder / FULL / "test-00000-of-00002.parquet").write_bytes(b"PAR1"),
        r"Full_Set: .* has files of several tables \(test-\*-of-00002\.parquet,"
        r" train-\*-of-00001\.parquet\): keep those of one$",
    ),
    "a shard and a copy of it": (
        lambda files, folder: shutil.copy(
            folder / FULL / files.FILE_NAME, folder / FULL / "train-00000-of-00001 (1).parquet"
        ),
        r"Full_Set: .* has files of several tables \(train-00000-of-00001 \(1\)\.parquet,"
        r" train-\*-of-00001\.parquet\): keep those of one$",
    ),
    "no file": (
        lambda files, folder: (folder / REAL / files.FILE_NAME).unlink(),
        "Real_Person_Set: no parquet file in ",
    ),
    "no folder": (
        lambda files, folder: files.remove_subset(folder, REAL),
        "Real_Person_Set: want one folder of this name in .*; found Full_Set, forget_10, ",
    ),
    "two folders": (
        lambda files, folder: (
            (folder / FULL).rename(folder / "full_data"),
            (folder / "fullset").mkdir(),
        ),
        "Full_Set: want one folder of this name in .*; found full_data, fullset$",
    ),
    "nobody that can be used": (
        rows(lambda found: [r | {"image": None} for r in found], REAL),
        "Real_Person_Set: nobody is left of it; the first flaw: Real_Person_Set, ID 501, column im",
    ),
}


@pytest.mark.parametrize("fault", FILES)
def test_a_file_that_cant_be_read_is_refused_with_its_place(folder, given_files, fault):
    plant, message = FILES[fault]
    plant(given_files, folder)
    with pytest.raises(DataError, match=f"^{message}") as caught:
        read(folder)
    assert "\n" not in str(caught.value)


def test_there_are_more_than_twenty_malformed_files():
    assert len(FLAWS) + len(FILES) > 40


def test_every_flaw_is_told_and_counted(folder, given_files):
    for fault in ("no image", "an empty answer", "a cloze without answer", "an ID twice"):
        FLAWS[fault][0](given_files, folder)
    given_files.edit_cell(folder, "8", "UM_QA", drop("question", "birth_city"))
    given_files.edit_cell(folder, "9", "Cloze", text("{}"))
    given_files.edit_cell(folder, "10", "Generation", drop("unimodal", "interest"))
    given_files.edit_cell(folder, "501", "Cloze", put("unimodal", "award", "answer", value=""))
    given = read(folder)
    # 7 has three flaws, but is left out as a person, as are both rows with the ID 1; of 9 the whole
    # column is unreadable.
    assert [flaw.person_id for flaw in given.flaws] == ["7", "7", "7", "8", "9", "10", "1", "501"]
    # 8: QA of the birth city, hence its classification and cloze; 9: a column of unknown questions;
    # 10: a generation; 501: a cloze.
    assert given.left_out == {
        **{"people": 3, "qa": 1, "classification": 1},
        **{"cloze": 2, "generation": 1},
    }
    table = list_flaws(given.flaws)
    assert table[4] == {
        **{"subset": FULL, "person_id": "9", "column": "Cloze", "task": "cloze", "field": ""},
        "reason": "want one of the keys ['muitimodal', 'multimodal'], found []",
    }


@pytest.mark.parametrize(
    ("ids", "people"),
    [([""], 1), ([None, None], 2), (["502"], 2), (["503", "503"], 3)],
    ids=["no ID", "two without ID", "two under one ID", "three under one ID"],
)
def test_every_row_whose_id_cant_be_used_is_a_person_left_out(folder, given_files, ids, people):
    def change(found):
        return [row | {"ID": new} for row, new in zip(found, ids, strict=False)] + found[len(ids) :]

    given_files.edit_rows(folder, change, [REAL])
    given = read(folder)
    assert (given.left_out["people"], len(given.real)) == (people, 12 - people)


def test_a_question_asked_twice_with_two_answers_is_lost_whole(folder, given_files):
    ask_again("200 cm")(given_files, folder)
    given = read(folder)
    assert [flaw.field for flaw in given.flaws] == ["height", "size"]
    (person,) = (person for person in given.fictitious if person.person_id == "7")
    assert {"height", "size"}.isdisjoint(instance.field for instance in person.instances)
