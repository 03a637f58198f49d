import math

import pytest
import torch

from parallax.models.batches import (
    AnswerNll,
    Batch,
    answer_logits,
    answer_nll,
    answer_rows,
    answer_tokens,
    by_length,
    collate,
)
from parallax.models.encoding import Sample

SHORT = Sample((1, 7, 8, 2), answer_start=2, portrait=None)
LONG = Sample((1, 5, 6, 7, 9, 2), answer_start=5, portrait=1)


def test_collate_pads_right_by_default(tiny):
    batch = collate([SHORT, LONG], tiny.encoder)
    assert tiny.encoder.pad == 0
    assert batch.input_ids.tolist() == [[1, 7, 8, 2, 0, 0], [1, 5, 6, 7, 9, 2]]
    assert batch.attention_mask.tolist() == [[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]]
    assert batch.answers.int().tolist() == [[0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 1]]
    assert batch.answers.dtype == torch.bool
    assert batch.input_ids.dtype == batch.attention_mask.dtype == torch.int64
    assert torch.equal(batch.images["pixel_values"], tiny.pixels[[1]])


def test_collate_pads_left(tiny):
    batch = collate([LONG, SHORT], tiny.encoder, side="left")
    assert batch.input_ids.tolist() == [[1, 5, 6, 7, 9, 2], [0, 0, 1, 7, 8, 2]]
    assert batch.attention_mask.tolist() == [[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]]
    assert batch.answers.int().tolist() == [[0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 1]]


def test_collate_keeps_portraits_in_row_order_and_has_none_for_text(tiny):
    shown = [Sample((1, 2), 1, portrait) for portrait in (1, None, 0, 1)]
    images = collate(shown, tiny.encoder).images
    assert torch.equal(images["pixel_values"], tiny.pixels[[1, 0, 1]])
    assert collate([SHORT], tiny.encoder).images == {}


def test_inputs_are_in_the_models_format_where_they_are_real_numbers():
    whole = torch.ones(1, 2, dtype=torch.long)
    images = {"pixel_values": torch.ones(1, 3), "image_sizes": whole}
    inputs = Batch(whole, whole, whole.bool(), images).inputs(torch.bfloat16)
    assert list(inputs) == ["input_ids", "attention_mask", "pixel_values", "image_sizes"]
    assert inputs.pop("pixel_values").dtype == torch.bfloat16
    assert all(values.dtype == torch.long for values in inputs.values())


def test_by_length_covers_every_index_once_longest_first():
    samples = [Sample((0,) * n, 0, None) for n in (3, 9, 1, 9, 4)]
    assert by_length(samples, 2) == [[1, 3], [4, 0], [2]]
    assert by_length([], 2) == []


def test_a_pad_token_inside_an_answer_stays_in_it(tiny):
    sample = Sample((1, 7, 0, 2), answer_start=2, portrait=None)
    batch = collate([sample, LONG], tiny.encoder)
    assert answer_tokens(batch).tolist() == [0, 2, 2]
    assert batch.attention_mask[0].tolist() == [1, 1, 1, 1, 0, 0]


def test_nll_of_worked_logits():
    batch = Batch(
        input_ids=torch.tensor([[1, 0, 1], [1, 1, 0]]),
        attention_mask=torch.tensor([[1, 1, 1], [1, 1, 0]]),
        answers=torch.tensor([[False, True, True], [False, True, False]]),
        images={},
    )
    logits = torch.tensor([[0.0, math.log(3)], [math.log(3), 0.0], [0.0, 0.0]])
    # Row 0: token 0 has p = 1/(1+3), token 1 has p = 1/(3+1): S = 2 ln 4 = 2.772589, M = ln 4.
    # Row 1: token 1 has p = 1/2: S = M = ln 2 = .693147.
    nll = answer_nll(logits, batch)
    assert answer_rows(batch).tolist() == [0, 0, 1]
    assert nll.tokens.tolist() == [2, 1]
    assert nll.total.tolist() == pytest.approx([2.772589, 0.693147], abs=1e-6)
    assert nll.mean.tolist() == pytest.approx([1.386294, 0.693147], abs=1e-6)


