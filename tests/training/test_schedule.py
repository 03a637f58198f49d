import math

import pytest

from parallax.training.schedule import learning_rate_factor


def factors(steps, warmup, schedule):
    return [learning_rate_factor(step, steps, warmup, schedule) for step in range(steps)]


def test_linear_without_warmup():
    # 1 - step / 4.
    assert factors(4, 0.0, "linear") == [1.0, 0.75, 0.5, 0.25]


def test_linear_with_warmup():
    # w = .5 * 4 = 2 steps of 1/3 and 2/3, then t = 0 and 1/2.
    assert factors(4, 0.5, "linear") == pytest.approx([1 / 3, 2 / 3, 1.0, 0.5])


def test_cosine():
    # (1 + cos(pi t)) / 2 at t = 0, 1/4, 1/2, 3/4: 1, (1 + .70711)/2, 1/2, (1 - .70711)/2.
    assert factors(4, 0.0, "cosine") == pytest.approx([1.0, 0.853553, 0.5, 0.146447], abs=1e-6)


def test_constant_after_warmup():
    # w = ceil(.3 * 5) = 2.
    assert factors(5, 0.3, "constant") == pytest.approx([1 / 3, 2 / 3, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
@pytest.mark.parametrize("warmup", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("steps", [1, 2, 7, 40])
def test_no_step_is_lost_and_none_exceeds_the_peak(schedule, warmup, steps):
    values = factors(steps, warmup, schedule)
    assert all(0 < value <= 1 for value in values)
    rise = math.ceil(warmup * steps)
    assert values[:rise] == sorted(values[:rise])
    assert values[rise:] == sorted(values[rise:], reverse=True)
    if rise < steps:
        assert values[rise] == 1.0
