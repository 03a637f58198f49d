"""Prompts, their items, pairs and audit, and the slot's clauses as data frames.

A version of an item is labelled "fraud-h1/0" (its body) or "fraud-h1/1" (its paraphrase), a prompt
"fraud-h1/0/E/l01", a clause "length_matched/l01/E".
"""

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rapidfuzz import fuzz

from parallax.errors import DataError
from parallax.validation.findings import iterate, require_columns
from parallax.words import fold_words

if TYPE_CHECKING:
    import pandas as pd

VERSIONS = (0, 1)
# The arm that is the bare body, and the one that may speak of an evaluation.
FRAMELESS, EVALUATION = "no_frame", "E"
CLAUSE, BODY = "{clause}", "{body}"
LENGTH_MATCHED = "length_matched"
_REST = re.compile(r"[.!?](?:\s.*)?$")

CELL = ("item", "paraphrase", "arm", "wording")
TEXTS = ("item", "arm", "wording", "text", "role", "body_hash", "body")
PROMPT = ("paraphrase", "start", "end", *TEXTS)
COPIED = {"topic": "topic", "harm_class": "harm_class", "a": "body", "b": "paraphrase"}


@dataclasses.dataclass(frozen=True)
class Plan:
    """Which prompts every chosen item has: its two versions in these wordings and arms."""

    clause_set: str
    wordings: Sequence[str]
    arms: Sequence[str]


@dataclasses.dataclass(frozen=True)
class Slot:
    """The frames' file: a carrier with {clause} and {body}, a role, and the clauses.

    `clauses` are by set, wording and arm.
    """

    carrier: str
    role: str
    clauses: Mapping[tuple[str, str, str], str]


@dataclasses.dataclass(frozen=True)
class Reading:
    """What is found in a text: words of the two forbidden kinds, and its number of tokens."""

    evaluation_words: Callable[[str], Sequence[str]]
    permission_words: Callable[[str], Sequence[str]]
    tokens: Callable[[str], int]


def version_frame(items: "pd.DataFrame", reading: Reading) -> "pd.DataFrame":
    """Return one row per version of a chosen item: its class, and its evaluation words (or "")."""
    import pandas as pd

    classes = dict(iterate(items, "item", "harm_class"))
    rows = [
        {
            "row": f"{item}/{version}",
            "item": item,
            "harm_class": classes[item],
            "text": text,
            "evaluation": ", ".join(reading.evaluation_words(text)),
        }
        for (item, version), text in _texts(items).items()
    ]
    return pd.DataFrame(rows, columns=["row", "item", "harm_class", "text", "evaluation"])


def _texts(items: "pd.DataFrame") -> dict[tuple[str, int], str]:
    return {
        (item, version): text
        for item, *texts in iterate(items[items["chosen"]], "item", "body", "paraphrase")
        for version, text in zip(VERSIONS, texts, strict=True)
    }


def clause_frame(slot: Slot, reading: Reading) -> "pd.DataFrame":
    """Return the carrier and every clause of the file, with what it must not have in it (or "").

    `evaluation` and `permission` are forbidden words, `rest` is a clause from its first sentence
    end on.
    """
    import pandas as pd

    around = slot.carrier.replace(CLAUSE, "").replace(BODY, "")
    parts = [("carrier", "", around)]
    parts += [("/".join(key), key[-1], clause) for key, clause in slot.clauses.items()]
    return pd.DataFrame(
        [
            {
                "row": label,
                # E is there to speak of an evaluation.
                "evaluation": ", ".join(
                    () if arm == EVALUATION else reading.evaluation_words(text)
                ),
                "permission": ", ".join(reading.permission_words(text)),
                "rest": "" if label == "carrier" else "".join(_REST.findall(text)),
            }
            for label, arm, text in parts
        ]
    )


def length_frame(slot: Slot, reading: Reading) -> "pd.DataFrame":
    """Return one row per wording of the length-matched set and arm, with its number of tokens.

    Counted is the carrier with the clause and without a body: the clause's neighbours decide how
    its ends are cut, and what they add is the same in all arms.
    """
    import pandas as pd

    rows = [
        {
            "row": f"{clause_set}/{wording}",
            "arm": arm,
            "tokens": reading.tokens(slot.carrier.replace(BODY, "").replace(CLAUSE, clause)),
        }
        for (clause_set, wording, arm), clause in slot.clauses.items()
        if clause_set == LENGTH_MATCHED
    ]
    return pd.DataFrame(rows, columns=["row", "arm", "tokens"])


def cell_frame(items: "pd.DataFrame", prompts: "pd.DataFrame", plan: Plan) -> "pd.DataFrame":
    """Return one row per planned or present prompt: how often it is there, and should be.

    The frameless prompt is there once for all wordings, under whichever name.

    Raises:
        DataError: the prompts lack a column.
    """
    require_columns(prompts, CELL, "prompts.parquet")
    planned = {
        _cell_label(item, version, arm, wording)
        for item, version in _texts(items)
        for wording in plan.wordings
        for arm in plan.arms
    }
    return _count_frame(planned, Counter(_cell_label(*cell) for cell in iterate(prompts, *CELL)))


def _cell_label(item: str, version: int, arm: str, wording: str) -> str:
    return f"{item}/{version}/{arm}" + ("" if arm == FRAMELESS else f"/{wording}")


def _count_frame(planned: set[str], seen: Mapping[str, int]) -> "pd.DataFrame":
    """Return one row per planned or seen label: how often it was seen, and is planned."""
    import pandas as pd

    labels = sorted({*planned, *seen})
    return pd.DataFrame(
        {
            "row": labels,
            "times": [seen.get(label, 0) for label in labels],
            "expected": [int(label in planned) for label in labels],
        }
    )


