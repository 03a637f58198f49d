import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parallax.framing.annotation.cells import neutralise, read_cells, restore, write_cells


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff20"])
def test_a_text_that_begins_like_a_formula_is_none(first):
    assert neutralise(f"{first}1+1") == f"'{first}1+1"


def test_other_texts_are_left_alone():
    for text in ("", "1+1=2", "a", " =1", "no"):
        assert neutralise(text) == text


@given(st.text())
def test_every_text_comes_back(text):
    assert restore(neutralise(text)) == text


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
