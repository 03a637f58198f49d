import multiprocessing
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from parallax.errors import DataError
from parallax.files import digest, write_table
from parallax.framing.choosing import Decoding
from parallax.framing.items import read_items
from parallax.framing.prompts import ARMS, FRAMES, plan_prompts, read_frames
from parallax.framing.respond import (
    COLUMNS,
    DrawStore,
    LocalResponder,
    Order,
    Response,
    cell_key,
    cell_seed,
    interleave,
    plan_cells,
    respond,
)

RAW = Path(__file__).parents[2] / "data/raw/framing"


@pytest.fixture(scope="module")
def items():
    return [item for item in read_items(RAW / "items.jsonl") if item.pilot]


@pytest.fixture(scope="module")
def specs():
    return read_frames(RAW / "frames.yaml", "length_matched")


@pytest.fixture(scope="module")
def responder(tiny_subject):
    return LocalResponder(tiny_subject, Decoding(max_new_tokens=6), 16)


@pytest.fixture
def store(tmp_path):
    return DrawStore(tmp_path / "draws.jsonl")


@pytest.fixture(scope="module")
def cells(items, specs):
    return plan_cells(plan_prompts(items[:3], specs[:1]), 4, 0)


class Counting:
    """A responder that notes what it was asked."""

    def __init__(self, responder):
        self._responder = responder
        self.name, self.identity, self.render = (
            responder.name,
            responder.identity,
            responder.render,
        )
        self.orders = []

    def answer(self, orders):
        self.orders += orders
        return self._responder.answer(orders)


def test_pilot_has_840_cells(items, specs):
    # 20 items x 2 paraphrases x 3 frames x 7 draws
    cells = plan_cells(plan_prompts(items, specs[:1]), 7, 0)
    assert len(cells) == 840
    assert len({cell_key({}, cell.prompt.text, cell) for cell in cells}) == 840


def test_frameless_arm_has_no_wordings(items, specs):
    prompts = plan_prompts(items[:1], specs[:3], ARMS)
    # Two versions, of which each has four arms in three wordings and one bare body.
    assert len(prompts) == 2 * (4 * 3 + 1)


@pytest.mark.parametrize("arms", [("E", "X"), ("E", "D", "E")])
def test_arms_that_are_refused(items, specs, arms):
    with pytest.raises(DataError, match="arm"):
        plan_prompts(items[:1], specs[:1], arms)


def test_seed_is_shared_by_frames_and_by_nothing_else(cells):
    seeds = {}
    for cell in cells:
        key = cell.prompt.item, cell.prompt.paraphrase, cell.draw
        seeds.setdefault(key, set()).add(cell.seed)
    assert all(len(found) == 1 for found in seeds.values())
    assert len(set.union(*seeds.values())) == len(seeds) == 3 * 2 * 4
    assert max(set.union(*seeds.values())) < 2**32
    assert cell_seed(1, "a", 0, 0) != cell_seed(0, "a", 0, 0)


def test_frames_stand_side_by_side(cells):
    orders = [Order(cell, cell.prompt.text) for cell in cells]
    work = [orders[n] for n in interleave(orders)]
    assert sorted(interleave(orders)) == list(range(len(cells)))
    for start in range(0, len(work), 3):
        three = [order.cell for order in work[start : start + 3]]
        assert [cell.prompt.arm for cell in three] == list(FRAMES)
        assert len({(c.prompt.item, c.prompt.paraphrase, c.draw) for c in three}) == 1
    groups = [max(len(o.rendered) for o in work[n : n + 12]) for n in range(0, len(work), 12)]
    assert groups == sorted(groups, reverse=True)


def test_table_has_one_row_per_cell_in_order(responder, cells, store):
    table = respond(responder, cells, store)
    assert tuple(table.columns) == COLUMNS
    found = table[["item", "paraphrase", "arm", "draw", "seed"]].itertuples(index=False)
    assert [tuple(row) for row in found] == [
        (c.prompt.item, c.prompt.paraphrase, c.prompt.arm, c.draw, c.seed) for c in cells
    ]
    assert (table["prompt"] == [responder.render(cell.prompt) for cell in cells]).all()
    assert set(table["finish"]) <= {"eos", "length"}
    assert (table["new_tokens"] <= 6).all()
    # Draws of a cell are draws: seven tokens of a random model hardly ever agree.
    assert table.groupby(["item", "paraphrase", "arm"])["response"].nunique().min() == 4


