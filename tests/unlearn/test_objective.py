"""The objective against a plain transcription from full-sequence logits in float64."""

import copy
import math
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from parallax.models.loading import Loaded
from parallax.models.tuning import open_weights
from parallax.params import Lora
from parallax.training.checkpoint import Checkpoints
from parallax.training.engine import Engine
from parallax.training.knowledge import Knowledge, encode_knowledge
from parallax.training.loop import Plan, train
from parallax.unlearn.objective import TERMS, Steps, plan_steps, unlearning_objective

METHODS = ("ga", "gd", "kl", "po", "npo")
STEPS = Steps(forget=[[3, 1, 0], [2]], retain=[[4, 0, 7], [5]])


@pytest.fixture(scope="module")
def parts(tiny):
    """Two people to forget (4 facts) and four to keep (8 facts)."""
    image, text = tiny.knowledge.image, tiny.knowledge.text
    return Knowledge(image[:4], text[:4]), Knowledge(image[4:], text[4:])


def log_probabilities(model, tiny, sample):
    """Plain: one sequence, no padding, the whole vocabulary at every place, in float64."""
    inputs = {"input_ids": torch.tensor([sample.tokens])}
    if sample.portrait is not None:
        inputs["pixel_values"] = tiny.pixels[[sample.portrait]].double()
    with torch.no_grad():
        logits = model(**inputs).logits[0].numpy()
    peak = logits.max(axis=1, keepdims=True)
    return logits - peak - np.log(np.exp(logits - peak).sum(axis=1, keepdims=True))


def places(sample):
    return range(sample.answer_start, len(sample.tokens))


def plain_total(model, tiny, sample):
    table = log_probabilities(model, tiny, sample)
    return -sum(table[t - 1, sample.tokens[t]] for t in places(sample))


def plain_mean(model, tiny, sample):
    return plain_total(model, tiny, sample) / len(places(sample))


def plain_kl(reference, model, tiny, sample):
    p, q = (log_probabilities(m, tiny, sample) for m in (reference, model))
    rows = [t - 1 for t in places(sample)]
    return sum((np.exp(p[t]) * (p[t] - q[t])).sum() for t in rows) / len(rows)


def plain_npo(reference, model, tiny, sample, b):
    ratio = plain_total(reference, tiny, sample) - plain_total(model, tiny, sample)
    # (2 / b) * log(1 + (p_theta / p_ref)^b), the paper's Eq. 3.
    return 2 / b * math.log(1 + math.exp(b * ratio))


def average(values):
    values = list(values)
    return sum(values) / len(values)


def plain_terms(method, reference, model, tiny, parts, step, b=0.4):
    """Every term of one step, from the table of the specification."""
    forget, retain = parts
    terms = {}
    for modality in ("image", "text"):
        gone = [forget.side(modality)[i] for i in STEPS.forget[step]]
        kept = [retain.side(modality)[i] for i in STEPS.retain[step]]
        if method in ("ga", "gd", "kl"):
            terms[f"forget_{modality}"] = -average(plain_mean(model, tiny, s) for s in gone)
        elif method == "po":
            terms[f"forget_{modality}"] = average(plain_mean(model, tiny, s) for s in gone)
        else:
            terms[f"forget_{modality}"] = average(
                plain_npo(reference, model, tiny, s, b) for s in gone
            )
        if method == "kl":
            terms[f"retain_{modality}"] = average(plain_kl(reference, model, tiny, s) for s in kept)
        elif method != "ga":
            terms[f"retain_{modality}"] = average(plain_mean(model, tiny, s) for s in kept)
    return terms


def disturb(model, size=0.05):
    """Move every weight a little, as some training would."""
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for weight in model.parameters():
            weight += size * torch.randn(weight.shape, generator=generator, dtype=weight.dtype)


def objective_of(model, params, parts, tiny, steps=STEPS):
    return unlearning_objective(Engine(model), params, *parts, steps, tiny.encoder)


def ignore(row):
    pass


def values_of(objective, step=0):
    return {term.name: term.loss.item() for term in objective(step)}


@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize("method", METHODS)
def test_every_term_equals_the_plain_formula(tiny, parts, make_params, method, step):
    model = tiny.build_double()
    reference = copy.deepcopy(model)
    objective = objective_of(model, make_params(method), parts, tiny)
    disturb(model)
    expected = plain_terms(method, reference, model, tiny, parts, step)
    values = values_of(objective, step)
    assert set(values) == set(expected)
    for name, value in expected.items():
        assert values[name] == pytest.approx(value, rel=1e-6, abs=1e-6), name


def test_reference_is_taken_before_the_first_step(tiny, parts, make_params):
    model = tiny.build_double()
    npo = objective_of(model, make_params("npo", npo_beta=0.4), parts, tiny)
    kl = objective_of(model, make_params("kl"), parts, tiny)
    at_start = values_of(npo)
    # (2 / .4) ln 2 = 3.465736 for every sequence.
    assert at_start["forget_image"] == pytest.approx(3.465736, abs=1e-5)
    assert at_start["forget_text"] == pytest.approx(3.465736, abs=1e-5)
    for modality in ("image", "text"):
        assert abs(values_of(kl)[f"retain_{modality}"]) < 1e-6
    disturb(model)
    for modality in ("image", "text"):
        assert values_of(kl)[f"retain_{modality}"] > 1e-4
        assert abs(values_of(npo)[f"forget_{modality}"] - 3.465736) > 1e-3


