import collections
import re

import pytest

from parallax.errors import DataError
from parallax.prompts import render_question
from parallax.records import LETTERS, Question
from parallax.seeding import generator
from parallax.umu.distractors import (
    arrange_options,
    balance_positions,
    choose_distractors,
    is_alike,
)
from parallax.umu.questions import build_people
from parallax.umu.wordings import FIELDS, WORDINGS, ask

EVALUATED = ["birthdate", "birth_city", "birth_country", "occupation", "education", "residence"]
DOCUMENTED = ["birthdate", "birth_city", "birth_country", "occupation", "award", "award_year"]


@pytest.fixture(scope="module")
def groups(profiles):
    return build_people(profiles, seed=7)


def instances_of(groups, *names):
    return [i for name in names for person in groups[name] for i in person.instances]


def test_questions_of_one_person(groups):
    ana = groups["fictitious"][0]
    found = {(i.task, i.field): i for i in ana.instances}
    qa = found["qa", "occupation"]
    assert qa.text == Question("What is the occupation of Ana Fictitiousson0?", "nurse")
    assert qa.image == Question("What is the occupation of the person in the image?", "nurse")
    cloze = found["cloze", "birth_city"]
    assert cloze.text.prompt == "The birth city of Ana Fictitiousson0 is [Blank]."
    assert cloze.image.prompt == "The birth city of the person in the image is [Blank]."
    cloze = found["cloze", "birth_country"]
    assert cloze.text.prompt == "The birth country of Ana Fictitiousson0 is [Blank]."
    assert cloze.image.prompt == "The birth country of the person in the image is [Blank]."
    generation = found["generation", "background"]
    sentence = "Grew up in a mill near Lyon, and it wasn't easy."
    assert generation.text.answer == found["qa", "background"].text.answer == sentence
    assert generation.image.answer == sentence
    assert ana.biography.startswith("Ana Fictitiousson0. Gender: male. Birthdate: 1 May 1950.")
    assert sentence in ana.biography


def test_every_person_is_asked_every_field(groups):
    for person in groups["fictitious"] + groups["auxiliary"]:
        asked = collections.defaultdict(list)
        for instance in person.instances:
            asked[instance.task].append(instance.field)
        assert asked["qa"] == list(FIELDS["fictitious"])
        assert len(asked["qa"]) == 12
        assert asked["classification"] == asked["cloze"] == EVALUATED
        assert asked["generation"] == ["background", "interest"]


def test_real_people_are_asked_the_facts_they_have(groups):
    for index, person in enumerate(groups["real"]):
        by_task = collections.defaultdict(list)
        for instance in person.instances:
            by_task[instance.task].append(instance.field)
        # Hand-made people with an odd index have no year of death.
        assert ("death_year" in by_task["qa"]) == (index % 2 == 0)
        assert by_task["classification"] == by_task["cloze"] == DOCUMENTED
        assert by_task["generation"] == ["background"]


def test_modalities_have_the_same_answer_and_only_text_names_the_person(profiles, groups):
    names = dict(zip(profiles["person_id"], profiles["name"], strict=True))
    for instance in instances_of(groups, *groups):
        name = names[instance.person_id]
        assert instance.image.answer == instance.text.answer
        assert name in instance.text.prompt
        assert not set(name.split()) & set(re.findall(r"\w+", instance.image.prompt))
        assert "person in the image" in instance.image.prompt


def test_no_evaluation_prompt_occurs_in_training_text(groups):
    for person in groups["fictitious"]:
        for modality in ("image", "text"):
            halves = [(i.task, getattr(i, modality)) for i in person.instances]
            taught = "\n".join(f"{q.prompt}\n{q.answer}" for task, q in halves if task == "qa")
            for task, question in halves:
                assert (question.prompt in taught) == (task == "qa")


def test_wordings_of_all_tasks_and_fields_differ():
    wordings = [text for wording in WORDINGS.values() for text in wording if text]
    assert len(set(wordings)) == len(wordings)
    assert all(text.count("{person}") == 1 for text in wordings)
    assert all(w.cloze.count("[Blank]") == bool(w.cloze) for w in WORDINGS.values())
    assert not any(re.search(r"\ban? \[Blank\]", w.cloze) for w in WORDINGS.values())


def test_no_laureate_is_named_by_the_wording():
    assert not any("born" in text.casefold() for wording in WORDINGS.values() for text in wording)


def test_wrong_occupations_of_real_people_come_from_another_field(profiles):
    kinds = {
        "Nobel Prize in Physics": ["physicist", "engineer"],
        "Nobel Prize in Chemistry": ["chemist", "crystallographer"],
        "Nobel Prize in Literature": ["novelist", "poet"],
        "Nobel Peace Prize": ["politician", "nun"],
        "Nobel Memorial Prize in Economic Sciences": ["economist", "mathematician"],
    }
    real = profiles[profiles["group"] == "real"].copy()
    pairs = [(award, job) for award, jobs in kinds.items() for job in jobs]
    real["award"], real["occupation"] = zip(*(pairs[i % 10] for i in range(12)), strict=True)
    for person in build_people(real, seed=1)["real"]:
        (asked,) = (
            i for i in person.instances if (i.task, i.field) == ("classification", "occupation")
        )
        (own,) = (jobs for jobs in kinds.values() if asked.text.answer in jobs)
        assert set(own) & set(asked.text.options) == {asked.text.answer}
        if own in (kinds["Nobel Prize in Physics"], kinds["Nobel Prize in Chemistry"]):
            sciences = kinds["Nobel Prize in Physics"] + kinds["Nobel Prize in Chemistry"]
            assert set(sciences) & set(asked.text.options) == {asked.text.answer}


