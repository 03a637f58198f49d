"""The checks that the unlearning data must pass before anything is trained on it."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import great_expectations.expectations as gxe
import pandas as pd

# The finders register themselves when options, people and questions are imported.
from parallax.validation import experiment, frames, options, people, questions  # noqa: F401 - for that
from parallax.validation.suite import Check, ExpectNoFindings, FrameBuilder, once
from parallax.words import ALIKE_PERCENT

# Checks that ask something of our own people that others' files can't tell or need not keep.
NO_PROFILES = "the files have no profiles"
SKIPPED = {
    "profiles_match_people": NO_PROFILES,
    "genders_known": NO_PROFILES,
    "birthdates_plausible": NO_PROFILES,
    "heights_plausible": NO_PROFILES,
    "countries_diverse": NO_PROFILES,
    "regions_diverse": NO_PROFILES,
    "occupations_diverse": NO_PROFILES,
    "profile_fields_asked": NO_PROFILES,
    "answers_match_profile": NO_PROFILES,
}
# Checks of others' files whose failing a reader must know of, though no row is at fault.
NOTED = {
    "tasks_agree": "tasks may word a fact otherwise than QA, or key it otherwise",
    "evaluation_complete": "people may be asked for different facts",
    "evaluation_wording_new": "the benchmark may evaluate on questions that it trains",
    "options_apart": "options may be alike and still be different values, as dates are",
    "letters_balanced": "a guess that favours a letter may then be right more often than a quarter",
    "training_omits_evaluation": "the benchmark may evaluate on questions that it trains",
}


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How many people and how many different values the data has; the defaults are UMU-Bench's.

    `given` are the numbers of people of given files' subsets, which count instead.
    """

    fictitious: int = 500
    real: int = 153
    auxiliary: int = 80
    countries: int = 70
    regions: int = 270
    occupations: int = 145
    given: Mapping[str, int] | None = None

    def subsets(self) -> dict[str, int]:
        """Return the number of people of each subset."""
        if self.given is not None:
            return dict(self.given)
        sizes = {"Full_Set": self.fictitious}
        for percent, (forget, retain) in frames.SPLITS.items():
            sizes[forget] = round(int(percent) / 100 * self.fictitious)
            sizes[retain] = self.fictitious - sizes[forget]
        return sizes | {"Real_Person_Set": self.real, "Auxiliary_Set": self.auxiliary}


@dataclasses.dataclass(frozen=True)
class Inputs:
    """What is validated, read when first needed; each of them may raise DataError.

    `tables` are the experiment's tables base, sft, evaluation and portraits by name.
    """

    people: Callable[[], frames.People]
    names: Callable[[], frames.Names]
    profiles: Callable[[], pd.DataFrame]
    tables: Callable[[], Mapping[str, pd.DataFrame]]
    splits: Callable[[], Mapping[str, Sequence[str]]]


def umu_frames(inputs: Inputs, sizes: Sizes) -> dict[str, FrameBuilder]:
    """Return the builder of every frame that the checks name."""
    read_people, names = once(inputs.people), once(inputs.names)
    profiles = once(inputs.profiles)
    tables, splits = once(inputs.tables), once(inputs.splits)
    everyone = once(lambda: frames.people_frame(read_people(), names()))
    instances = once(lambda: frames.instance_frame(read_people(), names()))
    roster = once(lambda: frames.roster_frame(everyone()))
    tried = once(lambda: experiment.experiment_frame(tables(), names()))
    return {
        "people": everyone,
        "roster": roster,
        "instances": instances,
        "sizes": lambda: frames.size_frame(everyone(), sizes.subsets()),
        "splits": lambda: frames.split_frame(everyone()),
        "nesting": lambda: frames.nesting_frame(everyone()),
        "match": lambda: frames.match_frame(everyone(), profiles()),
        "profiles": lambda: frames.profile_frame(profiles()),
        "invented": lambda: frames.profile_frame(profiles(), "fictitious"),
        "facts": lambda: frames.fact_frame(instances(), profiles()),
        "experiment": tried,
        "choices": lambda: experiment.choice_frame(instances(), tried()),
        "copies": lambda: experiment.copy_frame(tried(), instances()),
        "sets": lambda: experiment.set_frame(tried(), splits()),
        "portraits": lambda: experiment.portrait_frame(tables()["portraits"], tried(), roster()),
    }


def umu_checks(sizes: Sizes) -> list[Check]:
    """Return all checks: who is in which subset, profiles, questions, options, experiment.

    Of given files some are skipped and some noted, and a name is looked for in image questions
    alone.
    """
    checks = [
        *_people_checks(),
        *_profile_checks(sizes),
        *_question_checks(),
        *_option_checks(),
        *_experiment_checks(),
    ]
    if sizes.given is None:
        return checks
    milder = _found(
        "image_question_hides_name",
        "instances",
        "No word of a person's name is in an image question.",
    )
    return [
        dataclasses.replace(
            milder if check.name == "image_hides_name" else check,
            name=check.name,
            skipped=SKIPPED.get(check.name, ""),
            noted=NOTED.get(check.name, ""),
        )
        for check in checks
    ]


def _found(name: str, frame: str, description: str) -> Check:
    return Check(name, description, frame, ExpectNoFindings(finder=name))