def test_mean_divides_each_total_by_its_own_count():
    nll = AnswerNll(torch.tensor([6.0, 6.0]), torch.tensor([2, 3]))
    assert nll.mean.tolist() == [3.0, 2.0]


def labels_of(batch):
    return batch.input_ids.masked_fill(~batch.answers, -100)


@pytest.mark.parametrize("modality", ["image", "text"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_loss_equals_the_library_loss_with_masked_labels(tiny, modality, side):
    model = tiny.build_double()
    batch = collate(tiny.knowledge.side(modality)[:5], tiny.encoder, side)
    expected = model(labels=labels_of(batch), **batch.inputs(model.dtype)).loss
    nll = answer_nll(answer_logits(model, batch), batch)
    # The library takes the mean over all tokens of the batch.
    assert (nll.total.sum() / nll.tokens.sum()).item() == pytest.approx(expected.item(), abs=1e-6)


@pytest.mark.parametrize("modality", ["image", "text"])
def test_only_answers_and_the_end_token_are_in_the_loss(tiny, modality):
    encoder = tiny.encoder
    samples = tiny.knowledge.side(modality)
    batch = collate(samples, encoder)
    image_token = encoder.tokenizer.convert_tokens_to_ids("<image>")
    for row, instance in enumerate(tiny.instances):
        seen = batch.input_ids[row][batch.answers[row]].tolist()
        assert seen[-1] == encoder.end
        assert encoder.tokenizer.decode(seen[:-1]) == f" {instance.text.answer}"
        assert encoder.pad not in seen
        assert image_token not in seen
    assert not (batch.answers & (batch.attention_mask == 0)).any()
    assert (batch.input_ids == image_token).any() == (modality == "image")


def test_the_output_layer_sees_answer_positions_alone(tiny):
    model = tiny.build()
    batch = collate(tiny.knowledge.image[:3], tiny.encoder)
    seen = []
    model.get_output_embeddings().register_forward_hook(
        lambda layer, inputs, output: seen.append(inputs[0].shape[0])
    )
    answer_logits(model, batch)
    assert seen == [int(batch.answers.sum())]


def per_sequence(model, tiny, samples, side):
    batch = collate(samples, tiny.encoder, side)
    return answer_nll(answer_logits(model, batch), batch)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("modality", ["image", "text"])
def test_a_sequence_value_depends_on_nothing_else_in_the_batch(tiny, side, modality):
    model = tiny.build_double()
    sample = tiny.knowledge.side(modality)[0]
    alone = per_sequence(model, tiny, [sample], "right")
    longest = tiny.knowledge.image[11]
    longer = Sample((*longest.tokens, *longest.tokens[longest.answer_start :]), 12, 3)
    crowd = [tiny.knowledge.text[3], longer, sample, tiny.knowledge.image[9]]
    together = per_sequence(model, tiny, crowd, side)
    assert together.total[2].item() == pytest.approx(alone.total[0].item(), abs=1e-6)
    assert together.tokens[2] == alone.tokens[0]


def test_a_batch_without_images_equals_the_same_rows_beside_images(tiny):
    model = tiny.build_double()
    plain = per_sequence(model, tiny, tiny.knowledge.text[:4], "right").total
    mixed = per_sequence(model, tiny, tiny.knowledge.text[:4] + tiny.knowledge.image, "right").total
    assert torch.allclose(plain, mixed[:4], atol=1e-6, rtol=0)


def test_the_portrait_matters_and_only_the_own_one(tiny):
    model = tiny.build_double()
    sample = tiny.knowledge.image[0]
    other = Sample(sample.tokens, sample.answer_start, 4)
    own, swapped = (
        per_sequence(model, tiny, [s, tiny.knowledge.image[5]], "right").total
        for s in (sample, other)
    )
    assert abs(own[0] - swapped[0]) > 1e-6
    assert own[1].item() == pytest.approx(swapped[1].item(), abs=1e-6)
