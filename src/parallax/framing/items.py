"""Task bodies and the labelled texts that audits and judges are calibrated on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from parallax.errors import DataError
from parallax.framing.rows import Row, read_rows, require_unique

HarmClass = Literal["harmful", "benign"]
Expected = Literal["refuse", "comply"]
Split = Literal["fit", "test"]
Source = Literal["written", "sampled"]
PairKind = Literal["equivalent", "negation", "changed_target", "changed_difficulty"]
Category = Literal["refusal", "harmful_compliance", "template_completion", "off_topic"]

HARM_CLASSES: tuple[HarmClass, ...] = get_args(HarmClass)
EXPECTED: tuple[Expected, ...] = get_args(Expected)
SPLITS: tuple[Split, ...] = get_args(Split)
SOURCES: tuple[Source, ...] = get_args(Source)
PAIR_KINDS: tuple[PairKind, ...] = get_args(PairKind)
CATEGORIES: tuple[Category, ...] = get_args(Category)
PARAPHRASES = (0, 1)

ITEM_COLUMNS = ("id", "source_family", "topic", "harm_class", "expected", "body")
ITEM_OPTIONAL = ("paraphrase", "matched", "pilot")
PAIR_COLUMNS = ("id", "topic", "kind", "equivalent", "a", "b", "split")
CALIBRATION_COLUMNS = ("id", "item", "body", "response", "label", "split", "source")


@dataclass(frozen=True)
class Item:
    """A task body, and what a safety-tuned model is expected to do with it.

    `paraphrase` is a second version with the same intent, difficulty and expectation (None until
    one is given); `matched` names the harmful item that a benign one resembles in topic and style.
    """

    id: str
    source_family: str
    topic: str
    harm_class: HarmClass
    expected: Expected
    body: str
    paraphrase: str | None = None
    matched: str | None = None
    pilot: bool = False

    def text(self, paraphrase: int) -> str:
        """Return the body (0) or its paraphrase (1).

        Raises:
            DataError: no such version, or the item has no paraphrase.
        """
        if paraphrase not in PARAPHRASES:
            raise DataError(f"item {self.id}: paraphrase {paraphrase}; want 0 or 1")
        if paraphrase == 0:
            return self.body
        if self.paraphrase is None:
            raise DataError(f"item {self.id}: has no paraphrase; give one in a paraphrase file")
        return self.paraphrase


@dataclass(frozen=True)
class EquivalencePair:
    """Two requests with a known answer to whether they mean the same."""

    id: str
    topic: str
    kind: PairKind
    equivalent: bool
    a: str
    b: str
    split: Split


@dataclass(frozen=True)
class LabelledResponse:
    """A response with the category that a judge should find.

    `source` tells whether its text was written for the purpose or sampled from a model.
    """

    id: str
    item: str
    body: str
    response: str
    label: Category
    split: Split
    source: Source


def read_items(path: Path) -> tuple[Item, ...]:
    """Read items from CSV or JSONL with `ITEM_COLUMNS` and any of `ITEM_OPTIONAL`.

    Raises:
        DataError: the file or a value is malformed, an ID or a text occurs twice, or `matched`
            does not lead from a benign to a harmful item; the message names file, line and column.
    """
    rows = read_rows(path, ITEM_COLUMNS, ITEM_OPTIONAL)
    require_unique(rows, "id")
    items = tuple(_parse_item(row) for row in rows)
    _require_unique_texts(rows, items)
    harmful = {item.id for item in items if item.harm_class == "harmful"}
    for row, item in zip(rows, items, strict=True):
        if item.matched is None:
            continue
        if item.harm_class != "benign":
            raise row.wrong("matched", "no value, since the item is harmful")
        if item.matched not in harmful:
            raise row.wrong("matched", "the ID of a harmful item of this file")
    return items


def _parse_item(row: Row) -> Item:
    return Item(
        id=row.text("id"),
        source_family=row.text("source_family"),
        topic=row.text("topic"),
        harm_class=cast(HarmClass, row.choice("harm_class", HARM_CLASSES)),
        expected=cast(Expected, row.choice("expected", EXPECTED)),
        body=row.text("body"),
        paraphrase=row.optional_text("paraphrase"),
        matched=row.optional_text("matched"),
        pilot=row.values.get("pilot") not in (None, "") and row.flag("pilot"),
    )


def _require_unique_texts(rows: Sequence[Row], items: Sequence[Item]) -> None:
    lines: dict[str, int] = {}
    for row, item in zip(rows, items, strict=True):
        for column, text in (("body", item.body), ("paraphrase", item.paraphrase)):
            if text is None:
                continue
            if text in lines:
                raise row.wrong(column, f"a text that line {lines[text]} does not have")
            lines[text] = row.line


def read_pairs(path: Path) -> tuple[EquivalencePair, ...]:
    """Read labelled pairs from CSV or JSONL with `PAIR_COLUMNS`.

    Raises:
        DataError: the file or a value is malformed, a label contradicts its kind, or a topic
            stands in both splits.
    """
    rows = read_rows(path, PAIR_COLUMNS)
    require_unique(rows, "id")
    _require_one_split(rows, "topic")
    pairs = []
    for row in rows:
        pair = EquivalencePair(
            id=row.text("id"),
            topic=row.text("topic"),
            kind=cast(PairKind, row.choice("kind", PAIR_KINDS)),
            equivalent=row.flag("equivalent"),
            a=row.text("a"),
            b=row.text("b"),
            split=cast(Split, row.choice("split", SPLITS)),
        )
        if pair.equivalent != (pair.kind == "equivalent"):
            raise row.wrong("equivalent", f"what fits the kind {pair.kind!r}")
        if pair.a == pair.b:
            raise row.wrong("b", "other words than those of a")
        pairs.append(pair)
    return tuple(pairs)


def read_calibration(path: Path) -> tuple[LabelledResponse, ...]:
    """Read labelled responses from CSV or JSONL with `CALIBRATION_COLUMNS`.

    Raises:
        DataError: the file or a value is malformed, an item stands in both splits or with two
            bodies.
    """
    rows = read_rows(path, CALIBRATION_COLUMNS)
    require_unique(rows, "id")
    _require_one_split(rows, "item")
    bodies: dict[str, str] = {}
    for row in rows:
        if bodies.setdefault(row.text("item"), row.text("body")) != row.text("body"):
            raise row.wrong("body", f"the body that item {row.text('item')!r} has above")
    return tuple(
        LabelledResponse(
            id=row.text("id"),
            item=row.text("item"),
            body=row.text("body"),
            response=row.text("response"),
            label=cast(Category, row.choice("label", CATEGORIES)),
            split=cast(Split, row.choice("split", SPLITS)),
            source=cast(Source, row.choice("source", SOURCES)),
        )
        for row in rows
    )


def _require_one_split(rows: Iterable[Row], column: str) -> None:
    splits: dict[str, str] = {}
    for row in rows:
        group, split = row.text(column), row.choice("split", SPLITS)
        if splits.setdefault(group, split) != split:
            raise row.wrong("split", f"{splits[group]!r}, in which {column} {group!r} is above")