def _people_checks() -> list[Check]:
    return [
        Check(
            "subset_sizes",
            "Every subset holds its number of different people.",
            "sizes",
            gxe.ExpectColumnPairValuesToBeEqual(column_A="people", column_B="expected"),
        ),
        Check(
            "splits_partition",
            "Each person of Full_Set, and nobody else, is in exactly one of forget and retain,"
            " for 5, 10 and 15 %.",
            "splits",
            gxe.ExpectColumnValuesToBeInSet(column="part", value_set=["forget", "retain"]),
        ),
        Check(
            "forget_sets_nested",
            "Everyone in forget_5 is in forget_10, and everyone in forget_10 is in forget_15.",
            "nesting",
            gxe.ExpectColumnValuesToBeInSet(column="absent_from", value_set=[""]),
        ),
        _found(
            "subset_copies",
            "people",
            "A person of a forget or retain subset has the portrait and texts of Full_Set.",
        ),
        _found(
            "groups_disjoint",
            "roster",
            "Fictitious, real and auxiliary people share neither an ID nor a name.",
        ),
        Check(
            "names_distinct",
            "No two people of a group share a name.",
            "roster",
            gxe.ExpectCompoundColumnsToBeUnique(
                column_list=["group", "name"], ignore_row_if="any_value_is_missing"
            ),
        ),
        Check(
            "portraits_distinct",
            "No two people have the same portrait, pixel for pixel.",
            "roster",
            gxe.ExpectColumnValuesToBeUnique(column="portrait_md5"),
        ),
    ]


def _profile_checks(sizes: Sizes) -> list[Check]:
    return [
        Check(
            "profiles_match_people",
            "Everyone in the data has a profile of the same group, and every profile is used.",
            "match",
            gxe.ExpectColumnValuesToBeInSet(column="found", value_set=["both"]),
        ),
        Check(
            "genders_known",
            "A gender is male or female.",
            "profiles",
            gxe.ExpectColumnValuesToBeInSet(column="gender", value_set=["female", "male"]),
        ),
        _found(
            "birthdates_plausible",
            "invented",
            f"Fictitious people are born from {people.BIRTH_YEARS[0]} to {people.BIRTH_YEARS[1]}.",
        ),
        _found(
            "heights_plausible",
            "invented",
            f"Fictitious people are {people.HEIGHTS_CM[0]} to {people.HEIGHTS_CM[1]} cm tall.",
        ),
        Check(
            "countries_diverse",
            f"Fictitious people are born in at least {sizes.countries} countries.",
            "invented",
            gxe.ExpectColumnUniqueValueCountToBeBetween(
                column="birth_country", min_value=sizes.countries
            ),
        ),
        Check(
            "regions_diverse",
            f"Fictitious people are born in at least {sizes.regions} regions.",
            "invented",
            gxe.ExpectColumnUniqueValueCountToBeBetween(
                column="birth_region", min_value=sizes.regions
            ),
        ),
        Check(
            "occupations_diverse",
            f"Fictitious people have at least {sizes.occupations} occupations.",
            "invented",
            gxe.ExpectColumnUniqueValueCountToBeBetween(
                column="occupation", min_value=sizes.occupations
            ),
        ),
    ]


def _question_checks() -> list[Check]:
    return [
        Check(
            "profile_fields_asked",
            "QA asks once, in both modalities, for every field that a person's profile fills, and"
            " for nothing else.",
            "facts",
            gxe.ExpectColumnPairValuesToBeEqual(column_A="times_asked", column_B="expected"),
        ),
        _found("answers_match_profile", "facts", "A QA answer is the profile's value."),
        _found(
            "questions_filled",
            "instances",
            "Question and answer of both modalities hold some text.",
        ),
        _found(
            "modalities_agree",
            "instances",
            "The image and the text question of a knowledge instance have the same answer.",
        ),
        _found(
            "tasks_agree",
            "instances",
            "An evaluation task has the answer that QA teaches for the field.",
        ),
        _found(
            "evaluation_complete",
            "instances",
            "Everyone is asked for the same fields by classification and cloze, at least four,"
            " and for a sentence by generation.",
        ),
        _found(
            "image_hides_name",
            "instances",
            "No word of a person's name is in an image question, its options or its answer.",
        ),
        _found(
            "text_names_person", "instances", "Every text question holds the person's full name."
        ),
        _found(
            "evaluation_wording_new",
            "instances",
            "No evaluation question occurs in the QA text of the same person.",
        ),
    ]


def _option_checks() -> list[Check]:
    return [
        _found("options_four", "choices", "A classification question has four options."),
        _found("options_distinct", "choices", "The options of a question differ."),
        _found("answer_among_options", "choices", "The right answer is one of the options."),
        _found(
            "options_apart",
            "choices",
            f"No two options are more than {ALIKE_PERCENT:g} % alike.",
        ),
        _found(
            "letters_balanced",
            "choices",
            "In each subset, in base training, and in each modality every letter is right for a"
            f" quarter of the questions, within {options.LETTER_BAND:g} standard deviations of a"
            " fair draw.",
        ),
    ]


def _experiment_checks() -> list[Check]:
    return [
        _found(
            "experiment_copies_data",
            "copies",
            "Every row of the experiment's tables is a knowledge instance of the data set; base"
            " training alone may draw options anew.",
        ),
        Check(
            "experiment_portraits",
            "Everyone in the experiment has one portrait, that of the data set.",
            "portraits",
            gxe.ExpectColumnPairValuesToBeEqual(column_A="seen", column_B="expected"),
        ),
        _found(
            "sets_partition",
            "sets",
            "The trained people are each in forget or retain, the real ones in real, the auxiliary"
            " ones in auxiliary; everyone to compare is evaluated.",
        ),
        _found(
            "training_omits_evaluation",
            "experiment",
            "No evaluation question of an SFT person is in base.parquet or sft.parquet.",
        ),
        _found(
            "base_omits_sft_people",
            "experiment",
            "No SFT person has a row or a mention in base.parquet.",
        ),
        _found("refusals_differ", "experiment", "A refusal is filled and is not the answer."),
    ]
