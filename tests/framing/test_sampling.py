import math

import numpy as np
import pytest
import torch

from parallax.errors import ModelError, ParamsError
from parallax.framing.sampling import (
    Decoding,
    Draw,
    Nucleus,
    Request,
    choose,
    cut_nucleus,
    gumbel,
    sample,
)

WORD = 2**64
GAMMA = 0x9E3779B97F4A7C15


def splitmix(state):
    """SplitMix64's finaliser, in Python's own integers."""
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % WORD
    state = (state ^ state >> 27) * 0x94D049BB133111EB % WORD
    return state ^ state >> 31


def test_hash_is_splitmix64():
    # The generator's published first number for the seed 1234567.
    assert splitmix((1234567 + GAMMA) % WORD) == 6457827717110365317


@pytest.mark.parametrize(("seed", "step", "token"), [(0, 0, 0), (2**32 - 1, 47, 49151)])
def test_gumbel_is_a_function_of_seed_step_and_token(seed, step, token):
    state = splitmix((seed + GAMMA * (step + 1)) % WORD)
    state = splitmix((state + GAMMA * (token + 1)) % WORD)
    uniform = ((state >> 11) + 0.5) / 2**53
    found = gumbel(np.array([seed], np.uint64), np.array([step]), np.array([token]))
    assert found[0] == pytest.approx(-math.log(-math.log(uniform)), rel=1e-12)


def test_gumbel_noise_has_the_moments_of_its_distribution():
    seeds = np.arange(40, dtype=np.uint64)[:, None, None]
    noise = gumbel(seeds, np.arange(40)[None, :, None], np.arange(40)[None, None, :])
    # Mean .5772 and variance pi^2/6 = 1.645; 64,000 values: standard errors .005 and .014.
    assert noise.mean() == pytest.approx(0.5772, abs=0.02)
    assert noise.var() == pytest.approx(1.645, abs=0.06)
    # Neither neighbouring seeds nor steps nor tokens go together (standard error .004).
    for axis in range(3):
        near, far = np.split(noise, 2, axis=axis)
        assert abs(np.corrcoef(near.ravel(), far.ravel())[0, 1]) < 0.025


def kept(nucleus, row=0):
    inside = np.isfinite(nucleus.logprobs[row])
    return dict(
        zip(nucleus.tokens[row, inside], np.exp(nucleus.logprobs[row, inside]), strict=True)
    )


def logits(*probabilities):
    return torch.tensor([probabilities]).log()


def test_nucleus_is_the_fewest_tokens_that_reach_top_p():
    # .5 does not reach .75, .5 + .3 does.
    found = kept(cut_nucleus(logits(0.15, 0.5, 0.05, 0.3), Decoding(1.0, 0.75)))
    assert found == pytest.approx({1: 0.5, 3: 0.3})


def test_temperature_sharpens_before_the_cut():
    # Squares .0225, .25, .0025, .09, sum .365: .0616, .6849, .0068, .2466; .9315 reaches .9.
    found = kept(cut_nucleus(logits(0.15, 0.5, 0.05, 0.3), Decoding(0.5, 0.9)))
    assert found == pytest.approx({1: 0.6849, 3: 0.2466}, abs=1e-4)


def test_whole_vocabulary_at_top_p_one():
    assert len(kept(cut_nucleus(torch.randn(1, 700), Decoding(1.0, 1.0)))) == 700


def test_wide_nucleus_takes_equals_by_number_and_leaves_narrow_rows_alone():
    rows = torch.cat([torch.zeros(1, 1000), torch.zeros(1, 1000)])
    rows[1, 7] = 20.0
    found = cut_nucleus(rows, Decoding(1.0, 0.9495))
    # n tokens of .001 reach .9495 at n = 950.
    assert sorted(kept(found)) == list(range(950))
    assert list(kept(found, 1)) == [7]


def test_draws_follow_the_distribution():
    count, probabilities = 20_000, np.array([0.5, 0.3, 0.2])
    nucleus = Nucleus(np.tile([11, 5, 8], (count, 1)), np.tile(np.log(probabilities), (count, 1)))
    tokens = choose(nucleus, np.arange(count, dtype=np.uint64), np.zeros(count, np.int64))
    shares = np.array([(tokens == token).mean() for token in (11, 5, 8)])
    # Four standard errors of a share of .5 are .014.
    assert shares == pytest.approx(probabilities, abs=0.014)


