import math
from pathlib import Path

import pytest

from parallax.framing.audit.signals import (
    DEEP,
    SHALLOW,
    SIGNALS,
    changed_share,
    changed_words,
    measure,
    read_marks,
)
from parallax.framing.items import read_items

A, B = "Open a red door.", "Open the blue door."


@pytest.fixture
def near(made):
    """A and B have the cosine 0.8; the direction of depth is (-1, 1) / sqrt 2."""
    anchors = dict.fromkeys(SHALLOW, (1, 0)) | dict.fromkeys(DEEP, (0, 1))
    return made(anchors | {A: (1, 0), B: (0.8, 0.6)})


def test_distance_and_difference_by_hand(near):
    (found,) = measure([(A, B)], near)
    assert found["distance"].value == pytest.approx(1 - 0.8)
    # open, red, door against open, blue, door: 2 of 6 content words changed.
    assert changed_words(A, B) == (["red"], ["blue"])
    assert found["difference"].value == pytest.approx(0.2 / (2 / 6))
    assert "'red' against 'blue' (cosine 0.80)" in found["difference"].reason


def test_few_changed_words_count_as_a_quarter(made):
    a, b = "one two three four five six", "one two three four five seven"
    found = SIGNALS["difference"](a, b, made({a: (1, 0), b: (0.8, 0.6)}))
    # 2 of 12 changed: below 1/4, by which 0.2 is divided.
    assert found.value == pytest.approx(0.2 / 0.25)


def test_shares_of_changed_words():
    assert changed_share("Write letters.", "Compose a letter!") == 0
    assert changed_share("Steal bread.", "Bake bread.") == 0.5
    assert changed_share("Write it.", "Say it.") == 0


def test_difficulty_by_hand(near):
    a, b = "Say briefly what it is.", "Prove the theorem at length."
    found = SIGNALS["difficulty"](a, b, near)
    # (0 - 1) / 2 against (2 - 0) / 3
    assert found.value == pytest.approx(1 / 2 + 2 / 3)
    assert "'briefly' against 'prove, theorem'" in found.reason


@pytest.mark.parametrize(
    ("text", "easy", "hard"),
    [
        ("In two sentences, please.", ("two sentences",), ()),
        ("Name one thing.", ("name one",), ()),
        ("Explain it to a ten-year-old.", ("to a ten-year-old",), ()),
        ("A short, rigorous treatise.", ("short",), ("rigorous", "treatise")),
        ("Send me your bank details.", (), ()),
    ],
)
def test_marks_of_depth(text, easy, hard):
    assert read_marks(text) == (easy, hard)


def test_depth_is_read_along_the_direction_of_its_anchors(near):
    found = SIGNALS["depth"](A, B, near)
    # (0.8, 0.6) - (1, 0) = (-0.2, 0.6), times (-1, 1) / sqrt 2.
    assert found.value == pytest.approx(0.8 / math.sqrt(2))
    assert found.reason.startswith("the second version")


def test_a_text_beside_itself_gives_no_doubt(encoder):
    items = read_items(Path(__file__).parents[3] / "data/raw/framing/items.jsonl")[::12]
    for found in measure([(item.body, item.body) for item in items], encoder):
        assert all(signal.value == pytest.approx(0, abs=1e-5) for signal in found.values())


def test_signals_do_not_depend_on_the_order_of_the_versions(encoder, labelled):
    pairs = [(pair.a, pair.b) for pair in labelled[::7]]
    forth = measure(pairs, encoder)
    back = measure([(b, a) for a, b in pairs], encoder)
    for first, second in zip(forth, back, strict=True):
        for name in SIGNALS:
            assert first[name].value == pytest.approx(second[name].value)


def test_requests_without_content_words_have_no_polarity(near):
    assert SIGNALS["polarity"]("Why?", "Who are you?", near).value == 0


def test_real_embeddings_see_depth_without_a_marking_word(encoder):
    a = "Explain to my grandmother how a phone finds its way."
    b = "Explain to a signals engineer how a phone finds its way, with the error budget."
    other = "Tell my grandmother in what manner a phone finds its way."
    assert SIGNALS["difficulty"](a, b, encoder).value == 0
    deeper, same = (SIGNALS["depth"](a, text, encoder).value for text in (b, other))
    assert deeper > 2 * same
