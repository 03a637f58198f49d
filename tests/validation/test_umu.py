"""A clean data set passes; each planted fault fails its own check alone, and names its row."""

import dataclasses

import pandas as pd
import pytest

from parallax.validation.suite import run_checks
from parallax.validation.umu import NOTED, SKIPPED, umu_checks, umu_frames


def builders(world):
    return umu_frames(world.inputs(), world.sizes)


def evaluate(world):
    return run_checks(umu_checks(world.sizes), builders(world))


def failures(report):
    return {check["name"]: check for check in report["checks"] if not check["success"]}


def asked(person_id, task, field, side, **changes):
    """Return a fault that changes one modality's question of an instance, everywhere."""

    def plant(world):
        world.edit_instance(
            person_id,
            task,
            field,
            lambda item: dataclasses.replace(
                item, **{side: dataclasses.replace(getattr(item, side), **changes)}
            ),
        )
        world.rebuild()

    return plant


def answered(person_id, task, field, answer):
    """Return a fault that changes the answer of both modalities, also among the options."""

    def change(question):
        given = tuple(
            answer if option == question.answer else option for option in question.options
        )
        return dataclasses.replace(question, answer=answer, options=given)

    def plant(world):
        world.edit_instance(
            person_id,
            task,
            field,
            lambda item: dataclasses.replace(
                item, image=change(item.image), text=change(item.text)
            ),
        )
        world.rebuild()

    return plant


def options(person_id, change):
    """Return a fault that changes the options of the image side of `residence`."""

    def plant(world):
        world.edit_instance(
            person_id,
            "classification",
            "residence",
            lambda item: dataclasses.replace(
                item,
                image=dataclasses.replace(
                    item.image, options=tuple(change(list(item.image.options), item.image.answer))
                ),
            ),
        )
        world.rebuild()

    return plant


def profiled(person_id, column, value):
    """Return a fault in a profile that the answers follow."""

    def plant(world):
        world.profiles.loc[world.profiles["person_id"] == person_id, column] = value
        for task in ("qa", "classification", "cloze"):
            answered(person_id, task, column, value)(world)

    return plant


def all_of(*plants):
    def plant(world):
        for each in plants:
            each(world)

    return plant


def wrong_part(options, answer):
    return [option for option in options if option != answer]


def drop_person(world):
    world.people = {
        subset: [person for person in people if person.person_id != "15"]
        for subset, people in world.people.items()
    }
    world.profiles = world.profiles[world.profiles["person_id"] != "15"]


def put_in_both(world):
    first = world.people["forget_5"][0]
    world.people["retain_95"] = [first, *world.people["retain_95"][1:]]


def unnest(world):
    swap = {"1": "20", "20": "1"}
    everyone = {person.person_id: person for person in world.people["Full_Set"]}
    for subset in ("forget_5", "retain_95"):
        world.people[subset] = [
            everyone[swap.get(person.person_id, person.person_id)]
            for person in world.people[subset]
        ]


def alter_copy(world):
    world.edit(
        "2", lambda person: dataclasses.replace(person, biography="Else."), subsets=["forget_10"]
    )


def alter_copied_portrait(world):
    other = world.people["Real_Person_Set"][0].portrait
    world.edit("9", lambda person: dataclasses.replace(person, portrait=other), ["retain_85"])


def rename(person_id, name):
    """Return a fault that gives a person another person's name in profile and questions."""

    def plant(world):
        here = world.profiles["person_id"] == person_id
        old = world.profiles.loc[here, "name"].iloc[0]
        world.profiles.loc[here, "name"] = name

        def edit(person):
            return dataclasses.replace(
                person,
                instances=tuple(
                    dataclasses.replace(
                        item,
                        text=dataclasses.replace(
                            item.text, prompt=item.text.prompt.replace(old, name)
                        ),
                    )
                    for item in person.instances
                ),
            )

        world.edit(person_id, edit)
        world.rebuild()

    return plant


def share_id(world):
    world.edit("24", lambda person: dataclasses.replace(person, person_id="20"))
    world.profiles.loc[world.profiles["person_id"] == "24", "person_id"] = "20"


def share_portrait(world):
    portrait = world.people["Full_Set"][0].portrait
    world.edit("A04", lambda person: dataclasses.replace(person, portrait=portrait))


