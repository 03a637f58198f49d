import csv

import pytest

from parallax.errors import DataError
from parallax.framing.annotation.answers import pair_digest, read_answers, write_answers
from parallax.framing.annotation.sheets import (
    collect_answers,
    instruct,
    read_key,
    write_key,
    write_sheet,
)


@pytest.fixture
def sheets(fill):
    return [fill(name) for name in "123"]


def refused(masked, sheets):
    with pytest.raises(DataError) as error:
        collect_answers(masked, sheets)
    text = str(error.value)
    assert "\n" not in text
    return text


def test_a_sheet_shows_ids_and_texts_and_nothing_else(tmp_path, masked):
    write_sheet(tmp_path / "s.csv", [row for row in masked if row.annotator == "1"])
    text = (tmp_path / "s.csv").read_text(encoding="utf-8-sig")
    rows = list(csv.reader(text.splitlines()))
    assert rows[0] == ["id", "left", "right", "same_intent", "same_difficulty", "same_compliance"]
    assert rows[1][3:] == ["", "", ""]
    for hidden in {row.pair for row in masked} | {row.catch for row in masked} - {""}:
        assert hidden not in text


def test_the_key_has_the_right_answers_and_is_read_back(tmp_path, masked):
    write_key(tmp_path / "k.csv", masked)
    assert read_key(tmp_path / "k.csv") == masked
    with (tmp_path / "k.csv").open(newline="") as file:
        rights = {
            row["catch"]: [row[f"right_{n}"] for n in ("intent", "difficulty", "compliance")]
            for row in csv.DictReader(file)
        }
    # Of five items one catch pair is planted, of the first kind.
    assert rights == {
        "": ["", "", ""],
        "equivalent": ["yes", "yes", "yes"],
        "negation": ["no", "", ""],
    }


def test_answers_are_found_whatever_the_order_of_rows_and_sheets(masked, sheets, fill, edit):
    fill("2", {"i3": {"difficulty": False}})
    edit(sheets[0], lambda rows: rows[::-1], separator=";")
    answers = collect_answers(masked, sheets[::-1])
    assert len(answers) == len(masked)
    found = {(one.annotator, one.pair): one for one in answers}
    assert found["2", "i3"].given == {"intent": True, "difficulty": False, "compliance": True}
    assert found["1", "i3"].same and not found["2", "i3"].same
    texts = {row.pair: (row.a, row.b) for row in masked}
    assert all(one.digest == pair_digest(*texts[one.pair]) for one in answers)
    assert {one.pair: one.catch for one in answers} == {row.pair: row.catch for row in masked}


def test_yes_and_no_may_be_written_large(masked, sheets, edit):
    def shout(rows):
        for row in rows:
            row["same_intent"] = f" {row['same_intent'].upper()} "

    edit(sheets[1], shout)
    assert len(collect_answers(masked, sheets)) == len(masked)


def set_cell(number, column, value):
    def change(rows):
        rows[number][column] = value

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (set_cell(2, "id", "zzzzzz"), "line 4, column id: 'zzzzzz'; want an ID that the key has"),
        (lambda rows: [row | {"id": f"{row['id']} "} for row in rows], "line 2, column id: '"),
        (set_cell(0, "same_intent", ""), "line 2, column same_intent: ''; want yes or no"),
        (set_cell(1, "same_difficulty", "maybe"), "line 3, column same_difficulty: 'maybe'; want"),
        (set_cell(1, "same_compliance", "1"), "line 3, column same_compliance: '1'; want yes or"),
        (set_cell(0, "left", "Another text."), "line 2, column left: 'Another text.'; want the"),
        (lambda rows: rows[1:], "column id: no row for "),
        (
            lambda rows: [*rows, rows[0]],
            "line 10, column id: 'zvqxmw'; want a value that line 2 do",
        ),
        (
            lambda rows: [{k: v for k, v in row.items() if k != "right"} for row in rows],
            "line 2, column right: missing",
        ),
        (
            lambda rows: [row | {"note": "hm"} for row in rows],
            "line 2, column note: unknown; want only id, left, right",
        ),
    ],
)
def test_a_changed_sheet_is_refused_with_file_line_and_column(masked, sheets, edit, change, said):
    # Texts with a line break stand on two lines; move that row to the end.
    edit(sheets[1], lambda rows: sorted(rows, key=lambda row: "\n" in row["left"] + row["right"]))
    edit(sheets[1], change)
    text = refused(masked, sheets)
    assert text.startswith(f"{sheets[1]}: {said}"), text


def test_texts_that_have_changed_places_are_refused(masked, sheets, edit):
    def swap(rows):
        rows[0]["left"], rows[0]["right"] = rows[0]["right"], rows[0]["left"]

    edit(sheets[2], swap)
    assert "column left" in refused(masked, sheets)


def test_missing_answers_are_counted(masked, sheets, edit):
    def forget(rows):
        for row in rows[:2]:
            row |= {"same_intent": "", "same_difficulty": " "}

    edit(sheets[0], forget)
    assert refused(masked, sheets).endswith("want yes or no; 4 answers are missing in all")


def test_one_annotators_sheet_counts_once_and_all_three_are_needed(masked, sheets, fill, tmp_path):
    copy = tmp_path / "copy.csv"
    copy.write_bytes(sheets[0].read_bytes())
    text = refused(masked, [sheets[0], sheets[1], copy])
    assert text.startswith(f"{copy}: line 2, column id: ")
    assert text.endswith(
        f"another annotator's sheet than {sheets[0]}, which is also of annotator 1"
    )
    assert "the sheet of annotator 3 is missing" in refused(masked, sheets[:2])
    assert "the sheet of annotator 1 is missing" in refused(masked, [])


def test_rows_of_two_annotators_in_one_sheet_are_refused(masked, sheets, edit):
    rows_of_one = []
    edit(sheets[0], rows_of_one.extend)
    edit(sheets[1], lambda rows: [rows[0], rows_of_one[0], *rows[2:]])
    assert "want an ID of the sheet that line 2 belongs to" in refused(masked, sheets)


def test_a_sheet_in_another_encoding_is_told_how_to_save(masked, sheets):
    sheets[0].write_bytes(sheets[0].read_bytes().replace(b"bank", b"b\xe4nk"))
    assert "is not UTF-8; save it as UTF-8" in refused(masked, sheets)


def test_the_instructions_name_columns_and_questions():
    text = instruct("2")
    assert text.startswith("Annotator 2")
    for words in ("same_intent: Do both", "same_difficulty: Is", "same_compliance: Should"):
        assert words in text


def test_answers_are_kept_and_read_back(tmp_path, masked, sheets):
    answers = collect_answers(masked, sheets)
    path = tmp_path / "answers.csv"
    write_answers(path, answers)
    assert read_answers(path) == answers


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: [*rows, rows[0]], "line 23, column pair: "),
        (lambda rows: rows[1:], "column pair: annotator 1 has no answers for "),
        (set_cell(0, "digest", "00"), "column pair: annotator 1 has no answers for "),
        (set_cell(0, "intent", "Yes"), "line 2, column intent: 'Yes'; want one of no, yes"),
        (set_cell(0, "annotator", "4"), "line 2, column annotator: '4'; want one of 1, 2, 3"),
    ],
)
def test_kept_answers_that_were_edited_are_refused(tmp_path, masked, sheets, edit, change, said):
    path = tmp_path / "answers.csv"
    write_answers(path, collect_answers(masked, sheets))
    edit(path, change)
    with pytest.raises(DataError) as error:
        read_answers(path)
    assert str(error.value).startswith(f"{path}: {said}")
