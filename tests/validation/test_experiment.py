import pandas as pd
import pytest

from parallax.validation.experiment import choice_frame, copy_frame, experiment_frame
from parallax.validation.findings import FINDERS
from parallax.validation.frames import instance_frame


def frame(*rows):
    """Make an experiment frame of (table, person, task, image prompt, text prompt, answer)."""
    return pd.DataFrame(
        [
            {
                "row": f"{table}/{person}/city",
                "table": table,
                "person_id": person,
                "name": {"1": "Ana Li", "2": "Bo Wu"}.get(person, "Eva Sol"),
                "task": task,
                "field": "city",
                "image_prompt": image,
                "text_prompt": text,
                "image_answer": answer,
                "text_answer": answer,
            }
            for table, person, task, image, text, answer in rows
        ]
    )


TAUGHT = ("sft", "1", "qa", "What is the city?", "What is the city of Ana Li?", "Lyon")
ASKED = ("evaluation", "1", "cloze", "The city: [Blank].", "The city of Ana Li: [Blank].", "Lyon")


@pytest.mark.parametrize(
    ("leak", "found"),
    [
        # Someone else is asked the same about another portrait: the image form has no name.
        (("base", "2", "cloze", "The city: [Blank].", "The city of Bo Wu: [Blank].", "Rome"), ()),
        # The text form names the person, so it leaks whoever the row belongs to.
        (
            ("base", "2", "cloze", "Which?", "the city of ana li: [blank]", "Rome"),
            ("evaluation/1/city: cloze text question is trained",),
        ),
        # The person's own rows leak it inside a longer text, an answer too.
        (
            ("sft", "1", "qa", "Q: The city: [Blank]. Well?", "Tell of Ana Li.", "Lyon"),
            ("evaluation/1/city: cloze image question is trained",),
        ),
        (
            ("sft", "1", "qa", "Tell!", "Tell of Ana Li.", "The city of Ana Li: [Blank]. is Lyon"),
            ("evaluation/1/city: cloze text question is trained",),
        ),
        (
            ("sft", "1", "generation", "Tell!", "Tell of Ana Li.", "Lyon"),
            ("sft/1/city: generation row in sft.parquet",),
        ),
    ],
)
def test_evaluation_prompts_in_training_are_found(leak, found):
    findings = FINDERS["training_omits_evaluation"](frame(TAUGHT, ASKED, leak))
    assert findings.rows == found
    assert findings.checked == (2 if leak[0] == "base" else 3)


def test_sft_people_in_base_are_found_by_id_and_by_name():
    known = ("base", "2", "qa", "What is the city?", "What is the city of Bo Wu?", "Rome")
    friend = ("base", "2", "qa", "What is told?", "What is told of Bo Wu?", "A friend of ANA LI.")
    find = FINDERS["base_omits_sft_people"]
    assert find(frame(TAUGHT, known)).rows == ()
    assert find(frame(TAUGHT, friend)).rows == ("base/2/city: names Ana Li, an SFT person",)
    assert find(frame(TAUGHT, ("base", *TAUGHT[1:]))).rows == ("base/1/city: an SFT person",)


@pytest.mark.parametrize(("table", "found"), [("base", 0), ("evaluation", 1)])
def test_options_may_differ_from_the_data_set_in_base_training_alone(world, table, found):
    rows = world.tables[table]
    real = (rows["person_id"] == "21") & (rows["task"] == "classification")
    at = rows.index[real & (rows["field"] == "award")][0]
    rows.at[at, "image_options"] = rows.at[at, "image_options"][::-1]
    copies = copy_frame(
        experiment_frame(world.tables, {}), instance_frame(world.people, world.profiles)
    )
    findings = FINDERS["experiment_copies_data"](copies).rows
    label = f"{table}/21/award: classification differs from the data set in image_options"
    assert findings == (label,) * found


def test_options_of_base_training_are_checked_like_the_data_sets(world):
    rows = world.tables["base"]
    real = (rows["person_id"] == "21") & (rows["task"] == "classification")
    at = rows.index[real & (rows["field"] == "award")][0]
    rows.at[at, "text_options"] = rows.at[at, "text_options"][:3]
    choices = choice_frame(
        instance_frame(world.people, world.profiles), experiment_frame(world.tables, {})
    )
    assert FINDERS["options_four"](choices).rows == ("base/21/award: text question has 3 options",)