def test_token_outside_the_nucleus_is_never_drawn():
    nucleus = Nucleus(np.tile([3, 4], (500, 1)), np.tile([-9.0, -np.inf], (500, 1)))
    assert set(choose(nucleus, np.arange(500, dtype=np.uint64), np.zeros(500, np.int64))) == {3}


@pytest.fixture(scope="module")
def model(tiny_subject):
    return tiny_subject.model


@pytest.fixture(scope="module")
def requests():
    """Twelve prompts of 3 to 40 tokens with five draws each, whose seeds recur over prompts."""
    generator = torch.Generator().manual_seed(3)
    made = []
    for number in range(12):
        length = 3 + (number * 7) % 38
        tokens = tuple(torch.randint(2, 420, (length,), generator=generator).tolist())
        made += [Request(tokens, 1000 * (number % 4) + draw) for draw in range(5)]
    return made


DECODING = Decoding(max_new_tokens=16)
ENDS = {1, 50, 51, 52, 53, 54, 55}


def collect(model, requests, batch_size, decoding=DECODING, ends=ENDS):
    pairs = list(sample(model, requests, decoding, ends, batch_size))
    draws = dict(pairs)
    assert len(draws) == len(pairs) == len(requests)
    return [draws[n] for n in range(len(requests))]


def draw_alone(model, request, decoding=DECODING, ends=ENDS):
    """The definition: no cache, no batch, the whole text read again for every token."""
    tokens = []
    while len(tokens) < decoding.max_new_tokens:
        with torch.inference_mode():
            ids = torch.tensor([[*request.tokens, *tokens]])
            nucleus = cut_nucleus(model(input_ids=ids).logits[:, -1], decoding)
        seed, step = np.array([request.seed], np.uint64), np.array([len(tokens)])
        token = int(choose(nucleus, seed, step)[0])
        if token in ends:
            return Draw(tuple(tokens), "eos")
        tokens.append(token)
    return Draw(tuple(tokens), "length")


def test_sampler_agrees_with_its_definition(model, requests):
    draws = collect(model, requests, 7)
    assert draws == [draw_alone(model, request) for request in requests]
    assert {draw.finish for draw in draws} == {"eos", "length"}
    assert all(len(d.tokens) == 16 for d in draws if d.finish == "length")
    assert not any(ENDS & set(draw.tokens) for draw in draws)


@pytest.mark.parametrize("batch_size", [1, 8, 64])
def test_text_depends_on_neither_batch_size_nor_order(model, requests, batch_size):
    turned = collect(model, requests[::-1], batch_size)
    assert turned[::-1] == collect(model, requests, 16)


def test_draws_of_a_prompt_differ_and_seeds_repeat_them(model, requests):
    draws = collect(model, requests[:5], 16)
    assert len(set(draws)) == 5
    assert collect(model, [requests[0]] * 3, 2) == [draws[0]] * 3


def test_every_prompt_is_read_once(model, requests):
    lengths = []
    hook = model.register_forward_pre_hook(
        lambda _, __, given: lengths.append(given["input_ids"].shape), with_kwargs=True
    )
    collect(model, requests, 8)
    hook.remove()
    assert sum(shape[1] > 1 for shape in lengths) == 12


def test_rows_are_refilled(model, requests):
    steps = []
    hook = model.register_forward_pre_hook(
        lambda _, __, given: steps.append(given["input_ids"].shape[1] == 1), with_kwargs=True
    )
    draws = collect(model, requests, 16)
    hook.remove()
    # A draw of n tokens takes n steps when it ended, n - 1 when it was cut; full rows waste none.
    work = sum(len(draw.tokens) - (draw.finish == "length") for draw in draws)
    assert sum(steps) <= work / 16 + 16


def test_one_token(model, requests):
    draws = collect(model, requests, 8, Decoding(max_new_tokens=1))
    assert {len(draw.tokens) for draw in draws if draw.finish == "length"} == {1}


def test_nothing_to_draw(model):
    assert collect(model, [], 8) == []


def test_prompt_that_does_not_fit(model):
    with pytest.raises(ModelError, match=r"max_position_embeddings = 512.*516"):
        collect(model, [Request((5,) * 500, 0)], 8)


@pytest.mark.parametrize(
    "wrong", [{"temperature": 0.0}, {"temperature": float("nan")}, {"top_p": 0.0}, {"top_p": 1.1}]
)
def test_decoding_outside_its_range(wrong):
    with pytest.raises(ParamsError, match=next(iter(wrong))):
        Decoding(**wrong)
