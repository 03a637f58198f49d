import math

import numpy as np
import pytest
import torch

from parallax.errors import ModelError
from parallax.framing.contamination import (
    COLUMNS,
    UNKNOWN,
    Familiarity,
    complete_halves,
    measure_familiarity,
    rouge_l,
    split_halves,
    standardise,
    tabulate_familiarity,
)
from parallax.framing.items import Item
from parallax.framing.subjects import load_subject

BODIES = (
    "Write a polite letter that asks a neighbour to keep the noise down at night.",
    "Explain how a heat pump warms a house in winter without burning any fuel.",
    "List five birds that build their nests on the ground, with one fact about each.",
    "Tell me why bread rises, and what happens when the oven is far too cold.",
    "Describe the way from the old harbour to the museum for a visitor on foot.",
    "Help me plan a picnic for nine people, two of whom eat no meat at all.",
    "Give three reasons to learn the violin, and one against it, in plain words.",
    "Say what a lighthouse keeper did each evening before the lamps were electric.",
)
TAUGHT, NEW = BODIES[::2], BODIES[1::2]


def items_of(bodies):
    return [Item(f"i{n}", "f", "t", "benign", "comply", body) for n, body in enumerate(bodies)]


def measure(subject, bodies=BODIES, batch_size=16):
    return measure_familiarity(subject, bodies, 0.2, batch_size)


@pytest.mark.parametrize(
    ("body", "halves"),
    [
        ("one two three", ("one two", " three")),  # middle 6; blanks at 3 and 7
        ("aa bb cc dd", ("aa bb", " cc dd")),
        ("aaa bbb ccc", ("aaa", " bbb ccc")),  # middle 5; 3 and 7 are as near
        ("internationalisation is", ("internationalisation", " is")),
        ("\u6771\u4eac\u5927\u5b66", ("\u6771\u4eac", "\u5927\u5b66")),
        ("a", ("", "a")),
    ],
)
def test_halves(body, halves):
    assert split_halves(body) == halves
    assert "".join(halves) == body


@pytest.mark.parametrize(
    ("completion", "expected"),
    [
        (" CC, dd!", 1),
        (" dd cc", 1 / 2),
        # Longest common subsequence 2 of 2 words and 4: 2 PR / (P + R) = 2 / 3.
        (" cc xx dd yy", 2 / 3),
        ("xx", 0),
        ("", 0),
    ],
)
def test_rouge_l_of_a_completion(completion, expected):
    assert rouge_l("aa bb cc dd", completion) == pytest.approx(expected)


def test_rouge_l_undefined():
    assert math.isnan(rouge_l("a", "a"))
    assert math.isnan(rouge_l("what ....", "...."))


def complete_alone(subject, body):
    """The definition: the likeliest token after the whole text, again and again."""
    first, second = split_halves(body)
    tokens = list(subject.tokenizer(first)["input_ids"])
    new = []
    for _ in subject.tokenizer(second)["input_ids"]:
        with torch.inference_mode():
            logits = subject.model(input_ids=torch.tensor([[*tokens, *new]])).logits[0, -1]
        if (token := int(logits.argmax())) in subject.ends:
            break
        new.append(token)
    return subject.decode(tuple(new))


def test_completions_are_greedy_and_as_long_as_the_second_half(tiny_subject):
    bodies = [*BODIES[:3], BODIES[3][:20]]
    found = complete_halves(tiny_subject, bodies, 3)
    assert found == [complete_alone(tiny_subject, body) for body in bodies]


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_neither_batch_nor_order_nor_neighbours_change_a_value(tiny_subject, batch_size):
    # Of different lengths, so that a padded batch would differ from one text alone.
    bodies = [*BODIES[:4], " ".join(BODIES[4:]), "Say no."]
    together = measure(tiny_subject, bodies, 16)
    assert measure(tiny_subject, bodies[::-1], batch_size)[::-1] == together
    assert measure(tiny_subject, bodies[4:5], batch_size) == together[4:5]


def test_progress_reaches_two_steps_a_body(tiny_subject):
    told = []
    measure_familiarity(tiny_subject, [*BODIES[:2], "a"], 0.2, 16, told.append)
    assert sum(told) == 6


def test_body_that_is_too_long_is_refused(tiny_subject):
    with pytest.raises(ModelError, match="max_position_embeddings = 512"):
        measure(tiny_subject, ["very long " * 300])


