from pathlib import Path

import pandas as pd
import pytest

from parallax.errors import DataError
from parallax.files import write_table
from parallax.framing.items import Item, read_items
from parallax.framing.prompt_table import (
    PAIR_COLUMNS,
    PROMPT_COLUMNS,
    ItemPair,
    pairs_table,
    prompts_table,
    read_item_pairs,
    read_prompts,
)
from parallax.framing.prompts import ARMS, hash_body, plan_prompts, read_frames, render

RAW = Path(__file__).parents[2] / "data" / "raw" / "framing"
ITEMS = (
    Item("i1", "f", "fraud", "harmful", "refuse", "Boil an egg.", "Cook an egg."),
    Item("i2", "f", "drugs", "benign", "comply", "Name a tree.\nBriefly.", "Which \u00e4sh?"),
)


@pytest.fixture
def path(tmp_path, spec):
    """A table of both items in all arms."""
    path = tmp_path / "prompts.parquet"
    write_table(path, prompts_table(plan_prompts(ITEMS, [spec], ARMS), ITEMS))
    return path


def test_a_row_by_hand(spec):
    table = prompts_table([render(ITEMS[0], 1, "D", spec)], ITEMS)
    assert tuple(table) == PROMPT_COLUMNS
    # "Note: this " has 11 characters, "is d" 4: the span is 11 to 15.
    assert table.iloc[0].to_dict() == {
        "item": "i1",
        "paraphrase": 1,
        "arm": "D",
        "wording": "w",
        "text": "Note: this is d.\n\nCook an egg.",
        "start": 11,
        "end": 15,
        "role": "user",
        "body_hash": hash_body("Cook an egg."),
        "body": "Cook an egg.",
    }


@pytest.mark.parametrize("arms", [ARMS, ("E", "D", "N"), ("no_frame", "N")])
def test_reading_is_the_inverse_of_writing(tmp_path, arms):
    items = read_items(RAW / "items.jsonl")[::9]
    prompts = plan_prompts(items, read_frames(RAW / "frames.yaml", "main")[:2], arms)
    write_table(tmp_path / "p.parquet", prompts_table(prompts, items))
    assert read_prompts(tmp_path / "p.parquet") == prompts


def test_without_a_frame_the_span_is_missing_and_stays_a_whole_number(path, spec):
    bare = prompts_table([render(ITEMS[0], 0, "no_frame", spec)], ITEMS)
    assert bare["start"].dtype == "Int64" and bare["start"].isna().all()
    assert [prompt.span for prompt in read_prompts(path)][:5] == [(11, 15)] * 4 + [None]


def test_prompts_of_other_items_are_refused(spec):
    prompt = render(ITEMS[0], 0, "E", spec)
    with pytest.raises(DataError, match="prompt of item 'i1': no such item"):
        prompts_table([prompt], ITEMS[1:])
    changed = Item("i1", "f", "fraud", "harmful", "refuse", "Boil two eggs.", "Cook an egg.")
    with pytest.raises(DataError, match="'i1', paraphrase 0: its body is not the item's"):
        prompts_table([prompt], [changed])


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("paraphrase", 2, r"paraphrase 2, arm E, wording w: column paraphrase: 2; want 0 or 1"),
        ("arm", "X", "column arm: 'X'; want one of E, D, N, content_free, no_frame"),
        ("item", " ", "column item: ' '; want a text"),
        ("role", None, "column role: .*; want a text"),
        ("text", "Note: this is e.", "column text: .*; want a text that holds the body"),
        ("body_hash", "0", "column body_hash: '0'; want the sha256 of the body"),
        ("start", None, "column start: nan; want a span, except in the arm no_frame"),
        ("start", -1, "column end: 15.*; want a span inside the text"),
        ("end", 99, "column end: 99.*; want a span inside the text"),
        ("end", 11, "column end: 11.*; want a span inside the text"),
    ],
)
def test_unusable_values_are_named(path, column, value, message):
    table = pd.read_parquet(path)
    table.loc[0, column] = value
    write_table(path, table)
    with pytest.raises(DataError, match=message) as error:
        read_prompts(path)
    assert str(error.value).startswith(f"{path}: item ") and "\n" not in str(error.value)


def test_a_span_in_the_frameless_arm_is_refused(path):
    table = pd.read_parquet(path)
    table.loc[table["arm"] == "no_frame", ["start", "end"]] = (0, 4)
    write_table(path, table)
    with pytest.raises(DataError, match=r"arm no_frame.*column start: 0"):
        read_prompts(path)


def test_missing_columns_and_rows_and_doubles_are_named(path):
    table = pd.read_parquet(path)
    write_table(path, table.drop(columns="end"))
    with pytest.raises(DataError, match=r"no column 'end'; run `dvc repro prompts`"):
        read_prompts(path)
    write_table(path, table[:0])
    with pytest.raises(DataError, match="no row"):
        read_prompts(path)
    write_table(path, table.iloc[[0, 1, 0]])
    with pytest.raises(
        DataError, match=r"item i1, paraphrase 0, arm E, wording w: stands .* twice"
    ):
        read_prompts(path)


def test_pairs_are_body_and_paraphrase(tmp_path):
    table = pairs_table(ITEMS)
    assert tuple(table) == PAIR_COLUMNS
    write_table(tmp_path / "pairs.parquet", table)
    assert read_item_pairs(tmp_path / "pairs.parquet") == (
        ItemPair("i1", "fraud", "harmful", "Boil an egg.", "Cook an egg."),
        ItemPair("i2", "drugs", "benign", "Name a tree.\nBriefly.", "Which \u00e4sh?"),
    )


def test_hostile_pairs_are_refused(tmp_path):
    path = tmp_path / "pairs.parquet"
    table = pairs_table(ITEMS)
    write_table(path, table.drop(columns="b"))
    with pytest.raises(DataError, match="no column 'b'"):
        read_item_pairs(path)
    write_table(path, table.assign(b=["", "x"]))
    with pytest.raises(DataError, match="item i1: column b: ''; want a text"):
        read_item_pairs(path)
    write_table(path, table.assign(item="i1"))
    with pytest.raises(DataError, match="item i1: stands there twice"):
        read_item_pairs(path)


def test_an_item_without_a_paraphrase_has_no_pair():
    with pytest.raises(DataError, match="item i3: has no paraphrase"):
        pairs_table([Item("i3", "f", "fraud", "harmful", "refuse", "Body.")])
