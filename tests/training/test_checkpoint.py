import time

import pytest
import torch

from parallax.training import checkpoint
from parallax.training.checkpoint import Checkpoints, checkpoint_key
from parallax.training.engine import Engine


class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.open = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        self.shut = torch.nn.Parameter(torch.tensor([3.0]), requires_grad=False)


@pytest.fixture
def at_every_step(monkeypatch):
    monkeypatch.setattr(checkpoint, "COST_FACTOR", 0)


def make():
    engine = Engine(Pair())
    engine.optimizers = [torch.optim.AdamW([engine.model.open], lr=0.1)]
    return engine


def written(folder):
    return sorted(path.name for path in folder.glob("step-*"))


def test_what_is_saved_is_restored(tmp_path):
    engine = make()
    engine.model.open.sum().backward()
    engine.step()
    rows = [{"step": 0, "loss": 1.5}]
    torch.manual_seed(4)
    Checkpoints(tmp_path / "c", interval=0).save_if_due(engine, rows)
    expected = torch.rand(3)

    other = make()
    assert Checkpoints(tmp_path / "c").restore(other) == rows
    assert torch.equal(other.model.open, engine.model.open)
    assert torch.equal(torch.rand(3), expected)
    state, saved = (one.optimizers[0].state_dict()["state"][0] for one in (other, engine))
    assert torch.equal(state["exp_avg"], saved["exp_avg"])
    assert state["step"] == saved["step"]


def test_a_checkpoint_is_read_once_into_main_memory(tmp_path, monkeypatch):
    Checkpoints(tmp_path / "c", interval=0).save_if_due(make(), [{}])
    calls, load = [], torch.load
    monkeypatch.setattr(torch, "load", lambda *a, **k: calls.append(k) or load(*a, **k))
    assert Checkpoints(tmp_path / "c").restore(make()) == [{}]
    assert [call["map_location"] for call in calls] == ["cpu"]


def test_frozen_weights_are_left_out(tmp_path):
    Checkpoints(tmp_path, interval=0).save_if_due(make(), [{}])
    (file,) = tmp_path.glob("step-1/*")
    assert set(torch.load(file)["weights"]) == {"open"}


def test_nothing_there_is_a_fresh_start(tmp_path):
    assert Checkpoints(tmp_path / "c").restore(make()) == []
    assert Checkpoints(None).restore(make()) == []


def test_nothing_is_written_before_the_interval_is_over(tmp_path, monkeypatch):
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    checkpoints = Checkpoints(tmp_path, interval=20)
    now = 119.0
    checkpoints.save_if_due(make(), [{}])
    assert written(tmp_path) == []
    now = 120.0
    checkpoints.save_if_due(make(), [{}, {}])
    assert written(tmp_path) == ["step-2"]
    now = 139.0
    checkpoints.save_if_due(make(), [{}, {}, {}])
    assert written(tmp_path) == ["step-2"]


def test_a_slow_write_delays_the_next(tmp_path, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    save = torch.save

    def slow(state, path):
        clock[0] += 5
        save(state, path)

    monkeypatch.setattr(checkpoint.torch, "save", slow)
    checkpoints = Checkpoints(tmp_path, interval=1)
    clock[0] = 1.0
    checkpoints.save_if_due(make(), [{}])
    clock[0] = 6.0 + 99.0  # 20 times 5 s after the write ended are not over.
    checkpoints.save_if_due(make(), [{}, {}])
    assert written(tmp_path) == ["step-1"]


def test_remove_leaves_nothing_and_may_be_repeated(tmp_path):
    checkpoints = Checkpoints(tmp_path / "c", interval=0)
    checkpoints.save_if_due(make(), [{}])
    checkpoints.remove()
    checkpoints.remove()
    assert not (tmp_path / "c").exists()
    Checkpoints(None).remove()


def test_the_last_checkpoint_replaces_the_one_before(tmp_path, at_every_step):
    checkpoints, engine = Checkpoints(tmp_path, interval=0), make()
    for steps in (9, 10):
        with torch.no_grad():
            engine.model.open.fill_(steps)
        checkpoints.save_if_due(engine, [{"step": n} for n in range(steps)])
    assert written(tmp_path) == ["step-10"]
    other = make()
    assert len(Checkpoints(tmp_path).restore(other)) == 10
    assert other.model.open.tolist() == [10.0, 10.0]


def test_a_process_killed_while_it_writes_leaves_the_checkpoint_before(
    tmp_path, at_every_step, monkeypatch
):
    checkpoints, engine = Checkpoints(tmp_path, interval=0), make()
    checkpoints.save_if_due(engine, [{"step": 0}])

    def die(state, path):
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(checkpoint.torch, "save", die)
        checkpoints.save_if_due(engine, [{"step": 0}, {"step": 1}])
    assert written(tmp_path) == ["step-1", "step-2.part"]
    assert Checkpoints(tmp_path).restore(make()) == [{"step": 0}]
    checkpoints.save_if_due(engine, [{"step": 0}, {"step": 1}])
    assert written(tmp_path) == ["step-2"]


def test_a_checkpoint_of_other_processes_is_not_read_and_gives_way(tmp_path, at_every_step):
    checkpoints, engine = Checkpoints(tmp_path, interval=0), make()
    checkpoints.save_if_due(engine, [{"step": 0}])
    (file,) = tmp_path.glob("step-1/*")
    file.rename(file.with_name("replicas-0-of-2.pt"))
    assert Checkpoints(tmp_path).restore(make()) == []
    checkpoints.save_if_due(engine, [{"step": 0}])
    assert Checkpoints(tmp_path).restore(make()) == [{"step": 0}]


@pytest.fixture
def inputs(tmp_path):
    (tmp_path / "table").write_text("one")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights").write_text("two")
    return [tmp_path / "table", tmp_path / "model"]


def test_key_depends_on_parameters_inputs_and_code(inputs, monkeypatch):
    key = checkpoint_key({"a": 1, "b": 2}, inputs)
    assert key == checkpoint_key({"b": 2, "a": 1}, inputs)
    assert len(key) == 16
    others = {
        checkpoint_key({"a": 1, "b": 3}, inputs),
        checkpoint_key({"a": 1, "b": 2}, inputs[:1]),
    }
    (inputs[1] / "weights").write_text("three")
    others.add(checkpoint_key({"a": 1, "b": 2}, inputs))
    (inputs[1] / "weights").write_text("two")
    monkeypatch.setattr(checkpoint, "digest_code", lambda package: "other code")
    others.add(checkpoint_key({"a": 1, "b": 2}, inputs))
    assert len(others) == 4
    assert key not in others


def test_code_digest_sees_every_module(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.py").write_text("x = 1")
    before = checkpoint.digest_code(tmp_path)
    (tmp_path / "sub" / "notes.txt").write_text("no code")
    assert checkpoint.digest_code(tmp_path) == before
    (tmp_path / "sub" / "a.py").write_text("x = 2")
    assert checkpoint.digest_code(tmp_path) != before
