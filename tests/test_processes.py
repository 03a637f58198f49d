"""Two processes move the weights and write the tables as one does."""

import importlib.util
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from parallax.files import write_table
from parallax.framing.items import read_items
from parallax.framing.prompts import plan_prompts, read_frames
from parallax.params import load_params
from parallax.processes import Processes
from parallax.records import TASKS

SCRIPT = Path(__file__).with_name("pair.py")
TOP = Path(__file__).parents[1]
RAW = TOP / "data/raw/framing"


@pytest.fixture(scope="module")
def pair():
    spec = importlib.util.spec_from_file_location("pair", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["pair"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def inputs(pair, tiny, tiny_folder, instances_of):
    shipped = load_params(TOP / "params.yaml").unlearn
    items = [item for item in read_items(RAW / "items.jsonl") if item.pilot][:3]
    return pair.Inputs(
        tiny.shape,
        tiny.processor,
        tiny.portraits,
        tiny.knowledge,
        {method: shipped.model_copy(update={"method": method}) for method in pair.METHODS},
        [i for task in TASKS for i in instances_of(range(6), task)],
        tiny_folder,
        plan_prompts(items, read_frames(RAW / "frames.yaml", "length_matched")[:1]),
    )


@pytest.fixture(scope="module")
def alone(pair, inputs):
    return {name: pair.run(case, inputs, Processes()) for name, case in pair.CASES.items()}


@pytest.fixture(scope="module")
def together(inputs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    (folder / "inputs").write_bytes(pickle.dumps(vars(inputs)))
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*launcher, "--local-addr=127.0.0.1", SCRIPT, folder / "inputs", folder / "out"],
        env={"PYTHONPATH": str(TOP / "src"), "OMP_NUM_THREADS": "1", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return torch.load(folder / "out", weights_only=False) | {"folder": folder}


def largest_difference(one, other):
    assert one.keys() == other.keys()
    return max((one[name] - other[name]).abs().max().item() for name in one)


def worst(rows, others, column):
    return max(abs(a[column] - b[column]) for a, b in zip(rows, others, strict=True))


METHODS = ("sft", "ga", "gd", "kl", "po", "npo")
EXACT = [f"{method}-{tuning}" for method in METHODS for tuning in ("full", "lora")]


SHARDED = ["sft-full-fsdp", "sft-lora-fsdp", "npo-full-fsdp", "kl-lora-fsdp"]


@pytest.mark.parametrize("name", [*EXACT, "sft-muon", *SHARDED])
def test_two_processes_make_the_steps_of_one(alone, together, name):
    (rows, weights), (others, theirs) = alone[name], together["results"][name]
    assert [tuple(row) for row in rows] == [tuple(row) for row in others]
    for column in rows[0]:
        # Losses are taken in float32, whatever the weights.
        limit = 1e-9 if column == "gradient_norm" else 1e-5
        assert worst(rows, others, column) <= limit, column
    # In float64 rounding can't hide a wrong term.
    assert largest_difference(weights, theirs) <= 1e-9


@pytest.mark.parametrize("name", ["sft-single", "npo-single"])
def test_float32_leaves_a_hundred_thousandth(alone, together, name):
    (rows, weights), (others, theirs) = alone[name], together["results"][name]
    assert worst(rows, others, "loss") <= 1e-5
    assert largest_difference(weights, theirs) <= 1e-5


def test_gradients_are_really_clipped_in_the_comparison(alone):
    assert min(row["gradient_norm"] for row in alone["npo-full"][0]) > 1


def test_all_processes_hold_the_same_weights(together):
    first, second = together["weights"]
    for name in (*EXACT, "sft-muon", "sft-dropout"):
        assert largest_difference(first[name], second[name]) == 0, name


@pytest.mark.parametrize("name", ["sft-dropout", "sft-dropout-fsdp"])
def test_a_killed_pair_goes_on_bit_for_bit(together, name):
    rows, weights = together["results"][name]
    others, theirs, steps = together["results"][f"{name} resumed"]
    assert others == rows
    assert steps == [3, 4]
    assert largest_difference(weights, theirs) == 0


def test_dropout_is_drawn_apart_in_each_process(alone, together):
    # Were it not drawn at all, or alike in both, one process would see the same losses.
    (rows, _), (others, _) = alone["sft-dropout"], together["results"]["sft-dropout"]
    assert worst(rows, others, "loss") > 1e-4


@pytest.fixture(scope="module")
def tables(pair, inputs, tmp_path_factory):
    return pair.tables(inputs, Processes(), tmp_path_factory.mktemp("alone"))


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("name", ["shared", "plain", "responses", "log_odds", "familiarity"])
def test_two_processes_make_the_same_table_byte_for_byte(tables, together, tmp_path, name, rank):
    write_table(tmp_path / "alone.parquet", tables[name])
    theirs = together["folder"] / f"{name}-{rank}.parquet"
    assert theirs.read_bytes() == (tmp_path / "alone.parquet").read_bytes()


def test_every_draw_is_made_and_kept_once(tables, together):
    drawn = (together["folder"] / "draws.jsonl").read_text().splitlines()
    assert len(drawn) == len(set(drawn)) == len(tables["responses"])
