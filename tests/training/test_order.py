import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parallax.training.order import CHUNK_BATCHES, bucket, draw


@given(st.integers(1, 12), st.integers(0, 60), st.integers())
def test_draw_takes_every_member_equally_often_give_or_take_one(pool, count, seed):
    drawn = draw(range(pool), count, random.Random(seed))
    assert len(drawn) == count
    times = Counter(drawn)
    assert set(times) <= set(range(pool))
    assert {times[member] for member in range(pool)} <= {count // pool, -(-count // pool)}


@given(st.integers(1, 12), st.integers(1, 5), st.integers())
def test_draw_is_made_of_whole_permutations(pool, rounds, seed):
    drawn = draw(range(pool), rounds * pool, random.Random(seed))
    for start in range(0, len(drawn), pool):
        assert sorted(drawn[start : start + pool]) == list(range(pool))


def test_draw_permutes_anew_each_time():
    drawn = draw(range(30), 60, random.Random(0))
    assert drawn[:30] != drawn[30:]
    assert drawn[:30] != list(range(30))


def test_draw_of_an_empty_pool_is_refused():
    assert draw([], 0, random.Random(0)) == []
    with pytest.raises(ValueError, match="empty"):
        draw([], 3, random.Random(0))


@given(st.lists(st.integers(1, 50), max_size=120), st.integers(1, 5), st.integers())
def test_buckets_hold_every_index_once_in_batches_of_the_size(lengths, size, seed):
    batches = bucket(range(len(lengths)), lengths, size, random.Random(seed))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    assert len(batches) == -(-len(lengths) // size)
    assert sum(len(batch) != size for batch in batches) <= 1


def test_a_bucket_holds_similar_lengths_and_the_order_of_buckets_is_random():
    count = 4 * CHUNK_BATCHES
    lengths = random.Random(1).sample(range(count), count)
    batches = bucket(range(count), lengths, 4, random.Random(2))
    for batch in batches:
        seen = sorted(lengths[i] for i in batch)
        assert seen == list(range(seen[0], seen[0] + 4))
    shortest = [min(lengths[i] for i in batch) for batch in batches]
    assert shortest != sorted(shortest)


def test_sorting_stays_within_a_run_of_batches():
    size, count = 2, 4 * CHUNK_BATCHES
    indices = random.Random(3).sample(range(count), count)
    batches = bucket(indices, range(count), size, random.Random(4))
    half = size * CHUNK_BATCHES
    assert {i for batch in batches[:CHUNK_BATCHES] for i in batch} == set(indices[:half])


def test_a_repeated_index_is_kept_as_often_as_it_is_given():
    batches = bucket([0, 1, 0, 1, 0], [3, 9], 2, random.Random(0))
    assert Counter(i for batch in batches for i in batch) == {0: 3, 1: 2}


def test_same_generator_same_order():
    def made():
        rng = random.Random(5)
        return bucket(draw(range(9), 30, rng), range(9), 4, rng)

    assert made() == made()
