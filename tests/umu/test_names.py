from pathlib import Path

import pytest

from parallax.records import Instance, Person, Question
from parallax.stages.profiles import assemble
from parallax.umu.names import infer_names
from parallax.umu.questions import build_people
from parallax.words import fold_words

RAW = Path(__file__).resolve().parents[2] / "data/raw"
ASKED = (
    "What is the height of {}?",
    "Where does {} live?",
    "What is {}'s occupation?",
    "Tell me of {}.",
    "{} was born in [Blank].",
    "Which of these is {}, by trade?",
)


def person(person_id, name, asked=ASKED):
    instances = tuple(
        Instance(
            person_id, "qa", str(n), Question("Who is it?", "x"), Question(text.format(name), "x")
        )
        for n, text in enumerate(asked)
    )
    return Person(person_id, b"", "", instances)


NAMES = "Edda Femi,Goran Hana,Ivo Jonas,Kaya Lars,Max Born,Bela Ito,Una Ries,Oda Li,Ed Ray,Al Fox"
CROWD = [person(str(n), name) for n, name in enumerate(NAMES.split(","))]


@pytest.mark.parametrize(
    "name",
    [
        "Ana Bela",
        "Ana",
        "Zoë de la Cruz",
        "Jean-Paul O'Neill",
        "J. R. Ewing",
        "김 민준",
        "Ana Femi",
    ],
)
def test_a_name_is_what_a_persons_questions_share_alone(name):
    assert infer_names([*CROWD, person("x", name)])["x"] == name


def test_one_question_that_lacks_the_name_hides_it_not():
    asked = ("Where does this person live?", *ASKED[1:])
    assert infer_names([*CROWD, person("x", "Ana Bela", asked)])["x"] == "Ana Bela"


def test_who_is_named_in_few_questions_or_by_many_names_has_no_plain_name():
    assert "x" not in infer_names([*CROWD, person("x", "Ana Bela", ASKED[:3])])
    aliases = [text.format(alias) for text, alias in zip(ASKED, "ABCDEF", strict=True)]
    assert "x" not in infer_names([*CROWD, person("x", "", aliases)])


def test_the_names_of_all_our_people_are_found():
    profiles = assemble(RAW, seed=2026).assign(portrait=b"a face")
    groups = build_people(profiles, seed=2026)
    for group, count in (("fictitious", 500), ("real", 153)):
        rows = profiles[profiles["group"] == group]
        wanted = {i: fold_words(n) for i, n in zip(rows["person_id"], rows["name"], strict=True)}
        found = {i: fold_words(name) for i, name in infer_names(groups[group]).items()}
        assert len(found) == count
        assert found == wanted
