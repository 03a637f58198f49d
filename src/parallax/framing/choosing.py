"""Choose the next token: temperature, nucleus, and noise that is a function of a cell's seed."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from parallax.errors import ParamsError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Seeds = npt.NDArray[np.uint64]

# Tokens sorted at first; rows whose nucleus is wider are sorted again, `WIDEN` times as far.
TOP = 256
WIDEN = 16


@dataclass(frozen=True)
class Decoding:
    """How a response is drawn: softmax(logits / temperature), cut to its nucleus of `top_p`."""

    temperature: float = 0.7
    top_p: float = 0.95
    max_new_tokens: int = 48

    def __post_init__(self) -> None:
        if not 0 < self.temperature < float("inf"):
            raise ParamsError(f"temperature = {self.temperature}: want a number above 0")
        if not 0 < self.top_p <= 1:
            raise ParamsError(f"top_p = {self.top_p}: want a number above 0, up to 1")
        if self.max_new_tokens < 1:
            raise ParamsError(f"max_new_tokens = {self.max_new_tokens}: want at least 1")


@dataclass(frozen=True)
class Nucleus:
    """The likeliest tokens of each row and their log-probabilities, -inf outside the nucleus."""

    tokens: Integers  # (R, K)
    logprobs: Floats  # (R, K), nats


def gumbel(seeds: Seeds, steps: Integers, tokens: Integers) -> Floats:
    """Return standard Gumbel noise, -ln(-ln u), as a function of seed, step and token alone.

    u is a hash in (0, 1): the finaliser of SplitMix64 (Steele, Lea & Flood, 2014), once over seed
    and step and once over that and the token. The arguments are broadcast.
    """
    gamma = np.uint64(0x9E3779B97F4A7C15)
    state = _mix(seeds + gamma * (steps.astype(np.uint64) + np.uint64(1)))
    state = _mix(state + gamma * (tokens.astype(np.uint64) + np.uint64(1)))
    uniform = ((state >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    noise: Floats = -np.log(-np.log(uniform))
    return noise


def _mix(state: Seeds) -> Seeds:
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def cut_nucleus(logits: torch.Tensor, decoding: Decoding) -> Nucleus:
    """Return the fewest tokens of each row whose probability reaches `top_p`, likeliest first.

    `logits` is (R, V). Equally likely tokens are taken in the order of their number.
    """
    scaled = logits.float() / decoding.temperature
    return _cut(scaled, torch.logsumexp(scaled, dim=-1), decoding.top_p, TOP)


def _cut(scaled: torch.Tensor, total: torch.Tensor, top_p: float, width: int) -> Nucleus:
    width = min(width, scaled.shape[1])
    top = scaled.topk(width, dim=-1)
    logprobs: Floats = (top.values.double() - total.double()[:, None]).cpu().numpy()  # (R, K)
    tokens: Integers = top.indices.cpu().numpy()  # (R, K)
    order = np.lexsort((tokens, -logprobs))
    tokens = np.take_along_axis(tokens, order, axis=1)
    logprobs = np.take_along_axis(logprobs, order, axis=1)
    reached = np.cumsum(np.exp(logprobs), axis=1)
    before = np.pad(reached[:, :-1], ((0, 0), (1, 0)))
    short = np.flatnonzero(reached[:, -1] < top_p)
    logprobs[before >= top_p] = -np.inf
    if not len(short) or width == scaled.shape[1]:
        return Nucleus(tokens, logprobs)
    rows = torch.from_numpy(short).to(scaled.device)
    wide = _cut(scaled[rows], total[rows], top_p, width * WIDEN)
    missing = ((0, 0), (0, wide.tokens.shape[1] - width))
    tokens = np.pad(tokens, missing)
    logprobs = np.pad(logprobs, missing, constant_values=-np.inf)
    tokens[short], logprobs[short] = wide.tokens, wide.logprobs
    return Nucleus(tokens, logprobs)


def choose(nucleus: Nucleus, seeds: Seeds, steps: Integers) -> Integers:
    """Draw one token a row: argmax over the nucleus of log p + Gumbel noise (Gumbel-max).

    Unlike the inverse of a cumulative sum, this ties the noise to the token: rounding of one
    probability cannot move the borders of all others, and frames that share a seed draw the same
    token as often as their distributions allow.
    """
    noise = gumbel(seeds[:, None], steps[:, None], nucleus.tokens)
    best = np.argmax(nucleus.logprobs + noise, axis=1)
    chosen: Integers = np.take_along_axis(nucleus.tokens, best[:, None], axis=1)[:, 0]
    return chosen