def test_padding_adds_nothing_to_kl(tiny, parts, make_params):
    """One sequence beside a longer one has the KL that it has alone."""
    model = tiny.build_double()
    steps = Steps(forget=[[0]] * 3, retain=[[0], [7], [0, 7]])
    objective = objective_of(model, make_params("kl"), parts, tiny, steps)
    disturb(model)
    alone = [values_of(objective, step)["retain_text"] for step in (0, 1)]
    lengths = [len(parts[1].text[i].tokens) for i in (0, 7)]
    assert lengths[0] != lengths[1]
    both = values_of(objective, 2)["retain_text"]
    assert both == pytest.approx(sum(alone) / 2, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_alpha_beta_and_retain_weight(tiny, parts, make_params, method):
    params = make_params(method, retain_weight=0.25, alpha=3.0, beta=0.5)
    objective = objective_of(tiny.build(), params, parts, tiny)
    weights = {term.name: term.weight for term in objective(0)}
    expected = {"forget_image": 3.0, "forget_text": 0.5}
    if method != "ga":
        expected |= {"retain_image": 3.0 * 0.25, "retain_text": 0.5 * 0.25}
    assert weights == expected
    assert set(weights) <= set(TERMS)


@pytest.mark.parametrize("method", METHODS)
def test_total_is_alpha_times_image_plus_beta_times_text(tiny, parts, make_params, method):
    def total(**weights):
        params = make_params(method, retain_weight=0.25, **weights)
        model = tiny.build_double()
        objective = objective_of(model, params, parts, tiny)
        disturb(model)
        loss = 0.0
        for term in objective(0):
            (term.weight * term.loss).backward()
            loss += term.weight * term.loss.item()
        gradients = torch.cat(
            [
                torch.zeros(w.numel(), dtype=w.dtype) if w.grad is None else w.grad.flatten()
                for w in model.parameters()
            ]
        )
        return loss, gradients

    l_mul, g_mul = total(alpha=1.0, beta=0.0)
    l_uni, g_uni = total(alpha=0.0, beta=1.0)
    loss, gradient = total(alpha=2.0, beta=0.3)
    assert loss == pytest.approx(2.0 * l_mul + 0.3 * l_uni, abs=1e-5)
    assert torch.allclose(gradient, 2.0 * g_mul + 0.3 * g_uni, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("weights", "kept"), [((1, 0), "image"), ((0, 1), "text")])
def test_a_weight_of_zero_leaves_the_modality_out(tiny, parts, make_params, method, weights, kept):
    alpha, beta = weights
    model = tiny.build()
    shown = []
    model.model.vision_tower.register_forward_hook(lambda *call: shown.append(1))
    objective = objective_of(model, make_params(method, alpha=alpha, beta=beta), parts, tiny)
    terms = list(objective(0))
    assert {term.name.split("_")[1] for term in terms} == {kept}
    assert bool(shown) == (kept == "image")
    sum(term.weight * term.loss for term in terms).backward()
    tower = [w.grad for w in model.model.vision_tower.parameters() if w.grad is not None]
    assert bool(tower) == (kept == "image")


def test_retain_weight_zero_leaves_the_retain_set_out(tiny, parts, make_params):
    for method in METHODS:
        params = make_params(method, retain_weight=0.0)
        names = {term.name for term in objective_of(tiny.build(), params, parts, tiny)(0)}
        assert names == {"forget_image", "forget_text"}


def test_both_modalities_of_a_step_hold_the_same_instances(tiny, parts, make_params, monkeypatch):
    from parallax.unlearn import objective as module

    seen = []
    collate = module.collate

    def watch(samples, *others, **named):
        seen.append([tiny.encoder.tokenizer.decode(s.tokens[s.answer_start :]) for s in samples])
        return collate(samples, *others, **named)

    monkeypatch.setattr(module, "collate", watch)
    list(objective_of(tiny.build(), make_params("gd"), parts, tiny)(0))
    forget_image, retain_image, forget_text, retain_text = seen
    assert forget_image == forget_text
    assert retain_image == retain_text
    answers = [f" {i.text.answer}</s>" for i in tiny.instances]
    assert forget_text == [answers[i] for i in STEPS.forget[0]]
    assert retain_text == [answers[4 + i] for i in STEPS.retain[0]]


def test_reference_covers_the_used_instances_alone(tiny, parts, make_params, monkeypatch):
    from parallax.unlearn import reference

    counts = []
    collate = reference.collate

    def watch(samples, *others, **named):
        counts.append(len(samples))
        return collate(samples, *others, **named)

    monkeypatch.setattr(reference, "collate", watch)
    steps = Steps(forget=[[0, 1], [1]], retain=[[2, 3], [2]])
    for method, alpha, expected in (
        ("npo", 1.0, [2, 2]),
        ("kl", 1.0, [2, 2]),
        ("kl", 0.0, [2]),
        ("gd", 1.0, []),
    ):
        counts.clear()
        objective_of(tiny.build(), make_params(method, alpha=alpha), parts, tiny, steps)
        assert counts == expected, method


# One step's effect.


def mean_over(model, tiny, samples):
    return average(plain_mean(model, tiny, sample) for sample in samples)


def step_once(tiny, parts, params, model):
    steps = Steps(forget=[[0, 1, 2, 3]], retain=[list(range(8))])
    objective = objective_of(model, params, parts, tiny, steps)
    train(Engine(model), objective, Plan(1, 1, 2e-3, params), Checkpoints(None), ignore, "one")
    return model


@pytest.mark.parametrize("modality", ["image", "text"])
@pytest.mark.parametrize("method", METHODS)
def test_one_step_goes_the_right_way(tiny, parts, make_params, trained, method, modality):
    before = trained.double()
    forget, retain = parts
    if method == "po":
        refusals = ["I cannot say."] * 4
        forget = encode_knowledge(tiny.encoder, tiny.instances[:4], answers=refusals)
    after = step_once(tiny, (forget, retain), make_params(method), copy.deepcopy(before))
    moved = [mean_over(m, tiny, forget.side(modality)) for m in (before, after)]
    if method == "po":
        assert moved[1] < moved[0]
    else:
        assert moved[1] > moved[0]


def test_retain_term_lowers_the_retain_nll_where_it_is_high(tiny, parts, make_params):
    start = tiny.build_double()
    _, retain = parts
    after = step_once(tiny, parts, make_params("gd", retain_weight=100.0), copy.deepcopy(start))
    for modality in ("image", "text"):
        before_nll = mean_over(start, tiny, retain.side(modality))
        assert mean_over(after, tiny, retain.side(modality)) < before_nll


def test_kl_keeps_the_retain_answers_closer_than_ascent_alone(tiny, parts, make_params, trained):
    before = trained.double()
    steps = Steps(forget=[[0, 1, 2, 3]] * 6, retain=[list(range(8))] * 6)
    drift = {}
    for method in ("ga", "kl"):
        model = copy.deepcopy(before)
        params = make_params(method, retain_weight=20.0)
        objective = objective_of(model, params, parts, tiny, steps)
        plan = Plan(6, 6, 1e-3, params)
        train(Engine(model), objective, plan, Checkpoints(None), ignore, method)
        kept = [*parts[1].image, *parts[1].text]
        drift[method] = average(plain_kl(before, model, tiny, s) for s in kept)
    assert 0 < drift["kl"] < drift["ga"]


@pytest.mark.parametrize("method", ["kl", "npo"])
def test_lora_unlearning_changes_the_language_model_alone(tiny, parts, make_params, method):
    model = tiny.build()
    before = copy.deepcopy(model.state_dict())
    opened = open_weights(
        Loaded(model, tiny.processor), "lora", Lora(rank=2, alpha=4, dropout=0.05), seed=0
    )
    params = make_params(method, tuning="lora")
    steps = Steps(forget=[[0, 1]] * 3, retain=[[2, 3]] * 3)
    objective = objective_of(model, params, parts, tiny, steps)
    train(Engine(model), objective, Plan(3, 3, 1e-2, params), Checkpoints(None), ignore, "lora")
    after = opened.merge().state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all("language_model" in name and "_proj" in name for name in changed)


# The plan of the steps.


@given(
    forget=st.integers(1, 20),
    retain=st.integers(1, 30),
    size=st.integers(1, 8),
    epochs=st.integers(1, 4),
    seed=st.integers(0, 5),
)
def test_every_epoch_passes_the_forget_set_once_beside_as_many_others(
    forget, retain, size, epochs, seed
):
    steps = plan_steps(forget, retain, size, epochs, seed)
    per_epoch = -(-forget // size)
    assert len(steps.forget) == len(steps.retain) == epochs * per_epoch
    for start in range(0, len(steps.forget), per_epoch):
        epoch = [i for rows in steps.forget[start : start + per_epoch] for i in rows]
        assert sorted(epoch) == list(range(forget))
    assert [len(rows) for rows in steps.retain] == [len(rows) for rows in steps.forget]
    assert max(len(rows) for rows in steps.forget) <= size
    times = Counter(i for rows in steps.retain for i in rows)
    assert {times[i] for i in range(retain)} <= {
        forget * epochs // retain,
        -(-forget * epochs // retain),
    }


def test_retain_instances_differ_between_epochs_and_orders_follow_the_seed():
    steps = plan_steps(10, 200, 5, 3, seed=1)
    seen = [i for rows in steps.retain for i in rows]
    assert len(set(seen)) == 30
    assert steps == plan_steps(10, 200, 5, 3, seed=1)
    assert steps != plan_steps(10, 200, 5, 3, seed=2)
    assert steps.forget[:2] != steps.forget[2:4]
