import pytest

from parallax.training.knowledge import encode_knowledge


def answer_of(tiny, sample):
    return tiny.encoder.tokenizer.decode(sample.tokens[sample.answer_start : -1])


def test_both_sides_hold_the_same_facts_in_the_same_order(tiny):
    assert len(tiny.knowledge.image) == len(tiny.knowledge.text) == len(tiny.instances)
    for instance, image, text in zip(
        tiny.instances, tiny.knowledge.image, tiny.knowledge.text, strict=True
    ):
        expected = f" {instance.text.answer}"
        assert answer_of(tiny, image) == answer_of(tiny, text) == expected
        assert image.portrait == tiny.encoder.rows[instance.person_id]
        assert text.portrait is None
    assert tiny.knowledge.side("image") is tiny.knowledge.image
    assert tiny.knowledge.side("text") is tiny.knowledge.text


def test_the_image_variant_shows_the_portrait_with_text_questions_too(tiny):
    shown = encode_knowledge(tiny.encoder, tiny.instances, text_with_portrait=True)
    assert shown.image == tiny.knowledge.image
    assert [s.portrait for s in shown.text] == [s.portrait for s in shown.image]
    image_token = tiny.encoder.tokenizer.convert_tokens_to_ids("<image>")
    assert {s.tokens.count(image_token) for s in shown.text} == {4}


def test_other_answers_take_the_place_of_the_true_ones_in_both(tiny):
    refusals = [f"I cannot say {n}" for n in range(len(tiny.instances))]
    refused = encode_knowledge(tiny.encoder, tiny.instances, answers=refusals)
    for refusal, image, text in zip(refusals, refused.image, refused.text, strict=True):
        assert answer_of(tiny, image) == answer_of(tiny, text) == f" {refusal}"
    for plain, other in zip(tiny.knowledge.text, refused.text, strict=True):
        assert plain.tokens[: plain.answer_start] == other.tokens[: other.answer_start]


def test_too_few_answers_are_refused(tiny):
    with pytest.raises(ValueError, match="zip"):
        encode_knowledge(tiny.encoder, tiny.instances, answers=["no"])


def test_no_answers_for_some_instances_are_refused(tiny):
    with pytest.raises(ValueError, match="zip"):
        encode_knowledge(tiny.encoder, tiny.instances, answers=[])