def forget_profile(world):
    world.profiles = world.profiles[world.profiles["person_id"] != "20"]


def drop_question(world):
    world.edit(
        "7",
        lambda person: dataclasses.replace(
            person,
            instances=tuple(
                item for item in person.instances if (item.task, item.field) != ("qa", "height")
            ),
        ),
    )
    world.rebuild()


def double_person(world):
    world.people["Real_Person_Set"].append(world.people["Real_Person_Set"][3])


def drop_cloze(world):
    world.edit(
        "A02",
        lambda person: dataclasses.replace(
            person,
            instances=tuple(
                item
                for item in person.instances
                if (item.task, item.field) != ("cloze", "residence")
            ),
        ),
    )
    world.rebuild()


def favour_letter(world):
    """Put the right option of every image question first, without changing the options."""

    def first(item):
        if item.task != "classification":
            return item
        given = (item.image.answer, *wrong_part(item.image.options, item.image.answer))
        return dataclasses.replace(item, image=dataclasses.replace(item.image, options=given))

    for person in world.people["Full_Set"]:
        world.edit(
            person.person_id,
            lambda someone: dataclasses.replace(
                someone, instances=tuple(map(first, someone.instances))
            ),
        )
    world.rebuild()


def table_cell(table, row, column, value):
    def plant(world):
        world.tables[table].loc[row, column] = value

    return plant


def swap_portraits(world):
    portraits = world.tables["portraits"]
    portraits.loc[[0, 1], "portrait"] = portraits.loc[[1, 0], "portrait"].to_numpy()


def double_set(world):
    world.splits["retain"].append("1")


def lose_from_sets(world):
    world.splits["real"].remove("22")


def train_on_evaluation(world):
    cloze = world.tables["evaluation"].query("person_id == '5' and task == 'cloze'").iloc[[0]]
    world.tables["sft"] = pd.concat(
        [world.tables["sft"], cloze.assign(refusal="Not known.")], ignore_index=True
    )


def base_on_sft_person(world):
    known = world.tables["sft"].iloc[[0]].drop(columns="refusal")
    world.tables["base"] = pd.concat([world.tables["base"], known], ignore_index=True)


