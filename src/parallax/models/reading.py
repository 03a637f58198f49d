"""Read token sequences so that a beginning that several of them share is read once.

All questions about a person show the same portrait, questions of one wording begin alike, and a
classification's options follow one prompt. A token's keys and values therefore stand once in a
pool; a sequence is a row of places in it, and the model sees through that row.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import torch

from parallax.models.encoding import Encoder, Sample

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# Places of no token: what padding sees, and where padding's own keys and values go.
EMPTY, WASTE = 0, 1
# Tokens that the model reads in one pass, and how much of the longest's length each row has.
PASS_TOKENS = 1024
LEAST_FILLED = 0.7
# Shared beginnings are read apart if that saves so many tokens: about what one more pass costs.
WORTH = 128

Passage = tuple[int, ...]


class _StoredError(Exception):
    """The last layer's keys and values are stored; nothing else was wanted of the pass."""


class TokenPool:
    """Keys and values of tokens, each stored once: the model's `cache`.

    A pass sees the places `seen` (R, S), EMPTY where a row is padded on the left; its last T
    columns are the tokens that are read now. Their keys and values go to `new` (R, T), which is
    WASTE where a row has fewer.
    """

    def __init__(self, layers: int) -> None:
        self._layers: list[list[torch.Tensor]] = []  # keys and values, (N, H, D)
        self._last = layers - 1
        self._size = WASTE + 1

    def allot(self, count: int) -> list[int]:
        """Return as many new places."""
        self._size += count
        return list(range(self._size - count, self._size))

    def keep(self, seen: torch.Tensor) -> torch.Tensor:
        """Drop all tokens but those that `seen` shows; return their new places."""
        always = torch.tensor([EMPTY, WASTE], device=seen.device)
        live = torch.cat([always, seen.flatten()]).unique()
        for rooms in self._layers:
            for room in rooms:
                room[: len(live)] = room.index_select(0, live)
        self._size = len(live)
        return torch.searchsorted(live, seen)

    def open(self, seen: torch.Tensor, new: torch.Tensor, store_only: bool) -> None:
        """Begin a pass; one that only stores ends by `_StoredError`."""
        self._seen, self._new, self._store_only = seen, new, store_only

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_: object, **__: object
    ) -> list[torch.Tensor]:
        """Store a layer's new keys and values, (R, H, T, D); return those seen, (R, H, S, D)."""
        if layer == len(self._layers):
            self._layers.append([t.new_zeros(WASTE + 1, *t[0, :, 0].shape) for t in (keys, values)])
        rooms = self._layers[layer]
        for n, part in enumerate((keys, values)):
            if len(rooms[n]) < self._size:
                larger = part.new_empty(2 * self._size, *rooms[n].shape[1:])
                larger[: len(rooms[n])] = rooms[n]
                rooms[n] = larger
            rooms[n][self._new] = part.transpose(1, 2)
        if self._store_only and layer == self._last:
            raise _StoredError
        seen = [room.index_select(0, self._seen.flatten()) for room in rooms]
        return [rows.unflatten(0, self._seen.shape).transpose(1, 2) for rows in seen]

    def get_seq_length(self, layer: int = 0) -> int:
        """Return S - T; models call it and the next two by these names."""
        return self._seen.shape[1] - self._new.shape[1]

    def get_query_offset(self, layer: int = 0) -> int:
        """Return the first column of the tokens that are read now."""
        return self.get_seq_length()

    def get_mask_sizes(self, width: int, layer: int = 0) -> tuple[int, int]:
        """Return the number of columns and the first of them."""
        return self._seen.shape[1], 0


