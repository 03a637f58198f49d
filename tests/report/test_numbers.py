import math

import pytest

from parallax.report.numbers import (
    change,
    fraction,
    interval,
    limit_points,
    people,
    percent,
    points,
    signed_points,
)


@pytest.mark.parametrize(
    ("function", "value", "text"),
    [
        (fraction, 0.4051, "0.41"),
        (fraction, math.nan, "\u2013"),
        (change, -0.556, "\u22120.56"),
        (change, 0.02, "+0.02"),
        (change, -0.001, "0.00"),
        (change, math.nan, "\u2013"),
        (percent, 0.407, "41\u00a0%"),
        (percent, math.nan, "\u2013"),
        (points, -0.152, "15\u00a0points"),
        (points, 0.01, "1\u00a0point"),
        (points, math.nan, "\u2013 points"),
        (limit_points, 0.1, "10\u00a0points"),
        (limit_points, 0.07, "7\u00a0points"),
        (limit_points, 0.025, "2.5\u00a0points"),
        (limit_points, 0.01, "1\u00a0point"),
        (limit_points, 0.005, "0.5\u00a0points"),
        (limit_points, 0.0004, "0.04\u00a0points"),
        (signed_points, -0.152, "\u221215\u00a0points"),
        (signed_points, 0.21, "21\u00a0points"),
        (signed_points, -0.004, "0\u00a0points"),
        (people, 1, "1\u00a0person"),
        (people, 9, "9\u00a0people"),
    ],
)
def test_numbers_as_printed(function, value, text):
    assert function(value) == text


def test_interval_signs_each_end():
    assert interval(-0.031, 0.552) == "\u22123 to 55"
    assert interval(-0.004, 0.1) == "0 to 10"
    assert interval(math.nan, 0.1) == "no interval"