FAULTS = {
    "person missing everywhere": (drop_person, "subset_sizes", "Full_Set: people 19, expected 20"),
    "forgotten and kept": (
        put_in_both,
        "splits_partition",
        "forget_5/retain_95/1: part forget and",
    ),
    "forget sets not nested": (unnest, "forget_sets_nested", "forget_5/20: absent_from forget_10"),
    "copies altered": (
        all_of(alter_copy, alter_copied_portrait),
        "subset_copies",
        "forget_10/2: other texts than in Full_Set",
        "retain_85/9: another portrait than in Full_Set",
    ),
    "ID of two groups": (share_id, "groups_disjoint", "Real_Person_Set/20: ID '20'"),
    "name of two groups": (rename("23", "bjorn rowan"), "groups_disjoint", "Real_Person_Set/23: n"),
    "name twice in a group": (rename("12", "Ivo Yilmaz"), "names_distinct", "Full_Set/12: "),
    "portrait twice": (share_portrait, "portraits_distinct", "Auxiliary_Set/A04: portrait_md5"),
    "profile missing": (forget_profile, "profiles_match_people", "fictitious/20: found data alone"),
    "unknown gender": (profiled("9", "gender", "none"), "genders_known", "profiles/9: gender none"),
    "odd birthdates": (
        all_of(profiled("9", "birthdate", "3 May 2011"), profiled("10", "birthdate", "in 1970")),
        "birthdates_plausible",
        "profiles/9: birthdate '3 May 2011' is outside 1950 to 2010",
        "profiles/10: birthdate 'in 1970' is no date",
    ),
    "odd heights": (
        all_of(profiled("8", "height", "216 cm"), profiled("11", "height", "1.7 m")),
        "heights_plausible",
        "profiles/8: height '216 cm' is outside 120 to 215 cm",
        "profiles/11: height '1.7 m' is not like",
    ),
    "questions missing and doubled": (
        all_of(drop_question, double_person),
        "profile_fields_asked",
        "Full_Set/7/height: times_asked 0, expected 1",
        "Real_Person_Set/24/award: times_asked 2, expected 1",
    ),
    "answer against profile": (
        answered("8", "qa", "birth_region", "Atlantis"),
        "answers_match_profile",
        "Full_Set/8/birth_region: QA answers 'Atlantis'",
    ),
    "empty question": (
        asked("A01", "qa", "height", "image", prompt=" "),
        "questions_filled",
        "Auxiliary_Set/A01/height: qa has no image_prompt",
    ),
    "modalities differ": (
        asked("6", "cloze", "residence", "image", answer="Rome"),
        "modalities_agree",
        "Full_Set/6/residence: cloze answers 'Rome' by image",
    ),
    "tasks differ": (
        answered("6", "cloze", "residence", "Rome"),
        "tasks_agree",
        "Full_Set/6/residence: cloze answers 'Rome', QA",
    ),
    "task missing": (
        drop_cloze,
        "evaluation_complete",
        "Auxiliary_Set/A02/residence: not asked as",
    ),
    "surname by image": (
        asked("3", "qa", "height", "image", prompt="How tall is TÁNAKA, the person in the image?"),
        "image_hides_name",
        "Full_Set/3/height: qa image question has 'tanaka' of Dolores Tanaka",
    ),
    "text without name": (
        asked("21", "cloze", "award", "text", prompt="He received [Blank]."),
        "text_names_person",
        "Real_Person_Set/21/award: cloze text question lacks",
    ),
    "evaluation worded as QA": (
        asked(
            "12", "classification", "birth_city", "image", prompt="what is the BIRTH_CITY of the"
        ),
        "evaluation_wording_new",
        "Full_Set/12/birth_city: classification image question occurs in QA text",
    ),
    "three options": (
        options("10", lambda given, right: [right, *wrong_part(given, right)[:2]]),
        "options_four",
        "Full_Set/10/residence: image question has 3 options",
    ),
    "option twice": (
        options("10", lambda given, right: [right, "Rome", "Rome", "Oslo"]),
        "options_distinct",
        "Full_Set/10/residence: image question offers 'rome' 2 times",
    ),
    "answer no option": (
        options("10", lambda given, right: ["Oslo", *wrong_part(given, right)]),
        "answer_among_options",
        "Full_Set/10/residence: image answer",
    ),
    "options nearly equal": (
        options("10", lambda given, right: [right, "Valparaiso", "Valparaíso 2", "Oslo"]),
        "options_apart",
        "Full_Set/10/residence: image options 'valparaiso' and 'valparaiso 2' are alike",
    ),
    "answers mostly A": (
        favour_letter,
        "letters_balanced",
        "Full_Set/classification/image: A is right in 80 of 80 questions, 20 ± 15 are fair",
    ),
    "table against data": (
        table_cell("sft", 0, "image_prompt", "What is the gender of that person?"),
        "experiment_copies_data",
        "sft/1/gender: qa differs from the data set in image_prompt",
    ),
    "portraits swapped": (swap_portraits, "experiment_portraits", "portraits/1: seen"),
    "sets overlap and lack someone": (
        all_of(double_set, lose_from_sets),
        "sets_partition",
        "splits/1: trained, in set forget and retain",
        "splits/22: known to the base model and evaluated, in set none",
    ),
    "evaluation in training": (
        train_on_evaluation,
        "training_omits_evaluation",
        "sft/5/birthdate: cloze row in sft.parquet",
    ),
    "SFT person in base": (
        base_on_sft_person,
        "base_omits_sft_people",
        "base/1/gender: an SFT pers",
    ),
    "refusals answer or lack": (
        all_of(table_cell("sft", 0, "refusal", "Female."), table_cell("sft", 3, "refusal", " ")),
        "refusals_differ",
        "sft/1/gender: refusal 'Female.' is the answer",
        "sft/1/occupation: no refusal",
    ),
}


def test_the_clean_data_passes_every_check(clean_world):
    report = evaluate(clean_world)
    assert failures(report) == {}
    assert all(check["rows_checked"] > 0 for check in report["checks"])
    assert all(check["description"].endswith(".") for check in report["checks"])