class Reader:
    """A model that reads passages: tokens, with -1 - portrait for each token of a portrait."""

    def __init__(self, model: "PreTrainedModel", encoder: Encoder) -> None:
        self._model, self._encoder = model, encoder
        self._device = model.device
        self._image = int(model.config.image_token_id)
        self._pool = TokenPool(model.config.get_text_config().num_hidden_layers)
        self._places: dict[Passage, list[int]] = {}  # of those stored last

    def passage(self, sample: Sample) -> Passage:
        """Return the sample's tokens as the reader tells them apart."""
        if sample.portrait is None:
            return sample.tokens
        own = -1 - sample.portrait
        return tuple([own if token == self._image else token for token in sample.tokens])

    def store(self, passages: Sequence[Passage]) -> torch.Tensor:
        """Read passages; return the places of their tokens (R, S), padded on the left."""
        self._places = {(): []}
        self._store(sorted(set(passages)))
        return self._pad_left([self._places[passage] for passage in passages], EMPTY)

    def _store(self, passages: list[Passage]) -> None:
        cuts = _shared(passages)
        heads = sorted({passage[:cut] for passage, cut in zip(passages, cuts, strict=True)})
        if sum(cuts) - sum(map(len, heads)) < WORTH:
            cuts = [0] * len(passages)
        else:
            self._store(heads)
        split = zip(passages, cuts, strict=True)
        parts = [(passage[:cut], passage[cut:]) for passage, cut in split if cut < len(passage)]
        for _ in self._read(parts, store_only=True):
            pass

    def read(
        self, parts: Sequence[tuple[Passage, Passage]]
    ) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Read what follows passages stored last; each part is a passage and its continuation.

        Yield, pass by pass, the numbers of the parts that were read, and the last layer's states
        of their continuations (R, T, D), padded on the left.
        """
        return self._read(parts, store_only=False)

    def _read(
        self, parts: Sequence[tuple[Passage, Passage]], store_only: bool
    ) -> Iterator[tuple[list[int], torch.Tensor]]:
        for head, tail in parts:
            self._places[head + tail] = self._places[head] + self._pool.allot(len(tail))
        for rows in _passes([len(tail) for _, tail in parts]):
            tails = [parts[row][1] for row in rows]
            tokens = self._pad_left(
                [[t if t >= 0 else self._image for t in tail] for tail in tails], self._encoder.pad
            )
            places = [self._places[parts[row][0] + parts[row][1]] for row in rows]
            seen = self._pad_left(places, EMPTY)
            width = tokens.shape[1]
            counts = torch.tensor([len(tail) for tail in tails], device=self._device)
            padding = torch.arange(width, device=self._device) < width - counts[:, None]
            new = seen[:, -width:].masked_fill(padding, WASTE)
            shown = [portrait for tail in tails for portrait in {-1 - t for t in tail if t < 0}]
            pixels = self._encoder.images(shown).get("pixel_values")
            yield rows, self._forward(tokens, seen, new, pixels, store_only)

    def step(self, tokens: torch.Tensor, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Read one more token (R,) in each row; return its states (R, D) and `seen` with it."""
        new = torch.tensor(self._pool.allot(len(tokens)), device=self._device)[:, None]
        seen = torch.cat([seen, new], dim=1)
        return self._forward(tokens[:, None], seen, new)[:, 0], seen

    def keep(self, seen: torch.Tensor) -> torch.Tensor:
        """Forget all tokens but those that `seen` shows; return their new places."""
        return self._pool.keep(seen)

    def _pad_left(self, rows: Sequence[Sequence[int]], filler: int) -> torch.Tensor:
        """Return the rows as one tensor (R, longest)."""
        width = max(map(len, rows))
        padded = [[filler] * (width - len(row)) + list(row) for row in rows]
        return torch.tensor(padded, device=self._device)

    def _forward(
        self,
        tokens: torch.Tensor,
        seen: torch.Tensor,
        new: torch.Tensor,
        pixels: torch.Tensor | None = None,
        store_only: bool = False,
    ) -> torch.Tensor:
        """Return the last layer's states (R, T, D), or none if the pass only stores."""
        mask = seen != EMPTY
        positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
        inputs = {"input_ids": tokens, "position_ids": positions, "attention_mask": mask}
        if pixels is not None:
            inputs["pixel_values"] = pixels.to(tokens.device, self._model.dtype)
        self._pool.open(seen, new, store_only)
        try:
            output = self._model.model(**inputs, cache=self._pool, use_cache=True)
        except _StoredError:
            return torch.empty(0, device=self._device)
        hidden: torch.Tensor = output.last_hidden_state
        return hidden


def _shared(passages: Sequence[Passage]) -> list[int]:
    """Return how many tokens each of the sorted passages begins with as a neighbour does."""
    cuts = [0] * len(passages)
    for n, (one, other) in enumerate(pairwise(passages)):
        pairs = enumerate(zip(one, other, strict=False))
        common = next((k for k, (a, b) in pairs if a != b), min(len(one), len(other)))
        cuts[n], cuts[n + 1] = max(cuts[n], common), common
    return cuts


def _passes(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Cut the indices of lengths into passes of similar length, longest first."""
    order = sorted(range(len(lengths)), key=lambda n: -lengths[n])
    while order:
        longest = lengths[order[0]]
        alike = sum(lengths[n] >= LEAST_FILLED * longest for n in order)
        size = min(alike, max(1, PASS_TOKENS // longest))
        yield order[:size]
        order = order[size:]
