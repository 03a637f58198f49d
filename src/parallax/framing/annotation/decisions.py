"""What an adjudicator decides on pairs on which annotators disagree, or which they refuse."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from parallax.errors import DataError
from parallax.framing.annotation.answers import pair_digest
from parallax.framing.annotation.cells import read_cells, write_cells
from parallax.framing.annotation.questions import ANNOTATORS, QUESTION_NAMES
from parallax.framing.annotation.votes import Votes
from parallax.framing.rows import Row, require_unique

DECISIONS_FILE = "decisions.csv"
DECISIONS = {"equivalent": True, "different": False}
COLUMNS = ("item", "digest", "decision", "reason")
YES_COLUMNS = {name: f"yes_{name}" for name in QUESTION_NAMES}
SHEET_COLUMNS = ("item", "a", "b", *YES_COLUMNS.values(), "yes_to_all", "decision", "reason")


@dataclass(frozen=True)
class Decision:
    """An adjudicator's word on the two texts with this digest."""

    digest: str
    equivalent: bool
    reason: str


def write_adjudication(
    path: Path, votes: Mapping[str, Votes], texts: Mapping[str, tuple[str, str]]
) -> int:
    """Write a sheet of the contested pairs, with room for decisions; return how many there are.

    Where there are none, no file is written.
    """
    contested = {item: found for item, found in votes.items() if found.contested}
    rows = [
        {
            **{"item": item, "a": texts[item][0], "b": texts[item][1]},
            **{column: _of_all(found.yes[name]) for name, column in YES_COLUMNS.items()},
            **{"yes_to_all": _of_all(found.same), "decision": "", "reason": ""},
        }
        for item, found in contested.items()
    ]
    if rows:
        write_cells(path, SHEET_COLUMNS, rows, for_people=True)
    return len(rows)


def _of_all(count: int) -> str:
    return f"{count} of {len(ANNOTATORS)}"


def read_adjudication(path: Path, votes: Mapping[str, Votes]) -> dict[str, Decision]:
    """Read the filled sheet of the contested pairs.

    Raises:
        DataError: an item is unknown, missing, double or not contested, its texts are not those
            that annotators saw, a decision or its reason is missing, or a pair is decided
            equivalent to which no annotator says yes; the message names file, line and column.
    """
    rows = read_cells(path, SHEET_COLUMNS)
    require_unique(rows, "item")
    decisions = {}
    for row in rows:
        votes_on = _contested(row, votes)
        if pair_digest(str(row.values["a"]), str(row.values["b"])) != votes_on.digest:
            raise row.wrong("a", "the two texts that annotators saw: decide on those")
        decisions[str(row.values["item"])] = _decide(row, votes_on)
    if missing := [item for item, on in votes.items() if on.contested and item not in decisions]:
        raise DataError(f"{path}: column item: no row for {', '.join(missing)}; decide on it too")
    return decisions


def is_filled(path: Path) -> bool:
    """Tell whether anything is typed into a sheet of contested pairs, or it cannot be read."""
    try:
        rows = read_cells(path, SHEET_COLUMNS)
    except DataError:
        return True
    return any(str(row.values[name]).strip() for row in rows for name in ("decision", "reason"))


def _contested(row: Row, votes: Mapping[str, Votes]) -> Votes:
    found = votes.get(row.text("item"))
    if found is None or not found.contested:
        raise row.wrong("item", "an item on which annotators disagree, or which they refuse")
    return found


def _decide(row: Row, votes: Votes) -> Decision:
    equivalent = DECISIONS[row.choice("decision", DECISIONS)]
    if equivalent and not votes.same:
        raise row.wrong(
            "decision", "different: no annotator says yes to all three questions; reword the item"
        )
    return Decision(votes.digest, equivalent, row.stripped_text("reason"))


def write_decisions(path: Path, decisions: Mapping[str, Decision]) -> None:
    """Write decisions by item."""
    words = {equivalent: word for word, equivalent in DECISIONS.items()}
    rows = [
        {
            **{"item": item, "digest": decision.digest},
            **{"decision": words[decision.equivalent], "reason": decision.reason},
        }
        for item, decision in decisions.items()
    ]
    write_cells(path, COLUMNS, rows)


def read_decisions(path: Path, votes: Mapping[str, Votes]) -> dict[str, Decision]:
    """Read what `write_decisions` wrote; without a file there are none.

    Raises:
        DataError: a value is malformed, or the decision is not on what annotators saw, or on a
            pair that is not contested.
    """
    if not path.exists():
        return {}
    rows = read_cells(path, COLUMNS)
    require_unique(rows, "item")
    decisions = {}
    for row in rows:
        votes_on = _contested(row, votes)
        if row.text("digest") != votes_on.digest:
            raise row.wrong("digest", "that of the texts that annotators saw: adjudicate again")
        decisions[row.text("item")] = _decide(row, votes_on)
    return decisions
