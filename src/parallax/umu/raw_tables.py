"""What fictitious people are made of: places, names, occupations and sentence parts."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from parallax.errors import DataError
from parallax.umu.raw_rows import Row, read_rows, require_unique

GENDERS = ("male", "female")
EDUCATION_AGES: Mapping[str, int] = MappingProxyType(
    {
        "Lower secondary school certificate": 14,
        "High school diploma": 17,
        "Vocational certificate in ": 18,
        "Diploma in ": 20,
        "Bachelor's degree in ": 21,
        "Master's degree in ": 23,
        "Doctor of ": 25,
        "Doctorate in ": 26,
    }
)
"""How an education's text begins, and the youngest age at which somebody has it, years."""

ADULT_HEIGHTS_CM = (145, 190)  # bounds of a country's mean
COUNTRY_CITIES = 3  # birth city, residence and the place of a background sentence
AGES = (14, 100)
TEMPLATE_SLOTS = frozenset({"He", "he", "him", "his", "place", "year", "count", "months", "topic"})

_SLOT = re.compile(r"\{(\w*)\}")


@dataclass(frozen=True)
class Country:
    """A country: mean adult heights by gender (cm), and where people who leave it often go."""

    name: str
    heights: Mapping[str, int]
    destinations: tuple[str, ...]


@dataclass(frozen=True)
class Region:
    """A first-level region of a country, the culture that its names come from, its cities."""

    name: str
    country: str
    name_culture: str
    cities: tuple[str, ...]


@dataclass(frozen=True)
class Occupation:
    """An occupation with the ages (years) and educations that fit it.

    `career` names the sentences, `topic` the phrases in them that tell of a life in it.
    """

    name: str
    min_age: int
    max_age: int
    educations: tuple[str, ...]
    career: str
    topic: str

    def educations_at(self, age: int) -> tuple[str, ...]:
        """Return the educations that somebody of this age can have."""
        return tuple(text for text in self.educations if education_age(text) <= age)


@dataclass(frozen=True)
class Hobby:
    """A hobby, told in the third person, and the ages (years) at which people have it."""

    text: str
    min_age: int
    max_age: int


@dataclass(frozen=True)
class RawTables:
    """All raw tables; `surnames` holds pairs of the male and the female form."""

    countries: Mapping[str, Country]
    regions: tuple[Region, ...]
    given_names: Mapping[tuple[str, str], tuple[str, ...]]
    surnames: Mapping[str, tuple[tuple[str, str], ...]]
    occupations: tuple[Occupation, ...]
    templates: Mapping[str, tuple[str, ...]]
    phrases: Mapping[str, tuple[str, ...]]
    hobbies: tuple[Hobby, ...]
    hobby_settings: tuple[str, ...]


def read_raw_tables(raw: Path) -> RawTables:
    """Read the CSV files of the folder `raw`.

    Raises:
        DataError: a file is missing or malformed, or a value does not fit its column or the other
            files; the message names file, line and column.
    """
    given_names, surnames = _read_names(raw)
    countries, regions = _read_places(raw, surnames)
    templates = _read_templates(raw)
    phrases = _gather(read_rows(raw / "topics.csv", ("topic", "phrase")), "topic", "phrase")
    setting_rows = read_rows(raw / "hobby_settings.csv", ("setting",))
    return RawTables(
        countries,
        regions,
        given_names,
        surnames,
        _read_occupations(raw, templates, phrases),
        templates,
        phrases,
        _read_hobbies(raw),
        _gather(setting_rows, None, "setting")[""],
    )


def education_age(text: str) -> int:
    """Return the youngest age, in years, at which somebody has this education.

    Raises:
        KeyError: the text begins like none of `EDUCATION_AGES`.
    """
    for beginning, age in EDUCATION_AGES.items():
        if text.startswith(beginning):
            return age
    raise KeyError(text)


def _gather(rows: list[Row], key: str | None, column: str) -> dict[str, tuple[str, ...]]:
    """Group the texts of a column by the text of `key` (all under "" where it is None)."""
    require_unique(rows, *filter(None, (key, column)))
    groups: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        groups[row.text(key) if key else ""].append(row.text(column))
    return {name: tuple(texts) for name, texts in groups.items()}


def _read_names(
    raw: Path,
) -> tuple[dict[tuple[str, str], tuple[str, ...]], dict[str, tuple[tuple[str, str], ...]]]:
    rows = read_rows(raw / "surnames.csv", ("name_culture", "surname_male", "surname_female"))
    for column in ("surname_male", "surname_female"):
        require_unique(rows, column)
    surnames: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in rows:
        forms = (_word(row, "surname_male"), _word(row, "surname_female"))
        surnames[row.text("name_culture")].append(forms)
    rows = read_rows(raw / "given_names.csv", ("name_culture", "gender", "given_name"))
    require_unique(rows, "name_culture", "gender", "given_name")
    given: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        culture = row.member("name_culture", surnames, "the name cultures of surnames.csv")
        gender = row.member("gender", GENDERS, " and ".join(GENDERS))
        given[culture, gender].append(_word(row, "given_name"))
    for row in rows:
        for gender in GENDERS:
            if (row.values["name_culture"], gender) not in given:
                raise row.wrong("name_culture", f"a culture that has {gender} names too: add some")
    return (
        {key: tuple(names) for key, names in given.items()},
        {key: tuple(names) for key, names in surnames.items()},
    )


