"""The order in which training samples are seen: a function of the seed alone."""

import random
from collections.abc import Sequence

CHUNK_BATCHES = 16


def draw(pool: Sequence[int], count: int, rng: random.Random) -> list[int]:
    """Return `count` members of `pool` in random order, each equally often give or take one.

    Whole permutations of the pool follow one another, so no member is drawn twice before every
    other has been drawn once.

    Raises:
        ValueError: the pool is empty, but members are wanted.
    """
    if count and not pool:
        raise ValueError(f"{count} members wanted of an empty pool")
    drawn: list[int] = []
    while len(drawn) < count:
        drawn.extend(rng.sample(pool, len(pool)))
    return drawn[:count]


def bucket(
    indices: Sequence[int], lengths: Sequence[int], size: int, rng: random.Random
) -> list[list[int]]:
    """Cut `indices` into batches of `size` whose members have similar lengths.

    Sorting happens within runs of `CHUNK_BATCHES` batches, whose batches are then shuffled: the
    order stays random at the scale of a run while little of a batch is padding. `lengths[i]` is the
    length of sample i, tokens. The last batch may be smaller.
    """
    batches = []
    for start in range(0, len(indices), size * CHUNK_BATCHES):
        chunk = sorted(indices[start : start + size * CHUNK_BATCHES], key=lambda i: (lengths[i], i))
        cut = [chunk[at : at + size] for at in range(0, len(chunk), size)]
        rng.shuffle(cut)
        batches.extend(cut)
    return batches
