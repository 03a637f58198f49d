"""Sample many draws of many prompts from a causal language model, each with a seed of its own.

Three things make it faster than padded batches: a prompt is read once and its keys and values are
copied for each of its draws, a finished draw's row goes to the next one at once, and only the top
of the vocabulary is sorted. Two things make a draw's text a function of its prompt and seed alone:
its random numbers are computed from (seed, step, token), and every matrix product has a shape at
which a row's result does not depend on the other rows (see `ROW_TILE` and `KEY_TILE`).
"""

from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from parallax.errors import ModelError, ParamsError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Finish = Literal["eos", "length"]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Seeds = npt.NDArray[np.uint64]

# Below 16 rows MKL's float32 product takes other kernels, which add up in another order; from 16
# on a row's result was the same, bit for bit, at every height tried up to 128. So rows are filled
# up to a multiple of this. (bfloat16 needs 40 rows: a batch size of 64 serves both.)
ROW_TILE = 16
# Keys are padded to a multiple of this, so that a longer neighbour only adds zeros at the end.
KEY_TILE = 64
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
class Request:
    """A prompt's tokens, and the seed of one draw from it."""

    tokens: tuple[int, ...]
    seed: int


@dataclass(frozen=True)
class Draw:
    """The new tokens, without the end token that `finish` = "eos" stands for."""

    tokens: tuple[int, ...]
    finish: Finish


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


@dataclass
class _Prefix:
    """A prompt that has been read: keys and values per layer (H, L, D), and its next token."""

    keys: list[torch.Tensor]
    values: list[torch.Tensor]
    nucleus: Nucleus


class SlotCache:
    """Keys and values of R independent rows, each as long as it is; the model's `cache`.

    Row r's token n stands at [r, :, n] of its layer's (R, H, C, D); what is behind a row's length
    is left over from others and masked.
    """

    def __init__(self, like: _Prefix, rows: int, capacity: int) -> None:
        self.lengths = torch.zeros(rows, dtype=torch.long, device=like.keys[0].device)
        self._span = 0
        self._keys = [_room(part, rows, capacity) for part in like.keys]
        self._values = [_room(part, rows, capacity) for part in like.values]
        self._rows = torch.arange(rows, device=self.lengths.device)

    def put(self, row: int, prefix: _Prefix) -> None:
        """Let the row begin with a prompt that has been read."""
        length = prefix.keys[0].shape[1]
        self.lengths[row] = length
        for room, part in zip(self._keys, prefix.keys, strict=True):
            room[row, :, :length] = part
        for room, part in zip(self._values, prefix.values, strict=True):
            room[row, :, :length] = part

    def clear(self, row: int) -> None:
        """Let the row idle; it goes on being computed, at the cost of one token."""
        self.lengths[row] = 0

    def open_step(self, dtype: torch.dtype) -> torch.Tensor:
        """Make room for a token a row; return what the step adds to its scores, (R, 1, 1, S).

        That is 0, or the lowest number where a row has no token. S, the keys that the step looks
        at, is the longest row's length and the new token, in whole tiles.
        """
        self._span = _tiles(int(self.lengths.max()) + 1, KEY_TILE)
        hidden = torch.arange(self._span, device=self.lengths.device) > self.lengths[:, None]
        mask = torch.zeros(hidden.shape, dtype=dtype, device=hidden.device)
        return mask.masked_fill_(hidden, torch.finfo(dtype).min)[:, None, None]

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_: object, **__: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append one token to every row, (R, H, 1, D), and return the layer's keys and values."""
        self._keys[layer][self._rows, :, self.lengths] = keys[:, :, 0]
        self._values[layer][self._rows, :, self.lengths] = values[:, :, 0]
        return self._keys[layer][:, :, : self._span], self._values[layer][:, :, : self._span]

    def get_seq_length(self, layer: int = 0) -> int:
        """Return the keys that the step looks at; models call it by this name."""
        return self._span


