import csv

import pytest

from parallax.errors import DataError
from parallax.framing.annotation.decisions import (
    read_adjudication,
    read_decisions,
    write_adjudication,
    write_decisions,
)
from parallax.framing.annotation.sheets import collect_answers
from parallax.framing.annotation.votes import count_votes

NO = {"intent": False, "difficulty": True, "compliance": True}


@pytest.fixture
def votes(masked, fill):
    """i1 is split, i2 and i3 pass by two, i4 is refused by all, i5 is found the same by all."""
    sheets = [
        fill("1", {"i1": NO, "i4": NO}),
        fill("2", {"i1": NO, "i2": NO, "i4": NO}),
        fill("3", {"i3": NO, "i4": NO}),
    ]
    return count_votes(collect_answers(masked, sheets))


@pytest.fixture
def sheet(tmp_path, votes, masked, edit):
    """`sheet(**decisions)` writes the filled sheet: "equivalent" or "different" by item."""
    texts = {row.pair: (row.a, row.b) for row in masked if not row.catch}

    def write(**decisions):
        path = tmp_path / "adjudication.csv"
        assert write_adjudication(path, votes, texts) == 4

        def change(rows):
            for row in rows:
                word = decisions.get(row["item"], "different")
                row |= {"decision": word, "reason": word and f"-{row['item']}: so it is"}

        return edit(path, change)

    return write


def refused(votes, path):
    with pytest.raises(DataError) as error:
        read_adjudication(path, votes)
    return str(error.value)


def test_contested_pairs_alone_are_listed_with_their_tallies(tmp_path, votes, sheet):
    with sheet().open(newline="", encoding="utf-8-sig") as file:
        rows = {row["item"]: row for row in csv.DictReader(file)}
    assert set(rows) == {"i1", "i2", "i3", "i4"}
    assert (rows["i1"]["yes_intent"], rows["i1"]["yes_to_all"]) == ("1 of 3", "1 of 3")
    assert (rows["i2"]["yes_difficulty"], rows["i2"]["yes_to_all"]) == ("3 of 3", "2 of 3")
    assert rows["i1"]["a"] == "'=1+1 is what I get; explain why."


def test_decisions_go_either_way_and_are_read_back(tmp_path, votes, sheet):
    decisions = read_adjudication(sheet(i1="equivalent"), votes)
    assert {item: found.equivalent for item, found in decisions.items()} == {
        **{"i1": True, "i2": False, "i3": False, "i4": False}
    }
    assert decisions["i1"].reason == "-i1: so it is"
    path = tmp_path / "decisions.csv"
    write_decisions(path, decisions)
    assert read_decisions(path, votes) == decisions
    assert ",'-i1: so it is" in path.read_text()


def test_a_pair_that_nobody_finds_the_same_cannot_be_let_pass(votes, sheet):
    assert "column decision: 'equivalent'; want different: no annotator" in refused(
        votes, sheet(i4="equivalent")
    )


def test_half_filled_and_changed_sheets_are_refused(votes, sheet, edit):
    assert "column decision: ''; want one of different, equivalent" in refused(votes, sheet(i2=""))
    assert "no row for i3; decide on it too" in refused(
        votes, edit(sheet(), lambda rows: [row for row in rows if row["item"] != "i3"])
    )

    def rename(rows):
        rows[0]["item"] = "i5"

    assert "column item: 'i5'; want an item on which annotators disagree" in refused(
        votes, edit(sheet(), rename)
    )

    def reword(rows):
        rows[1]["b"] = "Better."

    assert "column a: " in refused(votes, edit(sheet(), reword))

    def silence(rows):
        rows[0]["reason"] = " "

    assert "column reason: ' '; want a text" in refused(votes, edit(sheet(), silence))


def test_kept_decisions_hold_for_the_answers_that_they_were_made_on(tmp_path, votes, sheet, edit):
    path = tmp_path / "decisions.csv"
    assert read_decisions(path, votes) == {}
    write_decisions(path, read_adjudication(sheet(), votes))
    others = {item: found for item, found in votes.items() if item != "i2"}
    with pytest.raises(DataError, match=r"decisions\.csv: line 3, column item: 'i2'"):
        read_decisions(path, others)

    def change(rows):
        rows[0]["digest"] = "00"

    with pytest.raises(DataError, match="column digest: '00'; want that of the texts"):
        read_decisions(edit(path, change), votes)
