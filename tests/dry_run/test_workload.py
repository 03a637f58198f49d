import pytest

from parallax.dry_run.assessment import outline_base
from parallax.dry_run.workload import Questions, plan_sft, plan_unlearning
from parallax.files import read_table
from parallax.models.batches import collate
from parallax.models.encoding import Encoder
from parallax.models.loading import outline
from parallax.params import load_params


@pytest.fixture
def outlined(place, experiment):
    params = load_params()
    return outline_base(params, experiment), params


def section(params, name, **values):
    return getattr(params, name).model_copy(update=values)


@pytest.fixture
def questions(outlined, experiment):
    loaded, params = outlined
    plain = params.model_copy(update={"sft": section(params, "sft", replay_share=0.0)})
    return Questions(loaded, experiment, plain)


def test_steps_and_tokens_of_fine_tuning(questions, outlined):
    # 8 facts in 2 modalities, 3 epochs: 48 samples, in batches of 16: 3 steps.
    _, params = outlined
    sft = section(params, "sft", epochs=3, batch_size=16, image_share=0.5)
    work = plan_sft(questions, sft)
    assert (work.facts, work.steps) == (8, 3)
    # Half of the samples show a portrait; 64 / 32 patches a side are 4 tokens.
    assert work.image_tokens.mean * work.steps == 24 * 4
    lengths = [len(s.tokens) for source in questions.sources for s in source.knowledge.image]
    assert work.tokens.most <= 16 * max(lengths)
    assert all(seen.gradient and seen.rows == 16 for seen in work.passes)


def test_steps_and_tokens_of_unlearning(questions, outlined):
    # 4 facts to forget in batches of 3, 2 epochs: 4 steps, in each of which forget and retain
    # instances pass in both modalities.
    _, params = outlined
    npo = params.unlearn.npo.model_copy(update={"epochs": 2})
    work = plan_unlearning(questions, section(params, "unlearn", batch_size=3, npo=npo))
    assert (work.facts, work.steps) == (4, 4)
    assert work.image_tokens.most == 3 * 4 * 2
    assert work.image_tokens.mean == (3 + 1) / 2 * 4 * 2
    # NPO's reference: a number for each fact to forget and modality, without gradient.
    assert (work.sequences, work.states) == (8, 0)
    assert {seen.rows for seen in work.passes if not seen.gradient} == {4}


def test_the_reference_of_kl_keeps_a_vector_per_answer_token(questions, outlined):
    _, params = outlined
    kl = params.unlearn.kl.model_copy(update={"epochs": 5})
    work = plan_unlearning(questions, section(params, "unlearn", method="kl", kl=kl))
    # 20 draws of 4 retain facts use each of them.
    sides = questions.retain.image, questions.retain.text
    assert work.states == sum(s.answer_length for side in sides for s in side)
    assert work.sequences == 0
    assert {seen.compared for seen in work.passes if seen.gradient} == {True, False}


def test_one_modality_alone(questions, outlined):
    _, params = outlined
    work = plan_unlearning(questions, section(params, "unlearn", alpha=0.0))
    assert work.image_tokens.most == 0
    assert all(seen.patches == 0 for seen in work.passes)


@pytest.mark.parametrize("model_type", ["llava", "llava_next", "qwen2_vl", "idefics3"])
def test_a_pass_is_that_of_the_real_batch(
    place, experiment, stand_in, world_of, change_params, model_type
):
    change_params(sft__replay_share=0.0)
    loaded = outline(stand_in(model_type))
    questions = Questions(loaded, experiment, load_params())
    portraits = read_table(experiment / "portraits.parquet")
    encoder = Encoder(loaded.processor, loaded.family, portraits)
    (source,) = questions.sources
    samples = [*source.knowledge.image[:3], *source.knowledge.text[:2]]
    seen = questions.as_pass(samples)
    # The same questions by an encoder that has prepared everybody's portrait.
    people = [questions.encoder.rows[p] for p in portraits["person_id"]]
    real = [s if s.portrait is None else s.__class__(s.tokens, s.answer_start, 0) for s in samples]
    assert set(people) == {0}  # all are of one size
    batch = collate(real, encoder)
    assert (seen.rows, seen.width) == tuple(batch.input_ids.shape)
    assert seen.answers == batch.answers.sum()
    image_tokens = (batch.input_ids == loaded.model.config.image_token_id).sum()
    assert questions.count_image_tokens(samples) == image_tokens > 0
    own = encoder.images([0])
    assert questions.portraits == 6 * sum(v.numel() * v.element_size() for v in own.values())
    tower = world_of(model_type).config.vision_config
    patch = tower.patch_size**2 * getattr(tower, "temporal_patch_size", 1) * 3
    assert seen.patches == batch.images["pixel_values"].numel() // patch
