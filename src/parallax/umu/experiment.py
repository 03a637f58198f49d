"""The experiment: who takes part, and its knowledge instances as tables."""

import dataclasses
import random
from collections.abc import Container, Iterable, Sequence
from pathlib import Path

from parallax.errors import DataError
from parallax.params import Data
from parallax.records import Instance, Person, Question, Task
from parallax.seeding import generator
from parallax.umu.distractors import arrange_options, choose_distractors
from parallax.umu.folders import FULL, REAL
from parallax.umu.official import AUXILIARY, read_ids, read_subset
from parallax.umu.splits import (
    FORGET_SUBSETS,
    RETAIN_SUBSETS,
    choose_people,
    recover_order,
    shuffle_ids,
)

MIN_REFUSALS = 100


@dataclasses.dataclass(frozen=True)
class Experiment:
    """The people of the experiment; of the fictitious, the first are those to forget."""

    fictitious: list[Person]
    real: list[Person]
    auxiliary: list[Person]

    def split(self, forget_people: int) -> dict[str, list[str]]:
        """Return the IDs by set when the first `forget_people` fictitious people are forgotten."""
        fictitious, real, auxiliary = (
            [person.person_id for person in people]
            for people in (self.fictitious, self.real, self.auxiliary)
        )
        return {
            "forget": fictitious[:forget_people],
            "retain": fictitious[forget_people:],
            "real": real,
            "auxiliary": auxiliary,
        }


def select_people(folder: Path, auxiliary_folder: Path, data: Data) -> Experiment:
    """Read the official files in `folder` and the auxiliary set, and choose who takes part.

    Fictitious people follow the subsets of the files (`splits.choose_people`); real people are the
    first of a seeded order, auxiliary people the first of their file. `data.forget_ratio` has no
    part in it.

    Raises:
        DataError: a file is not usable, or a set has fewer people than are asked for.
    """
    everyone = {person.person_id: person for person in read_subset(folder, FULL)}
    subsets = {subset: read_ids(folder, subset) for subset in (*FORGET_SUBSETS, *RETAIN_SUBSETS)}
    order = recover_order(subsets, list(everyone))
    ids = choose_people(order, len(subsets[FORGET_SUBSETS[-1]]), data.people)
    real = {person.person_id: person for person in read_subset(folder, REAL)}
    real_ids = shuffle_ids(list(real), data.seed, "real people")
    auxiliary = read_subset(auxiliary_folder, AUXILIARY) if data.auxiliary_people else []
    for name, asked, present in (
        ("real_people", data.real_people, len(real)),
        ("auxiliary_people", data.auxiliary_people, len(auxiliary)),
    ):
        if asked > present:
            raise DataError(f"data.{name} = {asked}, but the data set has {present}: lower it")
    taken = set(everyone)
    for subset, people in ((REAL, list(real.values())), (AUXILIARY, auxiliary)):
        if shared := sorted({person.person_id for person in people} & taken):
            raise DataError(f"{subset}: ID {shared[0]} is taken by another set: rename it")
        taken |= {person.person_id for person in people}
    return Experiment(
        fictitious=[everyone[person_id] for person_id in ids],
        real=[real[person_id] for person_id in real_ids[: data.real_people]],
        auxiliary=auxiliary[: data.auxiliary_people],
    )


def list_instances(people: Iterable[Person], tasks: Sequence[Task] | None = None) -> list[Instance]:
    """Return the people's instances, of the given tasks or of all, person by person."""
    return [
        instance
        for person in people
        for instance in person.instances
        if tasks is None or instance.task in tasks
    ]


def vary_options(
    instances: Sequence[Instance], source: Container[str], count: int, seed: int
) -> list[Instance]:
    """Return the instances with each classification in `count` variants of its options.

    A model trained from scratch on one fixed list per question remembers the list and never
    learns to choose. The options of every variant stand in a new order; for a person in `source`
    the wrong ones are drawn anew from the answers of the others there.
    """
    pools: dict[str, list[str]] = {}
    for instance in instances:
        if instance.task == "classification" and instance.person_id in source:
            pools.setdefault(instance.field, []).append(instance.image.answer)
    varied: list[Instance] = []
    for instance in instances:
        if instance.task != "classification":
            varied.append(instance)
            continue
        rng = generator(seed, "options", instance.person_id, instance.field)
        pool = pools[instance.field] if instance.person_id in source else None
        varied.extend(
            dataclasses.replace(
                instance,
                image=_vary(instance.image, instance.field, pool, rng),
                text=_vary(instance.text, instance.field, pool, rng),
            )
            for _ in range(count)
        )
    return varied


def _vary(
    question: Question, field: str, pool: Sequence[str] | None, rng: random.Random
) -> Question:
    wrong: Sequence[str] = [option for option in question.options if option != question.answer]
    if pool is not None:
        wrong = choose_distractors(field, question.answer, pool, rng)
    options = arrange_options(question.answer, wrong, rng.randrange(4), rng)
    return dataclasses.replace(question, options=options)


def choose_refusals(instances: Sequence[Instance], refusals: Sequence[str], seed: int) -> list[str]:
    """Return a refusal for each instance, fixed by person, field and seed; it has no modality."""
    return [
        generator(seed, "refusal", instance.person_id, instance.field).choice(refusals)
        for instance in instances
    ]