def _word(row: Row, column: str) -> str:
    name = row.text(column)
    if " " in name:
        raise row.wrong(column, "one word, so that a full name is a given name and a surname")
    return name


def _read_places(
    raw: Path, cultures: Mapping[str, object]
) -> tuple[dict[str, Country], tuple[Region, ...]]:
    columns = (
        "country_code",
        "country",
        "height_male_cm",
        "height_female_cm",
        "destinations",
    )
    rows = read_rows(raw / "countries.csv", columns)
    for column in columns[:2]:
        require_unique(rows, column)
    names = {row.text("country_code"): row.text("country") for row in rows}
    countries = {}
    for row in rows:
        codes = row.texts("destinations")
        if not set(codes) <= set(names) - {row.text("country_code")}:
            raise row.wrong("destinations", "codes of other countries of this file")
        heights = {
            gender: row.integer(f"height_{gender}_cm", *ADULT_HEIGHTS_CM) for gender in GENDERS
        }
        destinations = tuple(names[code] for code in codes)
        countries[row.text("country")] = Country(row.text("country"), heights, destinations)
    return countries, _read_regions(raw, names, cultures)


def _read_regions(
    raw: Path, countries: Mapping[str, str], cultures: Mapping[str, object]
) -> tuple[Region, ...]:
    rows = read_rows(raw / "regions.csv", ("country_code", "region_code", "region", "name_culture"))
    for column in ("region_code", "region"):
        require_unique(rows, column)
    for row in rows:
        country = row.member("country_code", countries, "the country codes of countries.csv")
        if not row.text("region_code").startswith(f"{country}-"):
            raise row.wrong("region_code", f"a code that begins with {country}-")
        row.member("name_culture", cultures, "the name cultures of surnames.csv")
    cities = _read_cities(raw, {row.text("region_code") for row in rows})
    for row in rows:
        row.member("region_code", cities, "the region codes of cities.csv")
    regions = tuple(
        Region(
            row.text("region"),
            countries[row.text("country_code")],
            row.text("name_culture"),
            cities[row.text("region_code")],
        )
        for row in rows
    )
    for name in countries.values():
        count = sum(len(region.cities) for region in regions if region.country == name)
        if count < COUNTRY_CITIES:
            raise DataError(
                f"{raw / 'cities.csv'}: {count} cities of {name}; want {COUNTRY_CITIES}:"
                " add regions to regions.csv or cities"
            )
    return regions


def _read_cities(raw: Path, region_codes: set[str]) -> dict[str, tuple[str, ...]]:
    rows = read_rows(raw / "cities.csv", ("region_code", "city", "geoname_id"))
    for column in ("city", "geoname_id"):
        require_unique(rows, column)
    for row in rows:
        row.member("region_code", region_codes, "the region codes of regions.csv")
        row.integer("geoname_id", 1, 10**9)
    return _gather(rows, "region_code", "city")


def _read_occupations(
    raw: Path, careers: Mapping[str, object], topics: Mapping[str, object]
) -> tuple[Occupation, ...]:
    columns = ("occupation", "min_age", "max_age", "education", "career", "topic")
    rows = read_rows(raw / "occupations.csv", columns)
    require_unique(rows, "occupation")
    occupations = []
    for row in rows:
        min_age = row.integer("min_age", *AGES)
        occupation = Occupation(
            row.text("occupation"),
            min_age,
            row.integer("max_age", min_age, AGES[1]),
            row.texts("education"),
            row.member("career", careers, "the careers of careers.csv"),
            row.member("topic", topics, "the topics of topics.csv"),
        )
        if not all(text.startswith(tuple(EDUCATION_AGES)) for text in occupation.educations):
            raise row.wrong("education", f"texts that begin like one of {list(EDUCATION_AGES)}")
        if not occupation.educations_at(min_age):
            raise row.wrong("education", f"one that somebody aged {min_age} can have")
        occupations.append(occupation)
    return tuple(occupations)


def _read_templates(raw: Path) -> dict[str, tuple[str, ...]]:
    rows = read_rows(raw / "careers.csv", ("career", "template"))
    for row in rows:
        text = row.text("template")
        stray_brace = re.search(r"[{}]", _SLOT.sub("", text))
        if stray_brace or not TEMPLATE_SLOTS.issuperset(_SLOT.findall(text)) or text[-1] != ".":
            raise row.wrong("template", f"a sentence with slots out of {sorted(TEMPLATE_SLOTS)}")
    return _gather(rows, "career", "template")


def _read_hobbies(raw: Path) -> tuple[Hobby, ...]:
    rows = read_rows(raw / "hobbies.csv", ("hobby", "min_age", "max_age"))
    require_unique(rows, "hobby")
    hobbies = []
    for row in rows:
        min_age = row.integer("min_age", *AGES)
        max_age = row.integer("max_age", min_age, AGES[1])
        hobbies.append(Hobby(row.text("hobby"), min_age, max_age))
    return tuple(hobbies)