def test_name_is_taken_literally():
    assert ask("Who is {person}?", "{person} O'Neil", "text") == "Who is {person} O'Neil?"


@pytest.mark.parametrize("modality", ["image", "text"])
def test_options_are_four_distinct_values_of_the_field(groups, modality):
    for name in groups:
        values = collections.defaultdict(set)
        for instance in instances_of(groups, name):
            values[instance.field].add(instance.text.answer)
        for instance in instances_of(groups, name):
            question = getattr(instance, modality)
            if instance.task != "classification":
                assert question.options == ()
                continue
            assert len(question.options) == 4
            assert question.answer in question.options
            assert set(question.options) <= values[instance.field]
            for i, first in enumerate(question.options):
                for second in question.options[i + 1 :]:
                    assert not is_alike(instance.field, first, second)


def test_answer_positions_are_balanced(groups):
    counts = collections.defaultdict(collections.Counter)
    for name in groups:
        for instance in instances_of(groups, name):
            if instance.task == "classification":
                for modality in ("image", "text"):
                    question = getattr(instance, modality)
                    position = question.options.index(question.answer)
                    counts[name, instance.field, modality][position] += 1
    assert len(counts) == 3 * 6 * 2
    for positions in counts.values():
        numbers = [positions[position] for position in range(4)]
        assert max(numbers) - min(numbers) <= 1


def test_modalities_share_options_but_not_their_order(groups):
    pairs = [
        (i.image.options, i.text.options)
        for i in instances_of(groups, *groups)
        if i.task == "classification"
    ]
    assert all(set(image) == set(text) for image, text in pairs)
    # Two independent orders of four agree in 1 of 24 cases.
    same = sum(image == text for image, text in pairs)
    assert same < 3 * len(pairs) / 24


def test_questions_depend_on_the_seed_and_not_on_the_row_order(profiles, groups):
    shuffled = profiles.sample(frac=1, random_state=3)
    assert build_people(shuffled, seed=7) == groups
    assert build_people(profiles, seed=8) != groups
    assert [p.person_id for p in groups["fictitious"][:11]] == [str(i) for i in range(1, 12)]


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("name", "", "ID 1: no name"),
        ("occupation", " ", "ID 1: no occupation"),
        ("interest", None, "ID 1: no interest"),
        ("residence", float("nan"), "ID 1: no residence"),
        ("birth_city", "Lyon ", "ID 1, birth_city 'Lyon ': remove the blanks"),
        ("portrait", b"", "ID 1: no portrait"),
        ("group", "imaginary", "group 'imaginary'"),
        ("person_id", "2", "person_id '2'"),
        ("person_id", 1, "person_id 1"),
    ],
)
def test_bad_profile_is_refused(profiles, column, value, message):
    broken = profiles.astype(object)
    broken.at[0, column] = value
    with pytest.raises(DataError, match=message):
        build_people(broken, seed=7)


def test_missing_profile_column_is_refused(profiles):
    with pytest.raises(DataError, match="no column award, height"):
        build_people(profiles.drop(columns=["height", "award"]), seed=7)


def test_field_with_too_few_values_is_refused(profiles):
    with pytest.raises(DataError, match=r"ID 1, field occupation: only 0 values .*'nurse'"):
        build_people(profiles.assign(occupation="nurse"), seed=7)


@pytest.mark.parametrize(
    ("field", "first", "second", "alike"),
    [
        ("birth_city", "York", "New York", True),
        ("birth_city", "MALMÖ", "malmo", True),
        ("birth_city", "Frankfurt am Main", "Frankfurt an der Oder", True),
        ("birth_city", "San José", "San Juan", False),
        ("birth_city", "Port Louis", "Port Moresby", True),
        # Indel ratio: 2 x common characters in order / all characters, percent, with the blank
        # that folding puts at either end.
        ("birth_country", "Austria", "Australia", True),  # 2 x 9 / 20 = 90
        ("birth_country", "North Korea", "South Korea", False),  # 2 x 11 / 26 = 84.6
        ("birth_country", "Oman", "Romania", True),
        ("education", "Bachelor's degree in Law", "Bachelor's degree in Music", True),  # 86.8
        ("occupation", "engineer", "civil engineer", True),
        ("occupation", "nurse", "nurse", True),
        ("occupation", "nurse", "judge", False),
        ("birthdate", "14 March 1974", "2 October 1974", True),
        ("birthdate", "14 March 1974", "2 October 1983", False),
        ("award_year", "1974", "1975", False),  # 2 x 5 / 12 = 83.3
    ],
)
def test_alike(field, first, second, alike):
    assert is_alike(field, first, second) is alike
    assert is_alike(field, second, first) is alike


def test_distractors_follow_the_pool():
    pool = ["nurse", "Nurse", "head nurse", "baker", "pilot", "judge"]
    drawn = choose_distractors("occupation", "nurse", pool, generator(1))
    assert sorted(drawn) == ["baker", "judge", "pilot"]
    with pytest.raises(DataError, match="only 2 values can stand beside 'nurse'"):
        choose_distractors("occupation", "nurse", pool[:5], generator(1))


def test_positions_and_arrangement():
    positions = balance_positions(10, generator(5))
    assert sorted(collections.Counter(positions).values()) == [2, 2, 3, 3]
    for position in range(4):
        options = arrange_options("x", ["a", "b", "c"], position, generator(5))
        assert options[position] == "x"
        assert sorted(options) == ["a", "b", "c", "x"]


def test_rendered_question():
    question = Question("Which one?", "blue", ("red", "blue", "grey", "pink"))
    assert render_question(question, "classification") == (
        "Which one?\nA. red\nB. blue\nC. grey\nD. pink"
    )
    assert render_question(Question("Which one?", "blue"), "qa") == "Which one?"
    assert len(LETTERS) == 4
