import ast
import json

import pytest

from parallax.umu.flaws import count_unmapped
from parallax.umu.folders import FULL, REAL
from parallax.umu.given import read_given
from parallax.words import fold_words

SEED = 2026


def read(folder):
    return read_given(folder, SEED)


def test_clean_files_are_read_as_they_are(written, groups):
    given = read(written)
    assert (given.flaws, given.unmapped, given.layout) == ([], [], "UMU-Bench")
    assert (given.fictitious, given.real) == (groups["fictitious"], groups["real"])
    assert set(given.left_out.values()) == {0}
    assert given.drawn == []


def test_names_are_found_in_the_questions(written, profiles):
    names = read(written).names
    for group in ("fictitious", "real"):
        rows = profiles[profiles["group"] == group]
        wanted = dict(zip(rows["person_id"], rows["name"], strict=True))
        assert names[group] == wanted
        assert len({fold_words(name) for name in wanted.values()}) == len(wanted)


def with_quirks(files, folder):
    """Lay the files out as forks do, row by row in another way."""

    def write_json(value):
        return json.dumps(value, ensure_ascii=False)

    def quirky(number, row):
        cells = {column: ast.literal_eval(row[column]) for column in files.TEXTS}
        for column in ("Classify", "Cloze", "Generation")[: number % 4]:
            cells[column]["multimodal"] = cells[column].pop("muitimodal")
        for entries in cells["Classify"].values():
            for entry in entries.values():
                letter = entry["answer"]
                forms = (
                    letter,
                    f"{letter}. {entry['options'][letter]}",
                    letter.lower(),
                    f"{letter})",
                )
                entry["answer"] = forms[number % 4]
        for question, prompt in cells["MM_QA"]["question"].items():
            cells["MM_QA"]["question"][question] = ("USER: <image>\n{}\nASSISTANT:", "<image>{}")[
                number % 2
            ].format(prompt)
        for entry in cells["Cloze"]["unimodal"].values():
            entry["question"] = f"USER:\n{entry['question']}"
        write = (repr, write_json)[number % 2]
        return row | {"ID": int(row["ID"])} | {c: write(value) for c, value in cells.items()}

    files.edit_rows(folder, lambda rows: [quirky(*pair) for pair in enumerate(rows)])
    for subset, name in (
        (FULL, "full_data"),
        (REAL, "real_person"),
        ("forget_5", "forget5"),
        ("retain_95", "Retain-95"),
    ):
        (folder / subset).rename(folder / name)


def test_quirks_of_forks_change_nothing(folder, written, given_files):
    with_quirks(given_files, folder)
    assert read(folder) == read(written)


def test_both_spellings_of_what_is_missing_are_an_empty_answer(folder, given_files):
    for person_id, column, missing in (("7", "UM_QA", "nan"), ("8", "MM_QA", "null")):
        given_files.edit_cell(
            folder,
            *(person_id, column),
            lambda v, m=missing: repr(v).replace(repr(v["answer"]["birth_city"]), m, 1),
        )
    given_files.edit_cell(
        folder,
        *("9", "MM_QA"),
        lambda v: json.dumps(v | {"answer": v["answer"] | {"birth_city": float("nan")}}),
    )
    assert [str(flaw).split(", ", 1)[1] for flaw in read(folder).flaws] == [
        "ID 7, column UM_QA: question 'birth_city': empty answer",
        "ID 8, column MM_QA: question 'birth_city': empty answer",
        "ID 9, column MM_QA: question 'birth_city': empty answer",
    ]


def test_years_are_texts_whatever_stands_beside_them(folder, given_files):
    def as_float(value):
        value["answer"]["award_year"] = 1950.0
        return json.dumps(value)

    for column in ("MM_QA", "UM_QA"):
        given_files.edit_cell(folder, "501", column, as_float)
    (person,) = (person for person in read(folder).real if person.person_id == "501")
    (year,) = (i for i in person.instances if (i.task, i.field) == ("qa", "award_year"))
    assert (year.image.answer, year.text.answer) == ("1950", "1950")


def test_real_people_numbered_like_the_fictitious_get_an_r(folder, given_files):
    given_files.edit_rows(
        folder, lambda rows: [row | {"ID": str(n)} for n, row in enumerate(rows, 1)], [REAL]
    )
    given = read(folder)
    assert [person.person_id for person in given.real] == [f"R{n}" for n in range(1, 13)]
    assert {i.person_id for p in given.real for i in p.instances} == set(given.names["real"])
    assert given.names["real"]["R1"] == "Ana Realson0"


SPLITS = ("forget_5", "retain_95", "forget_10", "retain_90", "forget_15", "retain_85")


def test_splits_are_drawn_as_for_our_own_people_where_there_are_none(folder, written, given_files):
    given_files.remove_subset(folder, *SPLITS)
    given = read(folder)
    assert given.subsets == read(written).subsets
    assert given.drawn == list(SPLITS)


@pytest.mark.parametrize("kept", [("forget_10",), ("retain_90",), ("forget_5", "retain_85")])
def test_missing_splits_fit_those_that_are_given(folder, written, given_files, kept):
    given_files.remove_subset(folder, *(set(SPLITS) - set(kept)))
    subsets, before = read(folder).subsets, read(written).subsets
    assert [subsets[name] for name in kept] == [before[name] for name in kept]
    for percent in (5, 10, 15):
        forget, retain = subsets[f"forget_{percent}"], subsets[f"retain_{100 - percent}"]
        assert len(forget) == round(0.4 * percent)
        assert sorted(forget + retain, key=int) == [str(n) for n in range(1, 41)]
    assert set(subsets["forget_5"]) < set(subsets["forget_10"]) < set(subsets["forget_15"])


@pytest.mark.parametrize(
    ("lost", "drawn"),
    [
        (("forget_5", "retain_95"), ["forget_5", "retain_95"]),
        (("forget_5",), []),  # everyone who is not in retain_95
        (("forget_10", "retain_90", "retain_85"), ["forget_10", "retain_90"]),
    ],
)
def test_subsets_that_the_files_dont_settle_are_named(folder, given_files, lost, drawn):
    given_files.remove_subset(folder, *lost)
    assert read(folder).drawn == drawn


def test_what_is_not_read_is_named(folder, given_files):
    (folder / "Test_Set").mkdir()
    given_files.edit_rows(folder, lambda rows: [row | {"note": "x"} for row in rows], [FULL])
    assert count_unmapped(read(folder).unmapped) == [
        {
            **{"subset": FULL, "column": "note", "reason": "the column is not read", "count": 1},
            "examples": ["note"],
        },
        {
            **{"subset": "Test_Set", "column": "", "reason": "the folder is no subset"},
            **{"count": 1, "examples": ["Test_Set"]},
        },
    ]
