"""Prompts and paraphrase pairs as tables, and back."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from parallax.errors import DataError
from parallax.files import read_table
from parallax.framing.items import PARAPHRASES, Item
from parallax.framing.prompts import ARMS, Prompt, hash_body
from parallax.params import Arm

if TYPE_CHECKING:
    import pandas as pd

PROMPT_COLUMNS = (
    "item",
    "paraphrase",
    "arm",
    "wording",
    "text",
    "start",
    "end",
    "role",
    "body_hash",
    "body",
)
PAIR_COLUMNS = ("item", "topic", "harm_class", "a", "b")
KEY = PROMPT_COLUMNS[:4]


@dataclass(frozen=True)
class ItemPair:
    """The two versions of an item's body."""

    item: str
    topic: str
    harm_class: str
    a: str
    b: str


def prompts_table(prompts: Iterable[Prompt], items: Iterable[Item]) -> "pd.DataFrame":
    """Return one row per prompt, in the order given (`PROMPT_COLUMNS`).

    `start` and `end` are the clause's span in characters of `text`, <NA> without a frame; `body`
    is the version of the item that the prompt holds.

    Raises:
        DataError: a prompt's item is missing, or its body is another one than the prompt's.
    """
    import pandas as pd

    known = {item.id: item for item in items}
    rows = []
    for prompt in prompts:
        if prompt.item not in known:
            raise DataError(f"prompt of item {prompt.item!r}: no such item; give its item too")
        body = known[prompt.item].text(prompt.paraphrase)
        if hash_body(body) != prompt.body_hash:
            raise DataError(
                f"prompt of item {prompt.item!r}, paraphrase {prompt.paraphrase}: its body is not"
                " the item's; render it from these items"
            )
        start, end = prompt.span or (None, None)
        rows.append(
            (
                prompt.item,
                prompt.paraphrase,
                prompt.arm,
                prompt.wording,
                prompt.text,
                start,
                end,
                prompt.role,
                prompt.body_hash,
                body,
            )
        )
    table = pd.DataFrame(rows, columns=list(PROMPT_COLUMNS))
    return table.astype({"paraphrase": "int64", "start": "Int64", "end": "Int64"})


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """Read what `prompts_table` made, in its order.

    Raises:
        DataError: the file, a column or a value is not usable, or two rows are of one prompt; the
            message names the row and the column.
    """
    prompts: dict[tuple[object, ...], Prompt] = {}
    for values in _read(path, PROMPT_COLUMNS):
        key = tuple(values[column] for column in KEY)
        place = f"{path}: {', '.join(f'{n} {v}' for n, v in zip(KEY, key, strict=True))}"
        if key in prompts:
            raise DataError(f"{place}: stands there twice; run `dvc repro prompts`")
        prompts[key] = _parse(values, place)
    return tuple(prompts.values())


def _parse(values: Mapping[str, Any], place: str) -> Prompt:
    text, body, arm = values["text"], values["body"], values["arm"]
    _require_texts(values, ("item", "wording", "text", "role", "body_hash", "body"), place)
    span = _parse_span(values)
    checks = (
        ("paraphrase", values["paraphrase"] in PARAPHRASES, "0 or 1"),
        ("arm", arm in ARMS, f"one of {', '.join(ARMS)}"),
        ("text", body in text, "a text that holds the body"),
        ("body_hash", values["body_hash"] == hash_body(body), "the sha256 of the body"),
        ("start", (span is None) == (arm == "no_frame"), "a span, except in the arm no_frame"),
        ("end", span is None or 0 <= span[0] < span[1] <= len(text), "a span inside the text"),
    )
    for column, fine, want in checks:
        if not fine:
            raise DataError(f"{place}: column {column}: {values[column]!r}; want {want}")
    return Prompt(
        values["item"],
        int(values["paraphrase"]),
        cast(Arm, arm),
        values["wording"],
        text,
        span,
        values["role"],
        values["body_hash"],
    )


def _parse_span(values: Mapping[str, Any]) -> tuple[int, int] | None:
    import pandas as pd

    if pd.isna(values["start"]) or pd.isna(values["end"]):
        return None
    return int(values["start"]), int(values["end"])


def pairs_table(items: Iterable[Item]) -> "pd.DataFrame":
    """Return body (a) and paraphrase (b) of each item, in the order given (`PAIR_COLUMNS`).

    Raises:
        DataError: an item has no paraphrase.
    """
    import pandas as pd

    rows = [(item.id, item.topic, item.harm_class, item.text(0), item.text(1)) for item in items]
    return pd.DataFrame(rows, columns=list(PAIR_COLUMNS))


def read_item_pairs(path: Path) -> tuple[ItemPair, ...]:
    """Read what `pairs_table` made.

    Raises:
        DataError: the file, a column or a value is not usable, or an item stands there twice.
    """
    pairs: dict[str, ItemPair] = {}
    for values in _read(path, PAIR_COLUMNS):
        place = f"{path}: item {values['item']}"
        _require_texts(values, PAIR_COLUMNS, place)
        if values["item"] in pairs:
            raise DataError(f"{place}: stands there twice; run `dvc repro prompts`")
        pairs[values["item"]] = ItemPair(**values)
    return tuple(pairs.values())


def _read(path: Path, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    table = read_table(path)
    for column in columns:
        if column not in table:
            raise DataError(f"{path}: no column {column!r}; run `dvc repro prompts`")
    if table.empty:
        raise DataError(f"{path}: no row; run `dvc repro prompts`")
    rows = zip(*(table[column].tolist() for column in columns), strict=True)
    return [dict(zip(columns, values, strict=True)) for values in rows]


def _require_texts(values: Mapping[str, Any], columns: tuple[str, ...], place: str) -> None:
    for column in columns:
        if not isinstance(values[column], str) or not values[column].strip():
            raise DataError(f"{place}: column {column}: {values[column]!r}; want a text")
