import math

import pytest
import torch

from parallax.models.encoding import Sample
from parallax.models.generating import by_length, generate, score_answers


def ask_all(tiny):
    """Every question with and without the portrait, interleaved, and its answer."""
    questions, answers, portraits = [], [], []
    for instance in tiny.instances:
        questions += [instance.image.prompt, instance.text.prompt]
        answers += [instance.image.answer, instance.text.answer]
        portraits += [tiny.rows[instance.person_id], None]
    return questions, answers, portraits


def test_by_length_covers_every_index_once_longest_first():
    samples = [Sample((0,) * n, 0, None) for n in (3, 9, 1, 9, 4)]
    assert by_length(samples, 2) == [[1, 3], [4, 0], [2]]
    assert by_length([], 2) == []


@pytest.fixture(scope="module")
def spoken(tiny, trained_weights):
    questions, _, portraits = ask_all(tiny)
    prompts = tiny.encoder.encode_prompts(questions, portraits)
    return prompts, {
        size: generate(trained_weights, tiny.encoder, prompts, tiny.pixels, size, 16)
        for size in (1, 8, 24)
    }


def test_the_trained_model_answers_in_both_modalities(tiny, spoken):
    _, answers, _ = ask_all(tiny)
    assert spoken[1][1] == answers


def test_answers_do_not_depend_on_the_batch(spoken):
    _, texts = spoken
    assert texts[1] == texts[8] == texts[24]


def test_answers_stop_at_max_new_tokens(tiny, trained):
    (prompt,) = tiny.encoder.encode_prompts([tiny.instances[11].text.prompt], [None])
    (text,) = generate(trained, tiny.encoder, [prompt], tiny.pixels, 1, max_new_tokens=2)
    answer = tiny.knowledge.text[11].tokens[tiny.knowledge.text[11].answer_start :]
    assert len(answer) > 3
    assert text == tiny.encoder.tokenizer.decode(answer[:2]).strip()


def test_progress_counts_every_prompt(tiny, trained):
    _, _, portraits = ask_all(tiny)
    prompts = tiny.encoder.encode_prompts(["Who?"] * 5, portraits[:5])
    seen = []
    generate(trained, tiny.encoder, prompts, tiny.pixels, 2, 1, seen.append)
    assert sum(seen) == 5
    seen.clear()
    score_answers(trained, tiny.encoder, list(tiny.knowledge.text[:5]), tiny.pixels, 2, seen.append)
    assert sum(seen) == 5


@pytest.mark.parametrize("size", [1, 3, 24])
def test_scores_equal_sums_over_single_sequences(tiny, size):
    model = tiny.build_double()
    questions, answers, portraits = ask_all(tiny)
    samples = tiny.encoder.encode(questions, answers, portraits)[:9]
    scores = score_answers(model, tiny.encoder, samples, tiny.pixels, size)
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


def test_nothing_asked_is_nothing_answered(tiny, trained):
    assert generate(trained, tiny.encoder, [], tiny.pixels, 4, 4) == []
    assert score_answers(trained, tiny.encoder, [], tiny.pixels, 4) == []