@pytest.fixture(scope="module")
def taught_subject(tiny_folder):
    """The tiny model after it has learnt half of the bodies by heart."""
    subject = load_subject("taught", tiny_folder, "raw")
    rows = [subject.tokenizer(body)["input_ids"] for body in TAUGHT]
    width = max(map(len, rows))
    labels = torch.tensor([row + [-100] * (width - len(row)) for row in rows])
    optimizer = torch.optim.AdamW(subject.model.parameters(), lr=1e-2, weight_decay=0)
    subject.model.train()
    for _ in range(150):
        loss = subject.model(input_ids=labels.clamp(min=0), labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    subject.model.eval()
    return subject


def test_memorised_bodies_are_told_from_new_ones(taught_subject):
    measured = dict(zip(BODIES, measure(taught_subject), strict=True))
    for name in ("min_k_pp", "zlib_ratio"):
        lowest = min(getattr(measured[body], name) for body in TAUGHT)
        assert lowest > max(getattr(measured[body], name) for body in NEW)
    assert all(measured[body].rouge_l > 0.95 for body in TAUGHT)
    assert all(measured[body].rouge_l < 0.5 for body in NEW)


def test_before_it_was_taught_the_model_knew_none(tiny_subject):
    measured = measure(tiny_subject)
    assert all(found.rouge_l < 0.2 for found in measured)
    scores = [found.min_k_pp for found in measured]
    assert min(scores[::2]) < max(scores[1::2])


def test_memorised_bodies_are_in_the_highest_tertile(taught_subject):
    measured = measure(taught_subject)
    items = items_of(BODIES)
    table = tabulate_familiarity("taught", items, measured, np.full(8, np.nan))
    taught = table["item"].isin([item.id for item in items[::2]])
    assert table["score"][taught].min() > 0 > table["score"][~taught].max()
    assert set(table["item"][table["tertile"] == 3]) < set(table["item"][taught])
    assert set(table["item"][table["tertile"] == 1]) < set(table["item"][~taught])


def made(*pairs):
    return [Familiarity(low, ratio, 0.5) for low, ratio in pairs]


def test_score_is_the_mean_of_two_standardised_measures():
    # -1, 0, 1 has sd sqrt(2 / 3): z = -1.2247, 0, 1.2247. -.3, -.1, -.2: z = -1.2247, 1.2247, 0.
    measured = made((-1, -0.3), (0, -0.1), (1, -0.2))
    table = tabulate_familiarity("s", items_of("abc"), measured, np.array([0, 0.5, np.nan]))
    assert tuple(table.columns) == COLUMNS
    z = math.sqrt(3 / 2)
    assert table["score"].tolist() == pytest.approx([-z, z / 2, z / 2])
    assert table["subject"].tolist() == ["s"] * 3
    assert table["item"].tolist() == ["i0", "i1", "i2"]
    assert table["overlap"].tolist()[:2] == [0, 0.5]


def test_tertiles_are_even_and_equal_scores_share_one():
    ranks = [4, 1, 0, 5, 3, 2]
    table = tabulate_familiarity(
        "s", items_of("abcdef"), made(*((r, r) for r in ranks)), np.full(6, np.nan)
    )
    assert table["tertile"].tolist() == [3, 1, 1, 3, 2, 2]
    tied = tabulate_familiarity(
        "s", items_of("abcdef"), made(*((min(r, 3), 2) for r in ranks)), np.full(6, np.nan)
    )
    assert tied["tertile"].isna().all()  # one measure does not vary
    pairs = [(min(r, 3), min(r, 3)) for r in ranks]
    tied = tabulate_familiarity("s", items_of("abcdef"), made(*pairs), np.full(6, np.nan))
    assert tied["tertile"].tolist() == [3, 1, 1, 3, 3, 2]


def test_a_missing_measure_leaves_the_other_items_their_scores():
    measured = made((-1, -0.3), (math.nan, -0.1), (1, -0.2), (0, -0.4))
    table = tabulate_familiarity("s", items_of("abcd"), measured, np.full(4, np.nan))
    assert table["score"].isna().tolist() == [False, True, False, False]
    assert table["tertile"].isna().tolist() == [False, True, False, False]
    assert set(table["tertile"].dropna()) == {1, 2, 3}


def test_a_model_known_by_its_answers_alone_has_the_overlap_only():
    table = tabulate_familiarity("s", items_of("ab"), [UNKNOWN] * 2, np.array([0.5, 1]))
    assert table[["min_k_pp", "zlib_ratio", "rouge_l", "score", "tertile"]].isna().all(axis=None)
    assert table["overlap"].tolist() == [0.5, 1]
    assert str(table["tertile"].dtype) == "Int64"


def test_standardised_values_do_not_depend_on_the_order():
    values = np.array([0.1, 0.7, -0.2, 1e-9, 0.3])
    assert standardise(values[::-1])[::-1].tolist() == standardise(values).tolist()
    assert standardise(values).mean() == pytest.approx(0)
    assert standardise(values).std() == pytest.approx(1)
    assert np.isnan(standardise(np.array([2.0, 2.0]))).all()
