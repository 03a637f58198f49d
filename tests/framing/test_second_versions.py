import csv
import dataclasses
import json

import pytest

from parallax.errors import DataError
from parallax.framing.items import Item
from parallax.framing.second_versions import add_paraphrases, write_sheet

BARE = Item("x1", "own", "fraud", "harmful", "refuse", "Forge a letter.")
OTHER = dataclasses.replace(BARE, id="x2", body="Other.")
DONE = dataclasses.replace(OTHER, paraphrase="Another.")
# Bodies as spreadsheets run them, at once or where they cut a cell at semicolons.
ACTIVE = (
    '=HYPERLINK("http://a.example","b")',
    "Say this;=cmd|'/c calc'!A0",
    "A context\n\n---\n\nAnd a request",
    "'Tis a quote",
)


def jsonl(folder, *records):
    path = folder / "file.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture
def sheet(tmp_path):
    """`sheet(items, change, separator)` is the sheet as a spreadsheet saves it once filled in."""

    def sheet(items, change=lambda row: None, separator=","):
        path = tmp_path / "second.csv"
        write_sheet(path, items)
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            row["paraphrase"] = f"Tell me of {row['id']}."
            change(row)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter=separator)
            writer.writeheader()
            writer.writerows(rows)
        return path

    return sheet


def active():
    return [dataclasses.replace(BARE, id=f"x{n}", body=body) for n, body in enumerate(ACTIVE)]


def test_a_sheet_is_known_for_utf_8_and_runs_nothing(tmp_path):
    path = tmp_path / "second.csv"
    write_sheet(path, active())
    assert path.read_bytes().startswith(b"\xef\xbb\xbfid,body,paraphrase\n")
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["body"] for row in rows] == [
        '\'=HYPERLINK("http://a.example","b")',
        "Say this;'=cmd|'/c calc'!A0",
        "A context\n\n'---\n\nAnd a request",
        "''Tis a quote",
    ]
    assert [row["paraphrase"] for row in rows] == [""] * 4


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_filled_sheet_completes_the_items(sheet, separator):
    found = add_paraphrases(active(), sheet(active(), separator=separator))
    assert found == tuple(
        dataclasses.replace(item, paraphrase=f"Tell me of {item.id}.") for item in active()
    )


def test_a_sheet_of_other_bodies_is_refused(sheet):
    def change(row):
        if row["id"] == "x2":
            row["body"] = "Others."

    with pytest.raises(
        DataError, match=r"line 3, column body: 'Others\.'; want the body of item 'x2': put it"
    ):
        add_paraphrases([BARE, OTHER], sheet([BARE, OTHER], change))


def test_bodies_in_jsonl_are_as_they_are(tmp_path):
    quoted = dataclasses.replace(BARE, body="''=1 is what I see.")
    record = {"id": "x1", "body": quoted.body, "paraphrase": "'=1 is there."}
    (found,) = add_paraphrases([quoted], jsonl(tmp_path, record))
    assert found.text(1) == "'=1 is there."
    with pytest.raises(DataError, match="line 1, column body: None; want the body of item 'x1'"):
        add_paraphrases([quoted], jsonl(tmp_path, record | {"body": None}))


def test_a_file_of_ids_and_paraphrases_is_enough(tmp_path):
    records = [{"id": item, "paraphrase": f"Tell me of {item}."} for item in ("x2", "x1")]
    found = add_paraphrases([BARE, OTHER], jsonl(tmp_path, *records))
    assert [item.text(1) for item in found] == ["Tell me of x1.", "Tell me of x2."]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"id": "z", "paraphrase": "Fake it."}], "line 1, column id: 'z'; want the ID of an item"),
        ([{"id": "x2", "paraphrase": "Fake it."}], "line 1, column id: 'x2'; want an item without"),
        ([{"id": "x1", "paraphrase": "Forge a letter."}], "column paraphrase: .*want other words"),
        ([{"id": "x1", "paraphrase": "A."}, {"id": "x1", "paraphrase": "B."}], "line 1 does not"),
    ],
)
def test_paraphrase_file_with_wrong_rows_is_refused(tmp_path, records, message):
    with pytest.raises(DataError, match=message):
        add_paraphrases([BARE, DONE], jsonl(tmp_path, *records))


def test_paraphrase_file_with_a_gap_is_refused(tmp_path):
    with pytest.raises(DataError, match="no row for item 'x2'"):
        add_paraphrases([BARE, OTHER], jsonl(tmp_path, {"id": "x1", "paraphrase": "Fake it."}))
