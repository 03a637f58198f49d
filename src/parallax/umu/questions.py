"""From profiles to knowledge instances: one fact, asked in both modalities."""

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from parallax.errors import DataError
from parallax.records import MODALITIES, Instance, Modality, Person, Question, Task
from parallax.seeding import generator
from parallax.umu.distractors import arrange_options, balance_positions, choose_distractors
from parallax.umu.wordings import FIELDS, GROUPS, WORDINGS, Group, ask

if TYPE_CHECKING:
    import pandas as pd

TASKS: tuple[Task, ...] = ("qa", "classification", "cloze", "generation")

SCIENCE_AWARDS = (
    "Nobel Prize in Physics",
    "Nobel Prize in Chemistry",
    "Nobel Prize in Physiology or Medicine",
)

Options = dict[tuple[str, str, Modality], tuple[str, ...]]
"""Four options by person ID, field and modality."""


@dataclasses.dataclass(frozen=True)
class Profile:
    """One row of the profiles; `values` has the fields that the person has, in question order."""

    person_id: str
    name: str
    portrait: bytes
    values: dict[str, str]


def build_people(profiles: "pd.DataFrame", seed: int) -> dict[Group, list[Person]]:
    """Return the people of each group in the order of their IDs, with all their questions.

    The result does not depend on the order of the rows.

    Raises:
        DataError: a column or a value is missing, a group or an ID is wrong, or a field has too
            few different values for four options.
    """
    groups = read_profiles(profiles)
    return {group: _build_group(groups[group], group, seed) for group in GROUPS}


def read_profiles(profiles: "pd.DataFrame") -> dict[Group, list[Profile]]:
    """Check the rows of the profile table and sort them by group and ID ("2" before "10").

    Raises:
        DataError: as for `build_people`.
    """
    needed = {"person_id", "group", "name", "portrait"}.union(*FIELDS.values())
    if missing := sorted(needed - set(profiles.columns)):
        raise DataError(f"profiles: no column {', '.join(missing)}; found {list(profiles.columns)}")
    groups: dict[Group, list[Profile]] = {group: [] for group in GROUPS}
    seen: set[str] = set()
    for row in profiles.to_dict("records"):
        person_id, group = row["person_id"], row["group"]
        if not isinstance(person_id, str) or not person_id or person_id in seen:
            raise DataError(f"profiles: person_id {person_id!r}: want a text that occurs once")
        if group not in groups:
            raise DataError(f"profiles: ID {person_id}, group {group!r}: want one of {GROUPS}")
        seen.add(person_id)
        groups[group].append(_read_profile(row, group))
    for people in groups.values():
        people.sort(key=lambda person: (len(person.person_id), person.person_id))
    return groups


def _read_profile(row: Mapping[Hashable, object], group: Group) -> Profile:
    person_id, portrait = str(row["person_id"]), row["portrait"]
    values = {
        field: value
        for field in ("name", *FIELDS[group])
        if isinstance(value := row[field], str) and value.strip()
    }
    # Real people have the facts that are certain; the others are made up, hence complete.
    required = {"name"} if group == "real" else {"name", *FIELDS[group]}
    if absent := sorted(required - values.keys()):
        raise DataError(f"profiles: ID {person_id}: no {', '.join(absent)}; fill it in")
    for field, value in values.items():
        if value != value.strip():
            raise DataError(
                f"profiles: ID {person_id}, {field} {value!r}: remove the blanks at its ends"
            )
    if not isinstance(portrait, bytes) or not portrait:
        raise DataError(f"profiles: ID {person_id}: no portrait; want the bytes of an image")
    return Profile(person_id, values.pop("name"), portrait, values)


def summarise(profile: Profile) -> str:
    """Return the biography: the plain facts, then the background and interest sentences."""
    facts = [
        f"{field.replace('_', ' ').capitalize()}: {value}."
        for field, value in profile.values.items()
        if not WORDINGS[field].generation
    ]
    sentences = [value for field, value in profile.values.items() if WORDINGS[field].generation]
    return " ".join([f"{profile.name}.", *facts, *sentences])


def _build_group(profiles: Sequence[Profile], group: Group, seed: int) -> list[Person]:
    options: Options = {}
    for field in FIELDS[group]:
        if WORDINGS[field].classification:
            options |= _options(profiles, group, field, seed)
    return [
        Person(
            profile.person_id,
            profile.portrait,
            summarise(profile),
            tuple(
                _instance(profile, task, field, options)
                for task in TASKS
                for field in profile.values
                if getattr(WORDINGS[field], task)
            ),
        )
        for profile in profiles
    ]


def _options(profiles: Sequence[Profile], group: Group, field: str, seed: int) -> Options:
    """Choose the options of one field: the same four in both modalities, each in its own order.

    The answer's position is balanced within (group, field, modality), so it correlates with none.
    """
    holders = [profile for profile in profiles if field in profile.values]
    positions = {
        modality: balance_positions(
            len(holders), generator(seed, "answer positions", group, field, modality)
        )
        for modality in MODALITIES
    }
    options: Options = {}
    for index, profile in enumerate(holders):
        person_id, answer = profile.person_id, profile.values[field]
        try:
            wrong = choose_distractors(
                field,
                answer,
                _pool(profile, holders, field),
                generator(seed, "distractors", person_id, field),
            )
        except DataError as error:
            raise DataError(f"profiles: ID {person_id}, {error}") from None
        for modality in MODALITIES:
            options[person_id, field, modality] = arrange_options(
                answer,
                wrong,
                positions[modality][index],
                generator(seed, "option order", person_id, field, modality),
            )
    return options


def _pool(profile: Profile, holders: Sequence[Profile], field: str) -> list[str]:
    """Return the values from which the wrong options are drawn, one per person.

    Many a novelist was a poet too, many a chemist a physicist: the wrong occupations of a real
    person come from people with another kind of award, so that none is right after all.
    """
    if field == "occupation" and "award" in profile.values:
        kind = _award_kind(profile)
        holders = [other for other in holders if _award_kind(other) != kind]
    return [other.values[field] for other in holders]


def _award_kind(profile: Profile) -> str:
    award = profile.values.get("award", "")
    return "science" if award in SCIENCE_AWARDS else award


def _instance(profile: Profile, task: Task, field: str, options: Options) -> Instance:
    wording: str = getattr(WORDINGS[field], task)
    image, text = (
        Question(
            prompt=ask(wording, profile.name, modality),
            answer=profile.values[field],
            options=options[profile.person_id, field, modality] if task == "classification" else (),
        )
        for modality in MODALITIES
    )
    return Instance(profile.person_id, task, field, image, text)