def _tiles(count: int, tile: int) -> int:
    """Round up to whole tiles."""
    return -(-count // tile) * tile


def _room(part: torch.Tensor, rows: int, capacity: int) -> torch.Tensor:
    heads, _, width = part.shape
    return torch.zeros(rows, heads, capacity, width, dtype=part.dtype, device=part.device)


@dataclass
class _Row:
    """A draw in progress."""

    index: int
    tokens: list[int] = field(default_factory=list)


@torch.inference_mode()
def sample(
    model: "PreTrainedModel",
    requests: Sequence[Request],
    decoding: Decoding,
    ends: Collection[int],
    batch_size: int,
) -> Iterator[tuple[int, Draw]]:
    """Yield each request's index and draw as soon as it is complete.

    Requests start in the given order, up to `batch_size` at a time; those with the same prompt
    share its reading while any of them is still to start, so they should stand close together.
    `ends` are the tokens that end a response.

    Raises:
        ModelError: the model has layers other than attention over all tokens, or too few positions.
    """
    if not requests:
        return
    capacity = max(len(r.tokens) for r in requests) + decoding.max_new_tokens
    _check_reach(model, capacity)
    waiting, sharers = deque(enumerate(requests)), Counter(r.tokens for r in requests)
    rows = _tiles(batch_size, ROW_TILE)
    seeds, steps = np.zeros(rows, np.uint64), np.zeros(rows, np.int64)
    last = torch.zeros(rows, dtype=torch.long, device=model.device)
    free, busy = deque(range(batch_size)), dict[int, _Row]()
    prefixes: dict[tuple[int, ...], _Prefix] = {}
    slots: SlotCache | None = None

    def accept(row: int, token: int) -> Draw | None:
        """Take the row's next token; return the draw if that completes it."""
        tokens = busy[row].tokens
        if token in ends:
            return Draw(tuple(tokens), "eos")
        tokens.append(token)
        steps[row] += 1
        last[row] = token
        return Draw(tuple(tokens), "length") if len(tokens) == decoding.max_new_tokens else None

    while waiting or busy:
        while waiting and free:
            index, request = waiting.popleft()
            prefix = prefixes.get(request.tokens) or _read(model, request.tokens, decoding)
            sharers[request.tokens] -= 1
            prefixes[request.tokens] = prefix
            if not sharers[request.tokens]:
                del prefixes[request.tokens]
            slots = slots or SlotCache(prefix, rows, _tiles(capacity, KEY_TILE))
            row = free.popleft()
            busy[row] = _Row(index)
            seeds[row], steps[row] = request.seed, 0
            slots.put(row, prefix)
            first = choose(prefix.nucleus, seeds[row : row + 1], steps[row : row + 1])
            if draw := accept(row, int(first[0])):
                del busy[row]
                slots.clear(row)
                free.append(row)
                yield index, draw
        if slots is None or not busy:
            continue
        logits = model(
            input_ids=last[:, None],
            position_ids=slots.lengths[:, None],
            attention_mask=slots.open_step(model.dtype),
            cache=slots,
            use_cache=True,
        ).logits[:, -1]  # (R, V)
        chosen = choose(cut_nucleus(logits, decoding), seeds, steps)
        slots.lengths += 1
        for row in list(busy):
            if draw := accept(row, int(chosen[row])):
                index = busy.pop(row).index
                free.append(row)
                yield index, draw
        for row in range(rows):
            if row not in busy:
                slots.clear(row)


def _read(model: "PreTrainedModel", tokens: Sequence[int], decoding: Decoding) -> _Prefix:
    """Read a prompt by itself: unpadded, so nothing but its own tokens shapes the products."""
    from transformers import DynamicCache

    cache = DynamicCache()
    ids = torch.tensor([tokens], device=model.device)
    logits = model(input_ids=ids, cache=cache, use_cache=True, logits_to_keep=1).logits[:, -1]
    return _Prefix(
        [layer.keys[0] for layer in cache.layers],
        [layer.values[0] for layer in cache.layers],
        cut_nucleus(logits, decoding),
    )


def _check_reach(model: "PreTrainedModel", tokens: int) -> None:
    """Refuse a model in which a token would not see all tokens before it."""
    config: Any = model.config
    kinds = set(getattr(config, "layer_types", None) or ()) - {
        "full_attention",
        "sliding_attention",
    }
    if kinds:
        raise ModelError(
            f"model {config.model_type!r}: layers of type {sorted(kinds)[0]!r} keep no keys;"
            " serve the model and use its endpoint"
        )
    for name in ("max_position_embeddings", "sliding_window", "attention_chunk_size"):
        reach = getattr(config, name, None)
        if reach is not None and reach < tokens:
            raise ModelError(
                f"model {config.model_type!r}: {name} = {reach}, the longest prompt with its"
                f" response takes {tokens} tokens; shorten the items or max_new_tokens"
            )
