"""Each method's formula on hand-made numbers."""

import math

import pytest
import torch

from parallax.errors import ModelError, ParamsError
from parallax.models.batches import AnswerNll
from parallax.params import Descent, Npo, RetainedDescent
from parallax.unlearn.methods import METHODS
from parallax.unlearn.methods.method import Answers

DESCENT = Descent(learning_rate=1e-3, epochs=1)
RETAINED = RetainedDescent(learning_rate=1e-3, epochs=1, retain_weight=1.0)


def npo(beta):
    return Npo(learning_rate=1e-3, epochs=1, retain_weight=1.0, npo_beta=beta)


def answers(totals, tokens, reference=None):
    return Answers(
        AnswerNll(totals, torch.tensor(tokens)),
        logits=torch.zeros(sum(tokens), 2),
        rows=torch.repeat_interleave(torch.arange(len(tokens)), torch.tensor(tokens)),
        reference_nll=reference,
    )


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_all_methods_are_registered_and_say_what_they_need():
    assert list(METHODS) == ["ga", "gd", "kl", "npo", "po"]
    assert {name: METHODS[name].reference for name in METHODS} == {
        "ga": "none",
        "gd": "none",
        "kl": "retain_logits",
        "npo": "forget_nll",
        "po": "none",
    }
    assert [name for name in METHODS if METHODS[name].forget_answer == "refusal"] == ["po"]
    assert [name for name in METHODS if METHODS[name].retain is None] == ["ga"]


def test_misspelt_method_gets_a_hint():
    with pytest.raises(ParamsError, match="did you mean 'npo'"):
        METHODS["npoo"]


@pytest.mark.parametrize("method", ["ga", "gd", "kl"])
def test_ascent_is_minus_the_mean_per_token(method):
    # S = 6 over 3 tokens: M = 2; S = 5 over 2 tokens: M = 2.5. Their negatives.
    value = METHODS[method].forget(answers(numbers(6, 5), [3, 2]), DESCENT)
    assert value.tolist() == [-2.0, -2.5]


@pytest.mark.parametrize("method", ["gd", "po", "npo"])
def test_retain_term_is_the_mean_per_token(method):
    value = METHODS[method].retain(answers(numbers(6, 5), [3, 2]), RETAINED)
    assert value.tolist() == [2.0, 2.5]


def test_po_lowers_the_refusals_nll():
    assert METHODS["po"].forget(answers(numbers(6, 5), [3, 2]), RETAINED).tolist() == [2.0, 2.5]


def test_npo_of_worked_values():
    # b = .5, S - S_ref = 2: (2 / .5) * -log(1 / (1 + e^-1)) = 4 * ln(1 + e^-1) = 4 * .313262.
    # S - S_ref = -2: 4 * ln(1 + e) = 4 * 1.313262. The token counts play no part.
    value = METHODS["npo"].forget(answers(numbers(5, 1), [4, 2], numbers(3, 3)), npo(0.5))
    assert value.tolist() == pytest.approx([1.253047, 5.253047], abs=1e-6)


@pytest.mark.parametrize("beta", [0.1, 0.4, 2.0])
def test_npo_at_the_reference_is_two_log_two_over_beta_with_slope_minus_one(beta):
    totals = numbers(3.7, 12.0).requires_grad_()
    value = METHODS["npo"].forget(answers(totals, [3, 2], totals.detach()), npo(beta))
    assert value.tolist() == pytest.approx([2 / beta * math.log(2)] * 2, abs=1e-12)
    (slope,) = torch.autograd.grad(value.sum(), totals)
    assert slope.tolist() == pytest.approx([-1.0, -1.0], abs=1e-12)


def test_npo_is_bounded_below_and_stops_pulling_when_the_answer_is_gone():
    totals = numbers(0, 10, 100, 1000).requires_grad_()
    value = METHODS["npo"].forget(answers(totals, [1] * 4, numbers(0, 0, 0, 0)), npo(0.4))
    (slope,) = torch.autograd.grad(value.sum(), totals)
    assert value.tolist() == sorted(value.tolist(), reverse=True)
    assert (value >= 0).all()
    assert value[-1] < 1e-100
    # dL/dS = -2 sigmoid(-b (S - S_ref)); at 10: -2 / (1 + e^4) = -.035972.
    assert slope.tolist() == pytest.approx([-1.0, -0.035972, 0.0, 0.0], abs=1e-6)


def test_npo_without_a_reference_or_its_block_is_refused():
    with pytest.raises(ModelError, match="npo needs"):
        METHODS["npo"].forget(answers(numbers(1), [1]), npo(0.4))
    with pytest.raises(ModelError, match="npo needs"):
        METHODS["npo"].forget(answers(numbers(1), [1], numbers(1)), RETAINED)


def anchor(logits, reference, tokens):
    rows = torch.repeat_interleave(torch.arange(len(tokens)), torch.tensor(tokens))
    seen = Answers(
        AnswerNll(torch.zeros(len(tokens)), torch.tensor(tokens)), logits, rows, None, reference
    )
    return METHODS["kl"].retain(seen, RETAINED)


def logs(*rows):
    return torch.tensor(rows, dtype=torch.float64).log()


def test_kl_of_worked_distributions():
    # KL((.75, .25) || (.5, .5)) = .75 ln 1.5 + .25 ln .5 = .304099 - .173287 = .130812.
    # KL((.5, .5) || (.75, .25)) = .5 ln(2/3) + .5 ln 2 = -.202733 + .346574 = .143841.
    # Row 0 has both tokens: mean .137326. Row 1 has one token where p = q: 0.
    current = logs([0.5, 0.5], [0.75, 0.25], [0.1, 0.9])
    reference = logs([0.75, 0.25], [0.5, 0.5], [0.1, 0.9])
    value = anchor(current, reference, [2, 1])
    assert value.tolist() == pytest.approx([0.137326, 0.0], abs=1e-6)


def test_kl_has_its_direction():
    forward = anchor(logs([0.5, 0.5]), logs([0.9, 0.1]), [1]).item()
    backward = anchor(logs([0.9, 0.1]), logs([0.5, 0.5]), [1]).item()
    # .9 ln 1.8 + .1 ln .2 = .368064; .5 ln(5/9) + .5 ln 5 = .510826.
    assert (forward, backward) == pytest.approx((0.368064, 0.510826), abs=1e-6)


def test_kl_ignores_a_shift_of_all_logits_and_is_never_negative():
    torch.manual_seed(0)
    current, reference = torch.randn(2, 30, 7)
    value = anchor(current, reference, [10, 15, 5])
    assert (value > 0).all()
    assert torch.allclose(anchor(current + 5, reference - 3, [10, 15, 5]), value, atol=1e-6)
    assert anchor(reference, reference, [10, 15, 5]).abs().max() == 0


def test_kl_gradient_is_zero_at_the_reference_and_points_back_from_elsewhere():
    torch.manual_seed(0)
    reference = torch.randn(4, 5)
    current = reference.clone().requires_grad_()
    (slope,) = torch.autograd.grad(anchor(current, reference, [4]).sum(), current)
    assert slope.abs().max() < 1e-7
    moved = (reference + torch.randn(4, 5)).requires_grad_()
    value = anchor(moved, reference, [4])
    (slope,) = torch.autograd.grad(value.sum(), moved)
    assert anchor(moved - 0.1 * slope, reference, [4]) < value


def test_kl_without_reference_logits_is_refused():
    with pytest.raises(ModelError, match="kl needs"):
        METHODS["kl"].retain(answers(numbers(1), [1]), RETAINED)
