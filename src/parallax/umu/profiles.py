"""Fictitious people: who they are is drawn from the raw tables and a seed alone."""

import datetime
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from parallax.errors import DataError
from parallax.seeding import generator
from parallax.umu.raw_tables import GENDERS, Country, Occupation, RawTables, Region
from parallax.umu.real_people import MONTHS
from parallax.umu.sentences import REFERENCE_YEAR, Subject, Writer
from parallax.words import fold_words

T = TypeVar("T")

FICTITIOUS = 500
AUXILIARY = 80
BIRTH_YEARS = range(1950, 2011)
ADULT_AGE = 18
HEIGHT_SPREAD_CM = {"male": 6.5, "female": 6.0}  # standard deviation
HEIGHT_REACH = 2.3  # standard deviations from the mean at most
GROWTH_LEFT_CM = {"male": 3, "female": 1}  # of somebody under ADULT_AGE, on average
STAY_SHARE = 0.3  # of people who live in their birth city
ABROAD_SHARE = 0.35  # of the other adults, who live in another country
MINORS_ABROAD_SHARE = 0.1


@dataclass(frozen=True)
class Profile:
    """A fictitious person; the fields from `gender` on are asked in this order."""

    person_id: str
    group: str
    name: str
    gender: str
    birthdate: str
    birth_city: str
    birth_region: str
    birth_country: str
    occupation: str
    education: str
    height: str
    residence: str
    residence_country: str
    background: str
    interest: str


@dataclass(frozen=True)
class _Sketch:
    """What is decided for all people of a group together."""

    person_id: str
    group: str
    gender: str
    birth_year: int
    region: Region
    occupation: Occupation

    @property
    def age(self) -> int:
        return REFERENCE_YEAR - self.birth_year


def generate_profiles(
    tables: RawTables, seed: int, auxiliary: int = AUXILIARY, taken_names: Collection[str] = ()
) -> list[Profile]:
    """Return the fictitious people "1" to "500", then the auxiliary people "A01" and on.

    The fictitious people are born in every region and have every occupation of the tables; they
    are the same whatever `auxiliary` is. No two people share a surname, a background or an
    interest, and no surname is a word of `taken_names`.

    Raises:
        DataError: the tables cannot provide so many different people.
    """
    taken = {word for name in taken_names for word in fold_words(name).split()}
    writer = Writer(tables)
    groups = (
        ("fictitious", [str(number) for number in range(1, FICTITIOUS + 1)]),
        ("auxiliary", [f"A{number:02d}" for number in range(1, auxiliary + 1)]),
    )
    return [
        _complete(sketch, tables, generator(seed, "profile", sketch.person_id), taken, writer)
        for group, ids in groups
        for sketch in _sketch_group(tables, group, ids, generator(seed, "profiles", group))
    ]


