"""Seeds derived from names, so that no two uses share a random stream by accident."""

import hashlib
import random


def derive_seed(*parts: object) -> int:
    """Return a 63-bit seed that depends on every part and on their order.

    The parts are joined by their `repr`, so 1 and "1" differ. Stable across
    processes and platforms.
    """
    text = "\x1f".join(repr(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(*parts: object) -> random.Random:
    """Return a fresh `random.Random` seeded by `derive_seed(*parts)`."""
    return random.Random(derive_seed(*parts))
