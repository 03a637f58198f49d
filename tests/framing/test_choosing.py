import math

import numpy as np
import pytest
import torch

from parallax.errors import ParamsError
from parallax.framing.choosing import Decoding, Nucleus, choose, cut_nucleus, gumbel

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


@pytest.mark.parametrize(
    "wrong", [{"temperature": 0.0}, {"temperature": float("nan")}, {"top_p": 0.0}, {"top_p": 1.1}]
)
def test_decoding_outside_its_range(wrong):
    with pytest.raises(ParamsError, match=next(iter(wrong))):
        Decoding(**wrong)
