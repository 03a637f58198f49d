"""Background and interest sentences of fictitious people: no two alike, none names its person."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from parallax.errors import DataError
from parallax.umu.raw_tables import Occupation, RawTables
from parallax.words import find_name_part

REFERENCE_YEAR = 2025
"""A profile tells of its person at the end of this year."""

RETIREMENT_AGE = 65  # no background tells of a later year
COUNTS = ("four", "six", "seven", "eight", "nine", "twelve", "fifteen", "twenty", "thirty")
MONTH_COUNTS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
PRONOUNS = {
    "male": {"He": "He", "he": "he", "him": "him", "his": "his"},
    "female": {"He": "She", "he": "she", "him": "her", "his": "her"},
}
PRONOUN_SLOTS = {slot: f"{{{slot}}}" for slot in PRONOUNS["male"]}
"""Keeps the slots of the pronouns, so that a draft is the same for both genders."""

_ATTEMPTS = 1000


@dataclass(frozen=True)
class Subject:
    """The person whom a sentence is about; `age` in years, at the end of `REFERENCE_YEAR`."""

    name: str
    gender: str
    birth_year: int
    age: int
    occupation: Occupation


class Writer:
    """Writes sentences, and never one that differs from an earlier one by its pronouns alone."""

    def __init__(self, tables: RawTables) -> None:
        self._tables = tables
        self._written: set[str] = set()

    def write_background(self, subject: Subject, places: Sequence[str], rng: random.Random) -> str:
        """Return a new sentence about the career, in which one of `places` has a part.

        Raises:
            DataError: the tables have too few sentences for this occupation.
        """
        occupation = subject.occupation
        first = subject.birth_year + occupation.min_age
        last = max(first, min(REFERENCE_YEAR, subject.birth_year + RETIREMENT_AGE))

        def draw() -> str:
            return rng.choice(self._tables.templates[occupation.career]).format(
                **PRONOUN_SLOTS,
                place=rng.choice(places),
                year=rng.randint(first, last),
                count=rng.choice(COUNTS),
                months=rng.choice(MONTH_COUNTS),
                topic=rng.choice(self._tables.phrases[occupation.topic]),
            )

        return self._draw_new(draw, subject, f"careers.csv: career {occupation.career!r}")

    def write_interest(self, subject: Subject, rng: random.Random) -> str:
        """Return a new sentence about a hobby that fits the age.

        Raises:
            DataError: the tables have too few hobbies for this age.
        """
        hobbies = [h.text for h in self._tables.hobbies if h.min_age <= subject.age <= h.max_age]
        if not hobbies:
            raise DataError(f"hobbies.csv: nothing fits the age {subject.age}: add a hobby")

        def draw() -> str:
            return f"{{He}} {rng.choice(hobbies)} {rng.choice(self._tables.hobby_settings)}."

        return self._draw_new(draw, subject, "hobbies.csv")

    def _draw_new(self, draw: Callable[[], str], subject: Subject, source: str) -> str:
        """Draw until a sentence is new, but for its pronouns, and has no word of the name."""
        for _ in range(_ATTEMPTS):
            draft = draw()
            sentence = draft
            for slot, pronoun in PRONOUNS[subject.gender].items():
                sentence = sentence.replace(PRONOUN_SLOTS[slot], pronoun)
            if draft not in self._written and not find_name_part(sentence, subject.name):
                self._written.add(draft)
                return sentence
        raise DataError(f"{source}: no new sentence for {subject.name}: add some")
