"""Learning-rate schedules."""

import math

from parallax.params import Schedule


def learning_rate_factor(
    step: int, steps: int, warmup_fraction: float, schedule: Schedule
) -> float:
    """Return the factor in (0, 1] that multiplies the peak learning rate at `step` of `steps`.

    It rises linearly over the first w = ceil(warmup_fraction * steps) steps, then with progress
    t in [0, 1): constant 1, linear 1 - t, cosine (1 + cos(pi t)) / 2. Steps count from 0; no step
    has factor 0, so none is lost.
    """
    warmup = math.ceil(warmup_fraction * steps)
    if step < warmup:
        return (step + 1) / (warmup + 1)
    progress = (step - warmup) / max(1, steps - warmup)
    if schedule == "linear":
        return 1 - progress
    if schedule == "cosine":
        return (1 + math.cos(math.pi * progress)) / 2
    return 1.0
