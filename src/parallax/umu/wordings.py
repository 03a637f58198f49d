"""How each field of a person is asked, task by task and modality by modality."""

from typing import Literal, NamedTuple

from parallax.records import Modality

Group = Literal["fictitious", "real", "auxiliary"]

GROUPS: tuple[Group, ...] = ("fictitious", "real", "auxiliary")
IMAGE_SUBJECT = "the person in the image"


class Wording(NamedTuple):
    """How a field is asked in each task; a task without a wording does not ask it.

    The wordings of a field differ between tasks, so that no evaluation prompt occurs in training.
    None has an article before `[Blank]`, which would give part of the answer away, and none has
    the word "born", since Max Born must not be named beside his portrait.
    """

    qa: str
    classification: str = ""
    cloze: str = ""
    generation: str = ""


WORDINGS: dict[str, Wording] = {
    "gender": Wording("What is the gender of {person}?"),
    "birthdate": Wording(
        "What is the birthdate of {person}?",
        "Which date of birth does {person} have?",
        "The date of birth of {person} is [Blank].",
    ),
    "birth_city": Wording(
        "What is the birth city of {person}?",
        "Which city is the birthplace of {person}?",
        "The birthplace of {person} is the city of [Blank].",
    ),
    "birth_region": Wording("What is the birth region of {person}?"),
    "birth_country": Wording(
        "What is the birth country of {person}?",
        "Which country does {person} come from?",
        "{person} comes from the country of [Blank].",
    ),
    "occupation": Wording(
        "What is the occupation of {person}?",
        "Which occupation does {person} have?",
        "{person} is by occupation [Blank].",
    ),
    "education": Wording(
        "What is the education of {person}?",
        "Which education does {person} have?",
        "{person} has this qualification: [Blank].",
    ),
    "height": Wording("What is the height of {person}?"),
    "residence": Wording(
        "What is the residence of {person}?",
        "In which city does {person} live?",
        "{person} lives in the city of [Blank].",
    ),
    "residence_country": Wording("What is the residence country of {person}?"),
    "award": Wording(
        "What is the award of {person}?",
        "Which award did {person} receive?",
        "{person} received this award: [Blank].",
    ),
    "award_year": Wording(
        "What is the award year of {person}?",
        "In which year did {person} receive the award?",
        "{person} received the award in [Blank].",
    ),
    "death_year": Wording("What is the death year of {person}?"),
    "background": Wording(
        "What is the background of {person}?",
        generation="Write a sentence about the background of {person}.",
    ),
    "interest": Wording(
        "What is the interest of {person}?",
        generation="Write a sentence about the interest of {person}.",
    ),
}

_INVENTED = (
    "gender",
    "birthdate",
    "birth_city",
    "birth_region",
    "birth_country",
    "occupation",
    "education",
    "height",
    "residence",
    "residence_country",
    "background",
    "interest",
)
_DOCUMENTED = (
    "gender",
    "birthdate",
    "birth_city",
    "birth_country",
    "occupation",
    "award",
    "award_year",
    "death_year",
    "background",
)
FIELDS: dict[Group, tuple[str, ...]] = {
    "fictitious": _INVENTED,
    "real": _DOCUMENTED,
    "auxiliary": _INVENTED,
}


def ask(wording: str, name: str, modality: Modality) -> str:
    """Return the question: the text modality names the person, the image modality never does."""
    if modality == "text":
        return wording.format(person=name)
    prompt = wording.format(person=IMAGE_SUBJECT)
    return prompt[0].upper() + prompt[1:]
