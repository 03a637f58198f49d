from collections import Counter

import pytest

from parallax.models.batches import answer_logits, answer_nll, collate
from parallax.params import Shares
from parallax.training.engine import Engine
from parallax.training.knowledge import Knowledge
from parallax.training.supervised import Source, by_format, plan_batches, supervised_objective


def part(tiny, rows):
    return Knowledge(
        [tiny.knowledge.image[r] for r in rows], [tiny.knowledge.text[r] for r in rows]
    )


def count_kinds(samples, batches):
    """How many drawn samples show a portrait and how many do not."""
    return Counter(samples[i].portrait is not None for batch in batches for i in batch)


def test_one_source_is_seen_epochs_times_in_shares_of_the_modalities(tiny):
    # 3 epochs of 2 * 12 samples = 72, of which .75 = 54 with the portrait and 18 without.
    samples, batches = plan_batches([Source(tiny.knowledge, 1.0)], 3, 5, 0.75, seed=0)
    assert len(samples) == 24
    assert count_kinds(samples, batches) == {True: 54, False: 18}
    assert len(batches) == 15  # ceil(72 / 5)
    assert {len(batch) for batch in batches} == {5, 2}


def test_every_fact_of_a_modality_is_drawn_equally_often_give_or_take_one(tiny):
    samples, batches = plan_batches([Source(tiny.knowledge, 1.0)], 3, 5, 0.75, seed=0)
    times = Counter(i for batch in batches for i in batch)
    # 54 = 4.5 * 12 image samples, 18 = 1.5 * 12 text samples.
    for index, sample in enumerate(samples):
        assert times[index] in ((1, 2) if sample.portrait is None else (4, 5))


def test_a_second_source_adds_its_share_on_top_of_the_first_ones_epochs(tiny):
    # First: 8 facts, 2 epochs of 16 = 32 samples, which are .8 of 40; the second has 8 of them.
    first, second = part(tiny, range(8)), part(tiny, range(8, 12))
    samples, batches = plan_batches([Source(first, 0.8), Source(second, 0.2)], 2, 4, 0.5, seed=0)
    own = set(first.image) | set(first.text)
    drawn = [samples[i] for batch in batches for i in batch]
    assert len(drawn) == 40
    assert sum(sample in own for sample in drawn) == 32
    assert Counter(s.portrait is not None for s in drawn if s not in own) == {True: 4, False: 4}


def test_order_follows_the_seed_alone(tiny):
    source = [Source(tiny.knowledge, 1.0)]
    assert plan_batches(source, 2, 4, 0.5, 7) == plan_batches(source, 2, 4, 0.5, 7)
    assert plan_batches(source, 2, 4, 0.5, 7)[1] != plan_batches(source, 2, 4, 0.5, 8)[1]


def test_formats_get_their_shares_of_the_total(tiny, instances_of):
    mixed = [*instances_of([0, 1], "qa"), *instances_of([2], "cloze")]
    shares = Shares(qa=0.3, classification=0.4, cloze=0.1, generation=0.2)
    sources = by_format(tiny.encoder, mixed, shares, total=0.6)
    # No classification and no generation: .3 and .1 of .4 are scaled to .45 and .15 of .6.
    assert [source.share for source in sources] == pytest.approx([0.45, 0.15])
    assert [len(source.knowledge.image) for source in sources] == [4, 2]


def test_a_format_of_share_zero_is_left_out(tiny, instances_of):
    mixed = [*instances_of([0], "qa"), *instances_of([0], "cloze")]
    shares = Shares(qa=1, classification=0, cloze=0, generation=0)
    (source,) = by_format(tiny.encoder, mixed, shares)
    assert source.share == 1.0
    assert len(source.knowledge.text) == 2


def test_loss_weighs_every_fact_the_same_whatever_its_length(tiny):
    model = tiny.build_double()
    samples = [tiny.knowledge.image[0], tiny.knowledge.text[11]]
    means = []
    for sample in samples:
        batch = collate([sample], tiny.encoder)
        nll = answer_nll(answer_logits(model, batch), batch)
        means.append(nll.total.item() / sample.answer_length)
    assert samples[0].answer_length != samples[1].answer_length
    engine, batches = Engine(model), [[1], [0, 1]]
    objective = supervised_objective(engine, samples, batches, tiny.encoder)
    (term,) = objective(1)
    assert term.weight == 1.0
    assert term.loss.item() == pytest.approx(sum(means) / 2, abs=1e-6)
    (term,) = objective(0)
    assert term.loss.item() == pytest.approx(means[1], abs=1e-6)
