import csv
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parallax.framing.annotation.cells import neutralise, read_cells, restore, write_cells


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_a_text_that_begins_like_a_formula_is_none(first):
    assert neutralise(f"{first}1+1") == f"'{first}1+1"
    for blank in ("\t", "\r", "\n"):
        assert neutralise(f"{blank}{first}1") == f"{blank}'{first}1"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("text;=cmd|x", "text;'=cmd|x"),
        ("text\t-1;+2", "text\t'-1;'+2"),
        ("one\n\n@two", "one\n\n'@two"),
        ('a;"=1"', 'a;"\'=1"'),
        ("a;'b", "a;''b"),
    ],
)
def test_nor_is_what_other_separators_would_cut_off_from_it(text, cell):
    assert neutralise(text) == cell and restore(cell) == text


def test_other_texts_are_left_alone():
    for text in ("", "1+1=2", "a", " =1", "no", "a; b", "it's, -1", "\n1+1", "a = 'b'"):
        assert neutralise(text) == text


def test_an_apostrophe_that_somebody_typed_stays():
    assert restore("'Tis so") == "'Tis so"


@given(st.text() | st.text("=-';\t\n\r\",a "))
def test_every_text_comes_back(text):
    assert restore(neutralise(text)) == text


@given(st.lists(st.text("=-';\n\",a"), min_size=1), st.sampled_from(",;\t"))
def test_no_separator_makes_a_cell_active(texts, separator):
    record = {str(column): text for column, text in enumerate(texts)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        write_cells(path, list(record), [record])
        written = path.read_text(encoding="utf-8")
    cells = [cell for row in csv.reader(io.StringIO(written), delimiter=separator) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "-"))]


def test_a_file_holds_no_active_cell_and_is_read_back(tmp_path):
    rows = [
        {"id": "-x", "text": '=HYPERLINK("http://a.example","b")'},
        {"id": "'y", "text": 'one, "two"\nthree'},
    ]
    path = tmp_path / "t.csv"
    write_cells(path, ("id", "text"), rows, for_people=True)
    assert path.read_bytes().startswith(b"\xef\xbb\xbfid,text\n")
    with path.open(encoding="utf-8-sig", newline="") as file:
        raw = list(csv.reader(file))
    assert [cell[0] for row in raw[1:] for cell in row] == ["'", "'", "'", "o"]
    assert [row.values for row in read_cells(path, ("id", "text"))] == rows


@pytest.mark.parametrize("separator", [";", "\t"])
def test_what_a_spreadsheet_saves_elsewhere_is_read_too(tmp_path, separator):
    path = tmp_path / "t.csv"
    path.write_bytes(f'id{separator}text\r\na{separator}"x, y; z"\r\n'.encode())
    (row,) = read_cells(path, ("id", "text"))
    assert row.values == {"id": "a", "text": "x, y; z"}
