import math

import pytest

from parallax.errors import DataError
from parallax.report.figures import Figures

VALUES = {"a": {"b": 2, "c": None, "d": "word", "e": [1, 2], "f": True, "g": 0.5}}


@pytest.fixture
def figures():
    return Figures(VALUES, "x.json")


def test_values_come_by_their_keys(figures):
    assert figures.count("a", "b") == 2
    assert figures.number("a", "g") == 0.5
    assert figures.text("a", "d") == "word"
    assert figures.list("a", "e") == (1, 2)
    assert figures.flag("a", "f") is True
    assert figures.part("a").names == ("b", "c", "d", "e", "f", "g")


def test_null_is_an_undefined_number_an_empty_text_and_no_part(figures):
    assert math.isnan(figures.number("a", "c"))
    assert figures.text("a", "c") == ""
    assert not figures.has("a", "c")
    assert not figures.has("a", "b", "z")
    assert figures.has("a", "b")


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda f: f.number("a", "z"), r"x\.json: a\.z: is missing"),
        (lambda f: f.part("z", "y"), r"x\.json: z: is missing"),
        (lambda f: f.part("a").number("z"), r"x\.json: a: z: is missing"),
        (lambda f: f.number("a", "d"), r"x\.json: a\.d: 'word' is of another kind"),
        (lambda f: f.number("a", "f"), r"x\.json: a\.f: True is of another kind"),
        (lambda f: f.count("a", "g"), r"x\.json: a\.g: 0\.5 is of another kind"),
        (lambda f: f.flag("a", "b"), r"x\.json: a\.b: 2 is of another kind"),
        (lambda f: f.list("a", "d"), r"x\.json: a\.d: 'word' is of another kind"),
        (lambda f: f.part("a", "b"), r"x\.json: a\.b: int: want a JSON object"),
    ],
)
def test_a_missing_or_strange_value_is_named(figures, read, message):
    with pytest.raises(DataError, match=message):
        read(figures)


def test_a_file_that_is_no_object_is_named():
    with pytest.raises(DataError, match=r"x\.json: list: want a JSON object"):
        Figures([], "x.json")


def test_numbers_are_those_of_an_object():
    numbers = Figures({"a": {"x": 1, "y": None}}, "x.json").numbers("a")
    assert numbers["x"] == 1.0
    assert math.isnan(numbers["y"])