def spread(items: Sequence[T], count: int, rng: random.Random) -> list[T]:
    """Return `count` items in random order; how often two items occur differs by 1 at most."""
    rest = rng.sample(items, count % len(items))
    chosen = [*items] * (count // len(items)) + rest
    rng.shuffle(chosen)
    return chosen


def assign_occupations(
    ages: Sequence[int], occupations: Sequence[Occupation], rng: random.Random
) -> list[Occupation]:
    """Return an occupation for each age (years) that fits it, and every occupation if it can.

    The occupations with the fewest people of a fitting age choose first, one person each; then
    everybody without an occupation draws one.

    Raises:
        DataError: no occupation fits an age, or there are as many people as occupations and yet
            an occupation is left without a person.
    """
    fitting = {o.name: [i for i, age in enumerate(ages) if _fits(o, age)] for o in occupations}
    assigned: dict[int, Occupation] = {}
    if len(ages) >= len(occupations):
        for occupation in sorted(occupations, key=lambda o: (len(fitting[o.name]), o.name)):
            free = [index for index in fitting[occupation.name] if index not in assigned]
            if not free:
                raise DataError(
                    f"occupations.csv: {occupation.name!r} is left without a person aged"
                    f" {occupation.min_age} to {occupation.max_age}: widen its ages"
                )
            assigned[rng.choice(free)] = occupation
    for index, age in enumerate(ages):
        if index not in assigned:
            choices = [occupation for occupation in occupations if _fits(occupation, age)]
            if not choices:
                raise DataError(f"occupations.csv: nothing fits the age {age}: add an occupation")
            assigned[index] = rng.choice(choices)
    return [assigned[index] for index in range(len(ages))]


def _fits(occupation: Occupation, age: int) -> bool:
    return occupation.min_age <= age <= occupation.max_age


def _sketch_group(
    tables: RawTables, group: str, ids: Sequence[str], rng: random.Random
) -> list[_Sketch]:
    regions = spread(tables.regions, len(ids), rng)
    years = spread(BIRTH_YEARS, len(ids), rng)
    genders = spread(GENDERS, len(ids), rng)
    ages = [REFERENCE_YEAR - year for year in years]
    occupations = assign_occupations(ages, tables.occupations, rng)
    return [
        _Sketch(person_id, group, gender, year, region, occupation)
        for person_id, gender, year, region, occupation in zip(
            ids, genders, years, regions, occupations, strict=True
        )
    ]


def _complete(
    sketch: _Sketch, tables: RawTables, rng: random.Random, taken: set[str], writer: Writer
) -> Profile:
    """Draw the rest of a profile, and add its surname to `taken`."""
    country = tables.countries[sketch.region.country]
    city = rng.choice(sketch.region.cities)
    residence, residence_country = _draw_residence(sketch.age, city, country, tables, rng)
    # An image question must not give the name away, and its answer may be any of these.
    values = (city, sketch.region.name, country.name, residence, residence_country)
    name = _draw_name(sketch, tables, rng, taken, values)
    places = [
        place
        for home in dict.fromkeys((country.name, residence_country))
        for place in _cities(tables, home)
        if place not in (city, residence)
    ]
    subject = Subject(name, sketch.gender, sketch.birth_year, sketch.age, sketch.occupation)
    return Profile(
        sketch.person_id,
        sketch.group,
        name,
        sketch.gender,
        draw_birthdate(sketch.birth_year, rng),
        city,
        sketch.region.name,
        country.name,
        sketch.occupation.name,
        rng.choice(sketch.occupation.educations_at(sketch.age)),
        f"{draw_height(sketch.gender, sketch.age, country, rng)} cm",
        residence,
        residence_country,
        writer.write_background(subject, places, rng),
        writer.write_interest(subject, rng),
    )


def _draw_name(
    sketch: _Sketch,
    tables: RawTables,
    rng: random.Random,
    taken: set[str],
    values: Sequence[str],
) -> str:
    """Draw a name no part of which is a word of `values`."""
    culture = sketch.region.name_culture
    used = set(fold_words(" ".join(values)).split())
    unfit = taken | used
    free = [forms for forms in tables.surnames[culture] if unfit.isdisjoint(map(_key, forms))]
    if not free:
        raise DataError(
            f"surnames.csv: no surname of culture {culture!r} is left for person"
            f" {sketch.person_id}: add some"
        )
    forms = rng.choice(free)
    taken.update(map(_key, forms))
    given = rng.choice(
        [n for n in tables.given_names[culture, sketch.gender] if _key(n) not in used]
    )
    return f"{given} {forms[GENDERS.index(sketch.gender)]}"


def _key(surname: str) -> str:
    return fold_words(surname).strip()


def draw_birthdate(year: int, rng: random.Random) -> str:
    """Return a random day of the year, such as "14 March 1974"."""
    first = datetime.date(year, 1, 1)
    days = (datetime.date(year + 1, 1, 1) - first).days
    day = first + datetime.timedelta(days=rng.randrange(days))
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def draw_height(gender: str, age: int, country: Country, rng: random.Random) -> int:
    """Return a height in cm from the normal distribution around the country's mean, cut off."""
    mean = country.heights[gender] - (GROWTH_LEFT_CM[gender] if age < ADULT_AGE else 0)
    deviation = max(-HEIGHT_REACH, min(HEIGHT_REACH, rng.gauss(0, 1)))
    return round(mean + deviation * HEIGHT_SPREAD_CM[gender])


def _draw_residence(
    age: int, birth_city: str, country: Country, tables: RawTables, rng: random.Random
) -> tuple[str, str]:
    """Return city and country: the birth city, another one of the country, or one abroad."""
    if rng.random() < STAY_SHARE:
        return birth_city, country.name
    home = country.name
    if rng.random() < (ABROAD_SHARE if age >= ADULT_AGE else MINORS_ABROAD_SHARE):
        home = rng.choice(country.destinations)
    return rng.choice([city for city in _cities(tables, home) if city != birth_city]), home


def _cities(tables: RawTables, country: str) -> list[str]:
    return [
        city for region in tables.regions if region.country == country for city in region.cities
    ]
