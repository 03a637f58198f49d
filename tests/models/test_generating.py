import math
import random

import pytest
import torch

from parallax.models import reading
from parallax.models.generating import generate, score_answers
from parallax.models.shared import _Going, by_beginning


def ask_all(tiny):
    """Every question with and without the portrait, interleaved, and its answer."""
    questions, answers, portraits = [], [], []
    for instance in tiny.instances:
        questions += [instance.image.prompt, instance.text.prompt]
        answers += [instance.image.answer, instance.text.answer]
        portraits += [tiny.encoder.rows[instance.person_id], None]
    return questions, answers, portraits


def test_by_beginning_puts_like_passages_of_like_length_together():
    # int(2 log2(1 + n)) is 3 for a length of 2, 4 for 3 and 4, 5 for 5 and 6.
    passages = [(1, 2, 3, 4), (9, 9), (1, 2, 3, 4, 5, 6), (1, 2), (1, 5, 0, 0, 0), (9, 1, 1)]
    assert by_beginning(passages) == [3, 1, 0, 5, 2, 4]
    assert by_beginning([(), (1,), ()]) == [0, 2, 1]


def test_answers_in_progress_are_padded_on_the_left_as_far_as_they_need():
    long = _Going([7], torch.tensor([70]), torch.tensor([[2, 3, 4]]))
    both = long.beside(_Going([8, 9], torch.tensor([80, 90]), torch.tensor([[0, 5], [6, 7]])))
    assert both.rows == [7, 8, 9]
    assert both.tokens.tolist() == [70, 80, 90]
    assert both.seen.tolist() == [[2, 3, 4], [0, 0, 5], [0, 6, 7]]
    assert both.only([2, 1]).rows == [9, 8]
    assert both.only([2, 1]).tokens.tolist() == [90, 80]
    assert both.only([2, 1]).seen.tolist() == [[6, 7], [0, 5]]
    assert both.only([]).rows == []


@pytest.fixture(scope="module")
def spoken(tiny, trained_weights):
    questions, _, portraits = ask_all(tiny)
    prompts = tiny.encoder.encode_prompts(questions, portraits)
    return prompts, {
        size: generate(trained_weights, tiny.encoder, prompts, size, 16) for size in (1, 8, 24)
    }


def test_the_trained_model_answers_in_both_modalities(tiny, spoken):
    _, answers, _ = ask_all(tiny)
    assert spoken[1][1] == answers


def test_answers_do_not_depend_on_the_batch(spoken):
    _, texts = spoken
    assert texts[1] == texts[8] == texts[24]


def test_answers_do_not_depend_on_order_or_neighbours(tiny, trained_weights, spoken):
    prompts, texts = spoken
    order = random.Random(0).sample(range(len(prompts)), 17)  # others are left out
    some = [prompts[n] for n in order]
    assert generate(trained_weights, tiny.encoder, some, 7, 16) == [texts[1][n] for n in order]


def test_a_question_asked_twice_is_answered_twice(tiny, trained_weights, spoken):
    prompts, texts = spoken
    twice = [*prompts, *prompts]
    assert generate(trained_weights, tiny.encoder, twice, 24, 16) == 2 * texts[1]


@pytest.mark.parametrize("share", [True, False])
def test_answers_equal_the_library_s_own_generation(tiny, trained, spoken, monkeypatch, share):
    monkeypatch.setattr(reading, "WORTH", 1 if share else 10**9)
    prompts, _ = spoken
    expected = []
    for prompt in prompts:
        inputs = {"input_ids": torch.tensor([prompt.tokens])}
        if prompt.portrait is not None:
            inputs["pixel_values"] = tiny.pixels[[prompt.portrait]]
        tokens = trained.generate(**inputs, do_sample=False, max_new_tokens=16)
        new = tokens[0, len(prompt.tokens) :]
        expected.append(tiny.encoder.tokenizer.decode(new, skip_special_tokens=True).strip())
    assert generate(trained, tiny.encoder, prompts, 8, 16) == expected


def test_ended_answers_make_room_for_at_most_batch_size_in_progress(tiny, trained, spoken):
    prompts, texts = spoken
    rows = []
    trained.get_output_embeddings().register_forward_hook(
        lambda layer, inputs, output: rows.append(len(output))
    )
    generate(trained, tiny.encoder, prompts, 6, 16)
    assert max(rows) == 6
    # Batches of six that each wait for their longest answer and its end token take more steps.
    reader = reading.Reader(trained, tiny.encoder)
    order = by_beginning([reader.passage(prompt) for prompt in prompts])
    steps = [len(tiny.encoder.tokenizer(f" {texts[1][n]}")["input_ids"]) for n in order]
    assert len(rows) < sum(max(steps[start : start + 6]) for start in range(0, len(steps), 6))