@pytest.fixture(scope="module")
def clean_frames(clean_world):
    return {name: build() for name, build in builders(clean_world).items()}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_fails_its_check_alone_and_names_the_row(world, fault, clean_frames):
    plant, name, *rows = FAULTS[fault]
    plant(world)
    # The checks of a frame that the fault left as it was pass, as they do on the clean data.
    frames = builders(world)
    changed = {name for name, build in frames.items() if not build().equals(clean_frames[name])}
    checks = [check for check in umu_checks(world.sizes) if check.frame in changed]
    failed = failures(run_checks(checks, frames))
    assert list(failed) == [name], {key: check["unexpected"][:3] for key, check in failed.items()}
    assert failed[name]["error"] is None
    for row in rows:
        assert any(entry.startswith(row) for entry in failed[name]["unexpected"]), failed[name]


@pytest.mark.parametrize(
    ("check", "column", "larger"),
    [
        ("countries_diverse", "birth_country", {"countries": 8}),
        ("regions_diverse", "birth_region", {"regions": 21}),
        ("occupations_diverse", "occupation", {"occupations": 21}),
    ],
)
def test_too_few_values_fail_the_check_of_diversity(world, check, column, larger):
    world.sizes = dataclasses.replace(world.sizes, **larger)
    failed = failures(evaluate(world))
    assert list(failed) == [check]
    (least,) = larger.values()
    assert failed[check]["unexpected"] == [f"{column}: {least - 1} (min_value {least})"]


def test_a_missing_profile_column_is_an_error_of_the_checks_that_read_it(world):
    world.profiles = world.profiles.drop(columns="height")
    failed = failures(evaluate(world))
    assert "missing column height" in failed.pop("heights_plausible")["error"]
    # The field is still asked, which the profile no longer backs.
    assert failed.pop("profile_fields_asked")["error"] is None
    assert failed == {}


def test_a_missing_table_column_is_an_error_of_the_check_that_reads_it(world):
    world.tables["sft"] = world.tables["sft"].drop(columns="refusal")
    failed = failures(evaluate(world))
    assert list(failed) == ["refusals_differ"]
    assert failed["refusals_differ"]["error"].startswith("missing column refusal")
    assert failed["refusals_differ"]["unexpected"] == []


def test_the_report_is_the_same_twice(world):
    asked("6", "cloze", "residence", "image", answer="Rome")(world)
    assert evaluate(world) == evaluate(world)


@pytest.fixture
def given(world):
    """The clean data set as if it came from someone else's files, hence without profiles."""
    counts = {subset: len(people) for subset, people in world.people.items()}
    world.sizes = dataclasses.replace(world.sizes, given=counts)
    names = world.names()
    world.names = lambda: names
    world.profiles = pd.DataFrame()
    return world


def test_checks_of_given_files_are_those_of_ours_without_profiles(given, clean_world):
    checks = umu_checks(given.sizes)
    assert [c.name for c in checks] == [c.name for c in umu_checks(clean_world.sizes)]
    assert {check.name for check in checks if check.skipped} == set(SKIPPED)
    assert {check.name for check in checks if check.noted} == set(NOTED)
    report = evaluate(given)
    outcomes = {check["name"]: check["outcome"] for check in report["checks"]}
    assert report["success"] is True
    assert {name for name in outcomes if outcomes[name] == "skipped"} == set(SKIPPED)
    assert {outcomes[name] for name in outcomes if name not in SKIPPED} == {"passed"}


def test_of_given_files_an_answer_may_name_the_person_and_the_question_may_not(given):
    answered("3", "generation", "background", "Dolores Tanaka won.")(given)
    report = evaluate(given)
    assert report["success"] is True
    assert [c["name"] for c in report["checks"] if c["outcome"] == "noted"] == ["tasks_agree"]
    asked("3", "generation", "background", "image", prompt="Tell of Tanaka, a rowan fan.")(given)
    failed = [check for check in evaluate(given)["checks"] if check["outcome"] == "failed"]
    assert [check["name"] for check in failed] == ["image_hides_name"]
    assert "background: generation image question has 'tanaka'" in failed[0]["unexpected"][0]


def test_people_whose_name_is_not_plain_are_no_namesakes(given):
    for group in given.names().values():
        group.clear()
    assert evaluate(given)["checks"][5]["outcome"] == "passed"