def test_finished_draws_are_not_made_again(responder, cells, store, tmp_path):
    first = respond(responder, cells, store)
    again = Counting(responder)
    second = respond(again, cells, DrawStore(tmp_path / "draws.jsonl"))
    assert again.orders == []
    assert first.equals(second)


def test_changed_clause_redraws_its_own_cells_alone(responder, items, specs, cells, store):
    before = respond(responder, cells, store)
    clause = specs[0].clause.model_copy(update={"D": "is part of a live interaction with a person"})
    changed = specs[0].model_copy(update={"clause": clause})
    counting = Counting(responder)
    after = respond(counting, plan_cells(plan_prompts(items[:3], [changed]), 4, 0), store)
    assert {order.cell.prompt.arm for order in counting.orders} == {"D"}
    assert len(counting.orders) == len(cells) / 3
    kept = before["arm"] != "D"
    assert before[kept].equals(after[kept])
    assert not before[~kept].equals(after[~kept])


@pytest.mark.parametrize(
    "change",
    [
        lambda r: replace(r, decoding=replace(r.decoding, temperature=0.8)),
        lambda r: replace(r, decoding=replace(r.decoding, top_p=0.9)),
        lambda r: replace(r, decoding=replace(r.decoding, max_new_tokens=5)),
        lambda r: replace(r, subject=replace(r.subject, weights="other")),
        lambda r: replace(r, subject=replace(r.subject, rendering="raw")),
    ],
)
def test_key_changes_with_all_that_a_draw_depends_on(responder, cells, change):
    other = change(responder)
    cell = cells[0]
    assert cell_key(responder.identity, "p", cell) != cell_key(other.identity, "p", cell)


def test_key_changes_with_prompt_seed_and_draw_and_not_with_batch_size(responder, cells):
    keys = {
        cell_key(responder.identity, prompt, cell)
        for prompt in ("p", "q")
        for cell in (cells[0], replace(cells[0], seed=1), replace(cells[0], draw=9))
    }
    assert len(keys) == 6
    assert cell_key(replace(responder, batch_size=1).identity, "p", cells[0]) in keys


class Dying(DrawStore):
    """A store whose process is killed in the middle of writing its 31st draw."""

    def add(self, key, response):
        if len(self._draws) == 30:
            with self._path.open("ab") as file:
                file.write(b'{"key": "half a li')
                file.flush()
                os.kill(os.getpid(), signal.SIGKILL)
        super().add(key, response)


def run_and_die(responder, cells, path):
    import torch

    torch.set_num_threads(1)
    respond(responder, cells, Dying(path))


def test_killed_run_goes_on_without_losing_or_repeating_a_draw(responder, cells, tmp_path):
    path = tmp_path / "draws.jsonl"
    process = multiprocessing.get_context("fork").Process(
        target=run_and_die, args=(responder, cells, path)
    )
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert len(path.read_bytes().splitlines()) == 31
    counting = Counting(responder)
    write_table(tmp_path / "resumed.parquet", respond(counting, cells, DrawStore(path)))
    assert len(counting.orders) == len(cells) - 30
    # One line a draw and the torn one.
    assert len(path.read_bytes().splitlines()) == len(cells) + 1
    whole = DrawStore(tmp_path / "whole.jsonl")
    write_table(tmp_path / "whole.parquet", respond(responder, cells, whole))
    assert digest(tmp_path / "resumed.parquet") == digest(tmp_path / "whole.parquet")


def test_store_keeps_any_text(tmp_path):
    response = Response('a\n"b"\r\u2028\x85\x00 \U0001f600', 3, "length")
    DrawStore(tmp_path / "s.jsonl").add("k", response)
    assert DrawStore(tmp_path / "s.jsonl")["k"] == response


def test_batch_sizes_give_the_same_bytes(responder, cells, tmp_path):
    digests = set()
    for size in (1, 8, 64):
        store = DrawStore(tmp_path / f"{size}.jsonl")
        out = tmp_path / f"{size}.parquet"
        write_table(out, respond(replace(responder, batch_size=size), cells, store))
        digests.add(digest(out))
    assert len(digests) == 1
