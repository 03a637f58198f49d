import time

import pytest
import torch

from parallax.training import checkpoint
from parallax.training.checkpoint import Checkpoints, checkpoint_key, checkpoint_root


class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.open = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        self.shut = torch.nn.Parameter(torch.tensor([3.0]), requires_grad=False)


def make():
    model = Pair()
    return model, torch.optim.AdamW([model.open], lr=0.1)


def listed():
    model, optimizer = make()
    return model, [optimizer]


def test_what_is_saved_is_restored(tmp_path):
    model, optimizer = make()
    model.open.sum().backward()
    optimizer.step()
    rows = [{"step": 0, "loss": 1.5}]
    torch.manual_seed(4)
    Checkpoints(tmp_path / "c", interval=0).save_if_due(model, [optimizer], rows)
    expected = torch.rand(3)

    other, its = make()
    assert Checkpoints(tmp_path / "c").restore(other, [its]) == rows
    assert torch.equal(other.open, model.open)
    assert torch.equal(torch.rand(3), expected)
    state, saved = its.state_dict()["state"][0], optimizer.state_dict()["state"][0]
    assert torch.equal(state["exp_avg"], saved["exp_avg"])
    assert state["step"] == saved["step"]


def test_frozen_weights_are_left_out(tmp_path):
    model, optimizer = make()
    Checkpoints(tmp_path, interval=0).save_if_due(model, [optimizer], [])
    assert set(torch.load(tmp_path / "state.pt")["weights"]) == {"open"}


def test_nothing_there_is_a_fresh_start(tmp_path):
    assert Checkpoints(tmp_path / "c").restore(*listed()) == []
    assert Checkpoints(None).restore(*listed()) == []


def test_nothing_is_written_before_the_interval_is_over(tmp_path, monkeypatch):
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    checkpoints = Checkpoints(tmp_path, interval=20)
    now = 119.0
    checkpoints.save_if_due(*listed(), [])
    assert not (tmp_path / "state.pt").exists()
    now = 120.0
    checkpoints.save_if_due(*listed(), [])
    assert (tmp_path / "state.pt").exists()
    (tmp_path / "state.pt").unlink()
    now = 139.0
    checkpoints.save_if_due(*listed(), [])
    assert not (tmp_path / "state.pt").exists()


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
    checkpoints.save_if_due(*listed(), [])
    (tmp_path / "state.pt").unlink()
    clock[0] = 6.0 + 99.0  # 20 times 5 s after the write ended are not over.
    checkpoints.save_if_due(*listed(), [])
    assert not (tmp_path / "state.pt").exists()


def test_remove_leaves_nothing_and_may_be_repeated(tmp_path):
    checkpoints = Checkpoints(tmp_path / "c", interval=0)
    checkpoints.save_if_due(*listed(), [])
    checkpoints.remove()
    checkpoints.remove()
    assert not (tmp_path / "c").exists()
    Checkpoints(None).remove()


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


def test_root_is_the_repository_that_dvc_names(monkeypatch, tmp_path):
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    assert checkpoint_root() == tmp_path / ".checkpoints"
    monkeypatch.delenv("DVC_ROOT")
    assert str(checkpoint_root()) == ".checkpoints"
