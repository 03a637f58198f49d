import math

import pytest
import torch

from parallax.errors import ModelError
from parallax.models.loading import Loaded
from parallax.models.tuning import open_weights
from parallax.params import Lora, Optimization
from parallax.training import checkpoint
from parallax.training.checkpoint import Checkpoints
from parallax.training.engine import Engine
from parallax.training.loop import CURVE, Plan, Term, train
from parallax.training.supervised import supervised_objective

STEADY = Optimization(
    seed=3,
    optimizer="adamw",
    batch_size=4,
    warmup_fraction=0.25,
    schedule="linear",
    weight_decay=0.01,
)


class Line(torch.nn.Module):
    """A model of two weights, whose gradients are worked by hand."""

    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
        self.frozen = torch.nn.Parameter(torch.tensor(1.0), requires_grad=False)
        self.word = torch.nn.Embedding(1, 1)

    def get_input_embeddings(self):
        return self.word

    get_output_embeddings = get_input_embeddings


def ignore(row):
    pass


def run(model, objective, steps=4, checkpoints=None, observe=ignore, optimization=STEADY):
    plan = Plan(steps, 2, 0.1, optimization)
    return train(Engine(model), objective, plan, checkpoints or Checkpoints(None), observe, "line")


def test_a_row_holds_weighted_loss_terms_rate_and_norm():
    model = Line()

    def objective(step):
        yield Term("up", model.a[0], 2.0)
        yield Term("down", -model.a[1], 0.5)

    rows = run(model, objective)
    assert tuple(rows[0]) == (*CURVE, "up", "down")
    # 2 * 3 + .5 * (-4) = 4; gradient (2, -.5), norm sqrt(4.25) = 2.061553.
    assert rows[0]["loss"] == pytest.approx(4.0)
    assert (rows[0]["up"], rows[0]["down"]) == (3.0, -4.0)
    assert rows[0]["gradient_norm"] == pytest.approx(2.061553, abs=1e-6)
    assert [row["step"] for row in rows] == [0, 1, 2, 3]
    assert [row["epoch"] for row in rows] == [0.5, 1.0, 1.5, 2.0]
    # One warm-up step of 1/2, then 1 - t at t = 0, 1/3, 2/3.
    rates = [row["learning_rate"] for row in rows]
    assert rates == pytest.approx([0.05, 0.1, 0.1 * 2 / 3, 0.1 / 3])


def test_terms_are_summed_then_clipped_once_then_stepped_once(monkeypatch):
    model = Line()
    clipped, stepped = [], []
    clip, step = torch.nn.utils.clip_grad_norm_, torch.optim.AdamW.step

    def watch_clip(weights, limit):
        clipped.append((model.a.grad.tolist(), limit))
        return clip(weights, limit)

    def watch_step(self):
        stepped.append(model.a.grad.tolist())
        return step(self)

    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", watch_clip)
    monkeypatch.setattr(torch.optim.AdamW, "step", watch_step)

    def objective(step):
        yield Term("first", 30 * model.a[0], 1.0)
        yield Term("second", 40 * model.a[1], 1.0)

    run(model, objective, steps=1)
    # The sum of both is clipped from norm 50 to 1; clipping in between would give (1, 40) first.
    assert clipped == [([30.0, 40.0], 1.0)]
    assert stepped == [pytest.approx([0.6, 0.8], abs=1e-5)]


def test_each_term_is_propagated_before_the_next_is_made():
    model = Line()
    seen = []

    def objective(step):
        yield Term("first", model.a.sum(), 1.0)
        seen.append(model.a.grad.tolist())
        yield Term("second", model.a.sum(), 1.0)

    run(model, objective, steps=1)
    assert seen == [[1.0, 1.0]]


def test_first_step_is_adamw():
    # AdamW's first step moves each weight by -rate * sign(g), after decay a * (1 - rate * wd).
    model = Line()
    run(model, lambda step: iter([Term("t", (model.a * torch.tensor([1.0, -1.0])).sum(), 1.0)]), 1)
    # w = ceil(.25 * 1) = 1: the only step has the factor 1/2, rate .05.
    expected = [3 * (1 - 0.05 * 0.01) - 0.05, 4 * (1 - 0.05 * 0.01) + 0.05]
    assert model.a.tolist() == pytest.approx(expected, abs=1e-5)
    assert model.a.grad is None


def test_a_frozen_weight_stays():
    model = Line()
    run(model, lambda step: iter([Term("t", model.a.sum() * model.frozen, 1.0)]))
    assert model.frozen.item() == 1.0
    assert model.frozen.grad is None


def test_model_trains_in_training_mode_and_ends_in_evaluation_mode():
    model = Line().eval()
    modes = []

    def objective(step):
        modes.append(model.training)
        yield Term("t", model.a.sum(), 1.0)

    run(model, objective, steps=2)
    assert modes == [True, True]
    assert not model.training


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", ["factor", "constant"])
def test_a_loss_that_is_not_finite_stops_the_training(bad, where):
    model = Line()
    before = model.a.detach().clone()

    def objective(step):
        yield Term("good", model.a.sum() * 0, 1.0)
        spoiled = model.a.sum() * bad if where == "factor" else model.a.sum() * 0 + bad
        yield Term("spoilt", spoiled if step == 1 else model.a.sum() * 0, 1.0)

    still = STEADY.model_copy(update={"weight_decay": 0.0})
    with pytest.raises(ModelError, match=r"line: .* not finite at step 1 .*'spoilt'") as caught:
        run(model, objective, optimization=still)
    assert "\n" not in str(caught.value)
    assert torch.equal(model.a.detach(), before)


class KilledError(Exception):
    """Stands for a killed process."""


def make(tiny, tuning):
    model = tiny.build()
    open_weights(Loaded(model, tiny.processor), tuning, Lora(rank=2, alpha=4, dropout=0.3), seed=0)
    samples = [*tiny.knowledge.image, *tiny.knowledge.text]
    batches = [[(7 * step + k) % 24 for k in range(4)] for step in range(6)]
    engine = Engine(model)
    return model, supervised_objective(engine, samples, batches, tiny.encoder)


def flat(model):
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize("tuning", ["full", "lora"])
def test_a_killed_training_goes_on_bit_for_bit(tiny, tuning, optimizer, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "COST_FACTOR", 0)
    how = STEADY.model_copy(update={"optimizer": optimizer})
    whole, objective = make(tiny, tuning)
    expected = run(whole, objective, steps=6, optimization=how)

    def kill(row):
        if row["step"] == 3:
            raise KilledError

    killed, objective = make(tiny, tuning)
    with pytest.raises(KilledError):
        run(killed, objective, 6, Checkpoints(tmp_path / "c", interval=0), kill, how)
    torch.rand(5)  # Another process has drawn other numbers.
    resumed, objective = make(tiny, tuning)
    seen = []
    checkpoints = Checkpoints(tmp_path / "c", interval=0)
    rows = run(resumed, objective, 6, checkpoints, seen.append, how)
    assert rows == expected
    assert [row["step"] for row in seen] == [3, 4, 5]
    assert torch.equal(flat(resumed), flat(whole))


def test_dropout_is_really_drawn_in_the_resumed_comparison(tiny):
    def losses(seed):
        model, objective = make(tiny, "lora")
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                torch.nn.init.constant_(weight, 0.1)
        seeded = STEADY.model_copy(update={"seed": seed})
        return run(model, objective, 1, optimization=seeded)[0]["loss"]

    assert losses(0) == losses(0)
    assert losses(0) != losses(1)
