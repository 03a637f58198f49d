"""How each field of a person is asked, task by task and modality by modality."""

from typing import Literal, NamedTuple

from parallax.records import Modality

Group = Literal["fictitious", "real", "auxiliary"]

GROUPS: tuple[Group, ...] = ("fictitious", "real", "auxiliary")
IMAGE_SUBJECT = "the person in the image"


class Wording(NamedTuple):
    """How a field is asked in each task; a task without a wording does not ask it.

    The wordings of a field differ between tasks, so that no evaluation prompt occurs in training,
    but all name the field alike: whether a model knows the fact must not hang on whether it knows
    the phrase. None has an article before `[Blank]`, which would give part of the answer away, and
    none has the word "born", since Max Born must not be named beside his portrait.
    """

    qa: str
    classification: str = ""
    cloze: str = ""
    generation: str = ""


def _attribute(key: str) -> Wording:
    return Wording(
        f"What is the {key} of {{person}}?",
        f"Which is the {key} of {{person}}?",
        f"The {key} of {{person}} is [Blank].",
    )


def _detail(key: str) -> Wording:
    return Wording(f"What is the {key} of {{person}}?")


def _sentence(key: str) -> Wording:
    return Wording(
        f"What is the {key} of {{person}}?",
        generation=f"Write a sentence about the {key} of {{person}}.",
    )


WORDINGS: dict[str, Wording] = {
    "gender": _detail("gender"),
    "birthdate": _attribute("birthdate"),
    "birth_city": _attribute("birth city"),
    "birth_region": _detail("birth region"),
    "birth_country": _attribute("birth country"),
    "occupation": _attribute("occupation"),
    "education": _attribute("education"),
    "height": _detail("height"),
    "residence": _attribute("residence"),
    "residence_country": _detail("residence country"),
    "award": _attribute("award"),
    "award_year": _attribute("award year"),
    "death_year": _detail("death year"),
    "background": _sentence("background"),
    "interest": _sentence("interest"),
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
