"""The rows that travel between stages: people, knowledge instances, answers."""

import dataclasses
from typing import Literal

Modality = Literal["image", "text"]
Task = Literal["qa", "classification", "cloze", "generation"]

MODALITIES: tuple[Modality, ...] = ("image", "text")
TASKS: tuple[Task, ...] = ("qa", "classification", "cloze", "generation")
EVALUATION_TASKS: tuple[Task, ...] = ("classification", "cloze", "generation")
LETTERS = ("A", "B", "C", "D")
SETS = ("forget", "retain", "real")
MODELS = ("base", "sft", "retain_only", "unlearned")


@dataclasses.dataclass(frozen=True)
class Question:
    """One modality's half of a knowledge instance.

    `answer` is the answer's text; for a classification it is the text of the right option, and
    `options` holds the four options in the order A to D (empty for the other tasks).
    """

    prompt: str
    answer: str
    options: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Instance:
    """One knowledge instance <image, x_mul, y_mul, x_uni, y_uni> (UMU-Bench, section 3).

    `image` is asked with the portrait and never names the person, `text` has no portrait and names
    the person; both ask `field` of the person `person_id`.
    """

    person_id: str
    task: Task
    field: str
    image: Question
    text: Question


@dataclasses.dataclass(frozen=True)
class Person:
    """A person as in one row of the official files; `portrait` is an encoded image file."""

    person_id: str
    portrait: bytes
    biography: str
    instances: tuple[Instance, ...]