def prompt_frame(
    prompts: "pd.DataFrame", items: "pd.DataFrame", slot: Slot, plan: Plan
) -> "pd.DataFrame":
    """Return the prompts with a label, cut at the span, beside what items and frames' file have.

    `inside` is the text in the span and `outside` the text with {clause} in its place (None
    without a usable span); `item_text`, `file_clause` and `file_role` are what they should be,
    `filled` is the carrier around the row's own body (None without a frame).

    Raises:
        DataError: the prompts lack a column, or a text.
    """
    import pandas as pd

    require_columns(prompts, PROMPT, "prompts.parquet")
    require_texts(prompts, TEXTS, "prompts.parquet")
    texts = _texts(items)
    cut = [_cut(*cells) for cells in iterate(prompts, "text", "start", "end")]
    cells = list(iterate(prompts, *CELL))
    beside = {
        "row": [_cell_label(*cell) for cell in cells],
        "inside": [inside for inside, _ in cut],
        "outside": [outside for _, outside in cut],
        "item_text": [texts.get((item, version)) for item, version, *_ in cells],
        "file_clause": [slot.clauses.get((plan.clause_set, word, arm)) for *_, arm, word in cells],
        "file_role": [slot.role] * len(cells),
        "filled": [
            None if arm == FRAMELESS else slot.carrier.replace(BODY, body)
            for arm, body in iterate(prompts, "arm", "body")
        ],
    }
    # As objects: a column of texts would turn None into NaN, which differs from itself.
    return pd.concat(
        [prompts.astype(object), pd.DataFrame(beside, prompts.index, dtype=object)], axis=1
    )


def _cut(text: str, start: Any, end: Any) -> tuple[str | None, str | None]:
    if is_missing(start) or is_missing(end) or not 0 <= start <= end <= len(text):
        return None, None
    # A column with a gap in it comes back from parquet as floating-point numbers.
    start, end = int(start), int(end)
    return text[start:end], text[:start] + CLAUSE + text[end:]


def is_missing(cell: Any) -> bool:
    """Say whether a cell is None, NaN or <NA>."""
    import pandas as pd

    return bool(pd.isna(cell))


def pair_frame(pairs: "pd.DataFrame", items: "pd.DataFrame") -> "pd.DataFrame":
    """Return one row per chosen item or item with a pair: how many pairs it has, and should have.

    `differing` names the columns of the first one that are not the item's, and `alike` says how
    alike its two texts are, percent; "" and NaN without a pair of a chosen item.

    Raises:
        DataError: the pairs lack a column, or a text.
    """
    require_texts(pairs, ("item", *COPIED), "pairs.parquet")
    known = _first_cells(items[items["chosen"]], COPIED.values())
    given = _first_cells(pairs, COPIED)
    frame = _count_frame(set(known), Counter(pairs["item"]))
    compared = [_compare(given.get(item), known.get(item)) for item in frame["row"]]
    return frame.assign(
        differing=[differing for differing, _ in compared], alike=[alike for _, alike in compared]
    )


def _compare(cells: tuple[str, ...] | None, wanted: tuple[str, ...] | None) -> tuple[str, float]:
    if cells is None or wanted is None:
        return "", math.nan
    columns = zip(COPIED, cells, wanted, strict=True)
    differing = ", ".join(column for column, cell, want in columns if cell != want)
    return differing, fuzz.ratio(*map(fold_words, cells[2:]))


def audit_frame(audit: "pd.DataFrame", items: "pd.DataFrame", source: str) -> "pd.DataFrame":
    """Return one row per chosen or audited item: how often it was audited, and should have been.

    `verdict` is "" for equivalent versions and else what the audit says, None without an audit.

    Raises:
        DataError: the audit lacks a column, or a verdict is not of `source`.
    """
    require_columns(audit, ("item", "equivalent", "reason", "source"), "audit.parquet")
    for item, other in iterate(audit, "item", "source"):
        if other != source:
            raise DataError(
                f"audit.parquet: item {item}: judged by {other}, in an audit by {source}; run `dvc"
                " repro audit`"
            )
    verdicts = _first_cells(audit, ("equivalent", "reason"))
    chosen = set(items.loc[items["chosen"], "item"])
    frame = _count_frame(chosen, Counter(audit["item"]))
    said = {item: _verdict(*cells) for item, cells in verdicts.items()}
    return frame.assign(verdict=frame["row"].map(said))


def _verdict(equivalent: Any, reason: str) -> str:
    # A missing verdict is not True either.
    return "" if equivalent is True else f"not equivalent ({reason})"


def _first_cells(frame: "pd.DataFrame", columns: Iterable[str]) -> dict[str, tuple[Any, ...]]:
    """Return the cells in `columns` of each item's first row, by item."""
    cells: dict[str, tuple[Any, ...]] = {}
    for item, *values in iterate(frame, "item", *columns):
        cells.setdefault(item, tuple(values))
    return cells


def class_frame(items: "pd.DataFrame") -> "pd.DataFrame":
    """Return one row per harm class of the whole items file, with its number of chosen items."""
    chosen = items.groupby("harm_class")["chosen"].sum().astype(int).reset_index()
    return chosen.assign(row=chosen["harm_class"])


def require_texts(frame: "pd.DataFrame", columns: Sequence[str], source: str) -> None:
    """Refuse a frame that lacks one of the columns, or holds anything but texts in them.

    Raises:
        DataError: the source, the column and the first row at fault.
    """
    require_columns(frame, columns, source)
    for column in columns:
        for number, cell in enumerate(frame[column]):
            if not isinstance(cell, str):
                raise DataError(f"{source}: row {number}, column {column}: {cell!r}; want a text")
