"""Faults that a readable file may still have: what is asked, of whom, and with which answer."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from parallax.pixels import pixel_digest
from parallax.records import MODALITIES, Instance, Modality, Person, Task
from parallax.umu.flaws import Flaw
from parallax.words import contains_words, find_spelt_part, fold_words

ColumnOf = Callable[[Task, Modality | None], str]
"""The column of a task's questions in one modality, or of both in None."""


def find_flaws(
    groups: Mapping[str, Sequence[Person]], names: Mapping[str, Mapping[str, str]], column: ColumnOf
) -> list[Flaw]:
    """Return the flaws of readable people, who come by subset, as do their names by ID.

    Of people: no QA question; the name or the portrait of someone before. Of questions: modalities
    that answer differently; an option given twice; a name in an image question, or none in a text
    question; a question asked twice, in the same words in any order.
    """
    flaws = []
    owners: dict[tuple[str, str], str] = {}
    for subset, people in groups.items():
        for person in people:
            name = names[subset].get(person.person_id)
            if flaw := _find_double(subset, person, name, owners):
                flaws.append(flaw)
            if not any(instance.task == "qa" for instance in person.instances):
                where, why = column("qa", None), "no question to learn from"
                flaws.append(Flaw(subset, person.person_id, where, why))
            for instance in person.instances:
                if fault := _find_in_instance(instance, name):
                    modality, reason = fault
                    where = column(instance.task, modality)
                    flaws.append(_of_question(subset, instance, where, reason))
            for instance, modality, reason in _find_repeated(person):
                where = column(instance.task, modality)
                flaws.append(_of_question(subset, instance, where, reason))
    return flaws


def _of_question(subset: str, instance: Instance, column: str, reason: str) -> Flaw:
    reason = f"question {instance.field!r}: {reason}"
    return Flaw(subset, instance.person_id, column, reason, instance.task, instance.field)


def _find_double(
    subset: str, person: Person, name: str | None, owners: dict[tuple[str, str], str]
) -> Flaw | None:
    """Note whose name and portrait these are; the first bearer keeps them."""
    here = f"{subset}, ID {person.person_id}"
    identities = {"image": ("portrait", pixel_digest(person.portrait))}
    if name is not None:
        identities["questions"] = ("name", fold_words(name).strip())
    for column, (kind, value) in identities.items():
        owner = owners.setdefault((kind, value), here)
        if owner != here:
            shown = f" {name!r}" if kind == "name" else ""
            return Flaw(subset, person.person_id, column, f"the {kind}{shown} of {owner}")
    return None


def _find_in_instance(instance: Instance, name: str | None) -> tuple[Modality | None, str] | None:
    """Return the first fault of an instance and the modality that has it, None for both."""
    image, text = instance.image, instance.text
    if image.answer != text.answer:
        return None, f"answers {image.answer!r} by image, {text.answer!r} by text"
    for modality in MODALITIES:
        question = image if modality == "image" else text
        counts = Counter(map(fold_words, question.options))
        if repeated := next((o for o in question.options if counts[fold_words(o)] > 1), None):
            return modality, f"offers {repeated!r} {counts[fold_words(repeated)]} times"
    if name is None:
        return None
    if part := find_spelt_part(image.prompt, name):
        return "image", f"the image question has {part!r} of {name}"
    if not contains_words(text.prompt, name):
        return "text", f"the text question lacks {name}"
    return None


def _find_repeated(person: Person) -> Iterator[tuple[Instance, Modality, str]]:
    """Yield the instances that ask what one before of the same task asks in the same words.

    Where the two answer differently, none of them can be trusted, and the first one comes too.
    """
    told: set[tuple[Task, str]] = set()
    for modality in MODALITIES:
        first: dict[tuple[Task, tuple[str, ...]], Instance] = {}
        for instance in person.instances:
            prompt = instance.image.prompt if modality == "image" else instance.text.prompt
            words = tuple(sorted(fold_words(prompt).split()))
            before = first.setdefault((instance.task, words), instance)
            if before is instance:
                continue
            pairs = [(instance, before)]
            if before.text.answer != instance.text.answer:
                pairs.insert(0, (before, instance))
            for this, other in pairs:
                if (this.task, this.field) not in told:
                    told.add((this.task, this.field))
                    yield this, modality, f"asked in the words of question {other.field!r}"
