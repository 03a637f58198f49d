import re
from collections import Counter

import pytest

from parallax.errors import DataError
from parallax.framing.annotation.masking import mask_pairs
from parallax.framing.annotation.questions import ANNOTATORS
from parallax.framing.audit.signals import changed_share
from parallax.framing.prompt_table import ItemPair


def make(count):
    return [ItemPair(f"i{n}", "fraud", "benign", f"Body {n}.", f"Other {n}.") for n in range(count)]


def of(masked, annotator):
    return [row for row in masked if row.annotator == annotator]


@pytest.mark.parametrize(("items", "catches"), [(5, 2), (20, 2), (72, 8), (360, 40)])
def test_about_a_tenth_of_the_rows_are_catch_pairs_of_all_kinds(labelled, items, catches):
    own = of(mask_pairs(make(items), labelled, 0), "1")
    kinds = Counter(row.catch for row in own if row.catch)
    assert len(own) == items + catches and sum(kinds.values()) == catches
    assert kinds["equivalent"] == catches // 2
    if catches >= 6:
        assert len(kinds) == 4


def test_catch_pairs_share_no_text_and_the_equivalent_ones_are_beyond_doubt(labelled):
    own = of(mask_pairs(make(360), labelled, 3), "1")
    texts = [text for row in own for text in row.texts]
    assert len(set(texts)) == len(texts)
    assert all(changed_share(row.a, row.b) < 0.5 for row in own if row.catch == "equivalent")


def test_every_annotator_has_all_pairs_in_an_order_on_sides_and_under_names_of_their_own(labelled):
    masked = mask_pairs(make(40), labelled, 5)
    rows = {name: of(masked, name) for name in ANNOTATORS}
    orders = {name: [row.pair for row in own] for name, own in rows.items()}
    assert all(sorted(order) == sorted(orders["1"]) for order in orders.values())
    assert len({tuple(order) for order in orders.values()}) == 3
    sides = {name: {row.pair: row.left for row in own} for name, own in rows.items()}
    for name, other in (("1", "2"), ("1", "3"), ("2", "3")):
        same = sum(sides[name][pair] == sides[other][pair] for pair in sides[name])
        assert 10 < same < 34  # of 44; half by chance
    assert len({row.id for row in masked}) == len(masked)
    assert all(re.fullmatch("[bcdfghjklmnpqrstvwxz]{6}", row.id) for row in masked)
    for row in masked:
        assert row.texts == ((row.a, row.b) if row.left == "a" else (row.b, row.a))


def test_the_seed_alone_decides(labelled):
    assert mask_pairs(make(9), labelled, 1) == mask_pairs(make(9), labelled, 1)
    first, second = mask_pairs(make(9), labelled, 1), mask_pairs(make(9), labelled, 2)
    assert not {row.id for row in first} & {row.id for row in second}


def test_catch_pairs_are_of_the_items_topics_where_there_are_any(labelled):
    known = {pair.id: pair.topic for pair in labelled}
    own = of(mask_pairs(make(20), labelled, 0), "1")
    assert {known[row.pair] for row in own if row.catch} == {"fraud"}


def test_too_few_labelled_pairs_are_named(labelled):
    few = [pair for pair in labelled if pair.kind != "changed_difficulty"]
    with pytest.raises(DataError, match="too few of kind 'changed_difficulty' for 8 catch pairs"):
        mask_pairs(make(72), few, 0)