def test_answers_stop_at_max_new_tokens(tiny, trained):
    (prompt,) = tiny.encoder.encode_prompts([tiny.instances[11].text.prompt], [None])
    (text,) = generate(trained, tiny.encoder, [prompt], 1, max_new_tokens=2)
    answer = tiny.knowledge.text[11].tokens[tiny.knowledge.text[11].answer_start :]
    assert len(answer) > 3
    assert text == tiny.encoder.tokenizer.decode(answer[:2]).strip()


def test_progress_counts_every_prompt(tiny, trained):
    _, _, portraits = ask_all(tiny)
    prompts = tiny.encoder.encode_prompts(["Who?"] * 5, portraits[:5])
    seen = []
    generate(trained, tiny.encoder, prompts, 2, 1, seen.append)
    assert sum(seen) == 5
    seen.clear()
    score_answers(trained, tiny.encoder, list(tiny.knowledge.text[:5]), 2, seen.append)
    assert sum(seen) == 5


@pytest.mark.parametrize("filled", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("size", [1, 3, 24])
def test_scores_equal_sums_over_single_sequences(tiny, size, filled, monkeypatch):
    monkeypatch.setattr(reading, "LEAST_FILLED", filled)
    model = tiny.build_double()
    questions, answers, portraits = ask_all(tiny)
    samples = tiny.encoder.encode(questions, answers, portraits)[2::3]
    assert len({sample.answer_length for sample in samples}) > 2
    scores = score_answers(model, tiny.encoder, samples, size)
    for sample, (logprob, count) in zip(samples, scores, strict=True):
        inputs = {"input_ids": torch.tensor([sample.tokens])}
        if sample.portrait is not None:
            inputs["pixel_values"] = tiny.pixels[[sample.portrait]].double()
        with torch.no_grad():
            logits = model(**inputs).logits[0]
        probabilities = torch.softmax(logits, -1)
        places = range(sample.answer_start, len(sample.tokens))
        expected = sum(math.log(probabilities[t - 1, sample.tokens[t]]) for t in places)
        assert count == len(places)
        assert logprob < 0
        assert logprob == pytest.approx(expected, rel=1e-6)


def test_scores_do_not_depend_on_order_neighbours_or_batch(tiny):
    model = tiny.build_double()
    questions, answers, portraits = ask_all(tiny)
    samples = [
        sample
        for shift in (0, 1, 5)  # three answers to each question
        for sample in tiny.encoder.encode(
            questions, answers[2 * shift :] + answers[: 2 * shift], portraits
        )
    ]
    whole = score_answers(model, tiny.encoder, samples, 64)
    order = random.Random(1).sample(range(len(samples)), 31)
    for size in (1, 7):
        some = score_answers(model, tiny.encoder, [samples[n] for n in order], size)
        for n, (logprob, count) in zip(order, some, strict=True):
            assert count == whole[n][1]
            assert logprob == pytest.approx(whole[n][0], rel=1e-6)


def test_answers_to_one_prompt_share_its_reading(tiny, monkeypatch):
    monkeypatch.setattr(reading, "WORTH", 1)
    model = tiny.build_double()
    samples = tiny.encoder.encode(["Who is it?"] * 4, ["Ana", "Ivo Jonas", "Ana", "Kaya"], [2] * 4)
    read = []
    model.model.language_model.register_forward_pre_hook(
        lambda layer, args, kwargs: read.append(kwargs["inputs_embeds"].shape[:2].numel()),
        with_kwargs=True,
    )
    shown = []
    model.model.vision_tower.register_forward_hook(lambda *_: shown.append(1))
    scores = score_answers(model, tiny.encoder, samples, 8)
    assert scores[0] == scores[2]
    assert len(shown) == 1
    # The prompt but its last token once; then that and the answer's tokens, as long as the longest.
    prompt, longest = samples[0].answer_start, max(sample.answer_length for sample in samples)
    assert sum(read) <= prompt - 1 + 4 * longest


def test_nothing_asked_is_nothing_answered(tiny, trained):
    assert generate(trained, tiny.encoder, [], 4, 4) == []
    assert score_answers(trained, tiny.encoder, [], 4) == []
