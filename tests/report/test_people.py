import dataclasses

import pytest

from parallax.errors import DataError
from parallax.report.people import OTHERS_SHOWN, OUTPUT_SHOWN, build_people, embed_portrait


def test_all_forget_people_and_a_few_others_are_shown(inputs):
    people = build_people(inputs)
    shown = [person.subset for person in people]
    assert shown == ["forget"] * 9 + ["retain"] * OTHERS_SHOWN + ["real"] * OTHERS_SHOWN
    left = [person.answered for person in people if person.subset == "forget"]
    assert left == sorted(left, reverse=True)
    assert [person.person_id for person in people if person.subset == "retain"] == [
        "101",
        "102",
        "103",
    ]


def test_each_side_has_its_own_prompt_and_answers(inputs):
    person = build_people(inputs)[0]
    rows = inputs.scored.set_index(["model", "person_id", "task", "field", "modality"])
    for fact in person.facts:
        for side in fact.sides:
            key = (person.person_id, fact.task, fact.field.replace(" ", "_"), side.modality)
            before, after = rows.loc[("sft", *key)], rows.loc[("unlearned", *key)]
            assert (side.before.output, side.after.output) == (before.output, after.output)
            assert side.prompt == after.prompt
            if fact.task != "generation":
                assert (side.after.mark == "right") == (after.score == 1)
    assert {len(fact.sides) for fact in person.facts} == {2}


def test_tallies_count_classification_and_cloze(inputs):
    person = build_people(inputs)[0]
    for tally in person.tallies:
        rows = inputs.scored.query(
            f"person_id == '{person.person_id}' and modality == '{tally.modality}'"
            " and task != 'generation'"
        )
        right = rows.groupby("model")["score"].sum()
        assert (tally.before, tally.after, tally.n) == (right["sft"], right["unlearned"], 12)


def with_answer(inputs, **values):
    """The inputs with the first forget classification after unlearning changed."""
    scored = inputs.scored.copy()
    index = scored.query(
        "model == 'unlearned' and person_id == '1' and task == 'classification'"
        " and field == 'birth_city' and modality == 'image'"
    ).index[0]
    for column, value in values.items():
        scored.at[index, column] = value
    return dataclasses.replace(inputs, scored=scored)


def answer_of(inputs):
    person = next(person for person in build_people(inputs) if person.person_id == "1")
    fact = next(fact for fact in person.facts if fact.field == "birth city")
    return fact.sides[0].after


def test_note_tells_what_an_output_was_counted_as(inputs):
    changed = with_answer(
        inputs, output="I do not know.", matched_option="B", abstained=True, score=0.0
    )
    answer = answer_of(changed)
    assert answer.mark == "wrong"
    assert answer.note == "abstains, counted as B. Porto"


def test_long_outputs_are_cut_with_a_sign(inputs):
    answer = answer_of(with_answer(inputs, output="x" * 5000, matched_option=""))
    assert answer.output == "x" * OUTPUT_SHOWN + "…"


def test_missing_twin_is_named(inputs):
    rows = inputs.scored
    alone = (
        (rows["person_id"] == "1")
        & (rows["field"] == "birth_city")
        & (rows["modality"] == "text")
        & (rows["task"] == "cloze")
    )
    changed = dataclasses.replace(inputs, scored=rows[~alone])
    with pytest.raises(DataError, match=r"person 1: cloze of 'birth_city' lacks .* modality text"):
        build_people(changed)


def test_person_without_portrait_is_named(inputs):
    portraits = {key: value for key, value in inputs.portraits.items() if key != "3"}
    with pytest.raises(DataError, match="person 3 has answers and no portrait"):
        build_people(dataclasses.replace(inputs, portraits=portraits))


def test_broken_portrait_is_named():
    with pytest.raises(DataError, match="portrait of person 7: not an image"):
        embed_portrait(b"no image", "7")
