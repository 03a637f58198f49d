import dataclasses

import pytest

from parallax.models.answering import answer_questions
from parallax.models.generating import score_answers
from parallax.prompts import render_question


@pytest.fixture(scope="module")
def table(tiny, trained_weights, instances_of):
    instances = [
        *instances_of([0, 1], "classification"),
        *instances_of([2], "cloze"),
        *instances_of([3], "qa"),
    ]
    answers = answer_questions(trained_weights, tiny.encoder, instances, 5, 12)
    return instances, answers


def test_one_row_per_question_and_modality_in_order(table):
    instances, answers = table
    assert len(answers) == 2 * len(instances)
    assert answers["modality"].tolist() == ["image", "text"] * len(instances)
    expected = [i.person_id for i in instances for _ in range(2)]
    assert answers["person_id"].tolist() == expected
    for row, instance in enumerate(instances):
        assert answers["prompt"][2 * row] == instance.image.prompt
        assert answers["prompt"][2 * row + 1] == instance.text.prompt
        assert answers["reference"][2 * row] == instance.image.answer


def test_known_questions_are_answered(table):
    _, answers = table
    known = answers[answers["task"] == "qa"]
    assert known["output"].tolist() == known["reference"].tolist()


def test_options_are_scored_for_classifications_alone(table):
    _, answers = table
    for row in answers.itertuples():
        expected = 4 if row.task == "classification" else 0
        assert len(row.options) == len(row.option_logprobs) == len(row.option_tokens) == expected


def test_an_option_has_the_score_of_that_answer_after_the_rendered_prompt(
    tiny, trained_weights, table
):
    instances, answers = table
    instance = instances[1]
    prompt = render_question(instance.text, instance.task)
    for place, option in enumerate(instance.text.options):
        sample = tiny.encoder.encode([prompt], [option], [None])
        ((logprob, count),) = score_answers(trained_weights, tiny.encoder, sample, 1)
        row = answers.iloc[3]
        assert row["option_logprobs"][place] == pytest.approx(logprob, abs=1e-4)
        assert row["option_tokens"][place] == count


def test_no_classification_at_all_keeps_the_columns_types(tiny, trained_weights, table):
    instances, answers = table
    few = answer_questions(trained_weights, tiny.encoder, instances[4:5], 5, 2)
    assert few.dtypes.equals(answers.dtypes)


def test_unlike_options_by_modality_keep_to_their_own_rows(tiny, trained_weights, instances_of):
    (instance, _) = instances_of([0], "classification")
    turned = dataclasses.replace(
        instance,
        text=dataclasses.replace(instance.text, options=instance.text.options[::-1]),
    )
    answers = answer_questions(trained_weights, tiny.encoder, [turned], 8, 1)
    assert list(answers["options"][0]) == list(answers["options"][1])[::-1]
