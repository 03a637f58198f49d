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
import torch

from parallax.errors import ModelError
from parallax.framing.choosing import Decoding, Integers, Nucleus, choose, cut_nucleus

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Finish = Literal["eos", "length"]

# Rows are filled up to whole tiles. Products of few rows take other kernels, which add up in
# another order; from these heights on a row's result was the same, bit for bit, in all products
# of SmolLM2 at every height tried up to 128 (MKL in float32, oneDNN in bfloat16).
ROW_TILE = 16
FEWEST_ROWS = {torch.float32: 16, torch.bfloat16: 48, torch.float16: 48}
# Keys are padded to a multiple of this, so that a longer neighbour only adds zeros at the end.
KEY_TILE = 64


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
        self._lengths = torch.zeros(rows, dtype=torch.long, device=like.keys[0].device)
        self._keys = [_room(part, rows, capacity) for part in like.keys]
        self._values = [_room(part, rows, capacity) for part in like.values]
        self._numbers = torch.arange(rows, device=self._lengths.device)
        self._rows = self._span = 0

    def put(self, row: int, prefix: _Prefix) -> None:
        """Let the row begin with a prompt that has been read."""
        length = prefix.keys[0].shape[1]
        self._lengths[row] = length
        for room, part in zip(self._keys, prefix.keys, strict=True):
            room[row, :, :length] = part
        for room, part in zip(self._values, prefix.values, strict=True):
            room[row, :, :length] = part

    def move(self, source: int, target: int) -> None:
        """Copy a row over another."""
        for room in (*self._keys, *self._values, self._lengths):
            room[target] = room[source]

    def open_step(self, rows: int, busy: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Make room for a token in each of the first `rows`, of which the first `busy` count.

        Return its positions (rows, 1), and (rows, 1, 1, S) what is added to its scores: 0, or the
        lowest number where a row has no token. S, the keys that the step looks at, is the longest
        counting row's length with the new token, in whole tiles.
        """
        lengths = self._lengths[:rows]
        self._rows = rows
        self._span = _tiles(int(lengths[:busy].max()) + 1, KEY_TILE)
        dtype = self._keys[0].dtype
        hidden = torch.arange(self._span, device=lengths.device) > lengths[:, None]
        mask = torch.zeros(hidden.shape, dtype=dtype, device=hidden.device)
        mask.masked_fill_(hidden, torch.finfo(dtype).min)
        return lengths[:, None].clone(), mask[:, None, None]

    def close_step(self, busy: int) -> None:
        """Let the new tokens of the first `busy` rows stay; the others' are written over."""
        self._lengths[:busy] += 1

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_: object, **__: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add the step's token to its rows, (R, H, 1, D); return the layer's keys and values."""
        rows, places = self._numbers[: self._rows], self._lengths[: self._rows]
        self._keys[layer][rows, :, places] = keys[:, :, 0]
        self._values[layer][rows, :, places] = values[:, :, 0]
        seen = slice(self._rows), slice(None), slice(self._span)
        return self._keys[layer][seen], self._values[layer][seen]

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
    seed: int
    tokens: list[int] = field(default_factory=list)

    def accept(self, token: int, limit: int, ends: Collection[int]) -> Draw | None:
        """Take the next token; return the draw if that completes it."""
        if token in ends:
            return Draw(tuple(self.tokens), "eos")
        self.tokens.append(token)
        return Draw(tuple(self.tokens), "length") if len(self.tokens) == limit else None


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
    fewest = FEWEST_ROWS[model.dtype]
    limit = decoding.max_new_tokens
    prefixes: dict[tuple[int, ...], _Prefix] = {}
    slots: SlotCache | None = None
    busy: list[_Row] = []  # the draw in row r of the cache; the busy rows are the first ones

    while waiting or busy:
        while waiting and len(busy) < batch_size:
            index, request = waiting.popleft()
            prefix = prefixes.pop(request.tokens, None) or _read(model, request.tokens, decoding)
            sharers[request.tokens] -= 1
            if sharers[request.tokens]:
                prefixes[request.tokens] = prefix
            row = _Row(index, request.seed)
            if draw := row.accept(int(_choose(prefix.nucleus, [row])[0]), limit, ends):
                yield index, draw
                continue
            slots = slots or SlotCache(
                prefix, max(fewest, _tiles(batch_size, ROW_TILE)), _tiles(capacity, KEY_TILE)
            )
            slots.put(len(busy), prefix)
            busy.append(row)
        if slots is None or not busy:
            continue
        rows = max(fewest, _tiles(len(busy), ROW_TILE))
        last = [row.tokens[-1] for row in busy] + [0] * (rows - len(busy))
        positions, mask = slots.open_step(rows, len(busy))
        logits = model(
            input_ids=torch.tensor(last, device=model.device)[:, None],
            position_ids=positions,
            attention_mask=mask,
            cache=slots,
            use_cache=True,
        ).logits[:, -1]  # (R, V)
        slots.close_step(len(busy))
        chosen = _choose(cut_nucleus(logits, decoding), busy)
        for number in reversed(range(len(busy))):
            if draw := busy[number].accept(int(chosen[number]), limit, ends):
                yield busy[number].index, draw
                final = busy.pop()
                if number < len(busy):
                    busy[number] = final
                    slots.move(len(busy), number)


def _choose(nucleus: Nucleus, rows: Sequence[_Row]) -> Integers:
    """Draw the next token of each row; the nucleus may have more rows behind them."""
    count = len(rows)
    seeds = np.array([row.seed for row in rows], np.uint64)
    steps = np.array([len(row.tokens) for row in rows], np.int64)
    return choose(Nucleus(nucleus.tokens[:count], nucleus.logprobs[:count]), seeds, steps)


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
