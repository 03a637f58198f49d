import dataclasses
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parallax.errors import DataError
from parallax.umu.profiles import (
    Profile,
    assign_occupations,
    draw_birthdate,
    draw_height,
    generate_profiles,
    spread,
)
from parallax.umu.raw_tables import Country, Occupation, RawTables, education_age, read_raw_tables
from parallax.umu.real_people import parse_birthdate, read_real_people, surname
from parallax.words import fold_words

RAW = Path(__file__).parents[2] / "data" / "raw"
SEEDS = (0, 2026)
COUNTRY = Country("Utopia", {"male": 176, "female": 163}, ())


@pytest.fixture(scope="module")
def tables() -> RawTables:
    return read_raw_tables(RAW)


@pytest.fixture(scope="module")
def real_names() -> list[str]:
    return list(read_real_people(RAW / "real_people.csv")["name"])


@pytest.fixture(scope="module", params=SEEDS)
def people(request, tables, real_names) -> list[Profile]:
    return generate_profiles(tables, request.param, taken_names=real_names)


@pytest.fixture(scope="module")
def fictitious(people) -> list[Profile]:
    return [person for person in people if person.group == "fictitious"]


def age(person: Profile) -> int:
    return 2025 - int(person.birthdate[-4:])


def test_ids_and_groups(people):
    assert [p.person_id for p in people[:500]] == [str(n) for n in range(1, 501)]
    assert [p.person_id for p in people[500:]] == [f"A{n:02d}" for n in range(1, 81)]
    assert {p.group for p in people[:500]} == {"fictitious"}
    assert {p.group for p in people[500:]} == {"auxiliary"}


@pytest.mark.parametrize(
    ("field", "count"), [("birth_country", 70), ("birth_region", 270), ("occupation", 145)]
)
def test_figures_of_the_paper(fictitious, field, count):
    assert len({getattr(person, field) for person in fictitious}) == count


def test_birthdates_cover_1950_to_2010(fictitious):
    dates = [parse_birthdate(person.birthdate) for person in fictitious]
    years = Counter(date.year for date in dates)
    assert set(years) == set(range(1950, 2011))
    assert set(years.values()) == {8, 9}  # 500 / 61 = 8.2
    assert len({date.month for date in dates}) == 12
    assert {date.day for date in dates} == set(range(1, 32))


def test_regions_lie_in_their_countries_and_cities_in_their_regions(people, tables):
    regions = {region.name: region for region in tables.regions}
    homes = {city: region.country for region in tables.regions for city in region.cities}
    for person in people:
        region = regions[person.birth_region]
        assert region.country == person.birth_country
        assert person.birth_city in region.cities
        assert homes[person.residence] == person.residence_country


def test_residences_vary(people):
    stay = sum(p.residence == p.birth_city for p in people) / len(people)
    abroad = sum(p.residence_country != p.birth_country for p in people) / len(people)
    assert 0.2 < stay < 0.4
    assert 0.15 < abroad < 0.35


def test_people_live_abroad_only_where_their_compatriots_go(people, tables):
    for person in people:
        if person.residence_country != person.birth_country:
            assert person.residence_country in tables.countries[person.birth_country].destinations


def test_names_are_unique_and_not_those_of_real_people(people, real_names):
    surnames = [fold_words(p.name.split(" ")[1]) for p in people]
    assert len(set(surnames)) == len(people)
    assert len({p.name for p in people}) == len(people)
    assert set(surnames).isdisjoint(fold_words(surname(name)) for name in real_names)
    assert all(p.name.isascii() and len(p.name.split()) == 2 for p in people)


def test_names_fit_gender_and_culture(people, tables):
    cultures = {region.name: region.name_culture for region in tables.regions}
    for person in people:
        culture, (given_name, last) = cultures[person.birth_region], person.name.split()
        assert given_name in tables.given_names[culture, person.gender]
        forms = tables.surnames[culture]
        assert last in {form[0 if person.gender == "male" else 1] for form in forms}


def test_slavic_women_have_the_form_for_women(people, tables):
    women = [
        p for p in people if p.gender == "female" and p.birth_country in ("Bulgaria", "Czechia")
    ]
    assert women
    assert all(person.name.endswith("a") for person in women)


def test_genders_are_balanced(fictitious):
    assert Counter(p.gender for p in fictitious) == {"male": 250, "female": 250}


def test_occupation_and_education_fit_the_age(people, tables):
    occupations = {occupation.name: occupation for occupation in tables.occupations}
    for person in people:
        occupation = occupations[person.occupation]
        assert occupation.min_age <= age(person) <= occupation.max_age
        assert person.education in occupation.educations
        assert education_age(person.education) <= age(person)


def test_the_youngest_are_at_school_or_learn_a_trade(people):
    minors = [person for person in people if age(person) < 18]
    assert len(minors) > 20
    assert {person.education for person in minors} <= {
        "Lower secondary school certificate",
        "High school diploma",
    }
    assert all(
        any(word in person.occupation for word in ("pupil", "student", "apprentice", "player"))
        for person in minors
    )


@pytest.mark.parametrize(
    ("occupation", "education"),
    [
        ("surgeon", "Doctor of Medicine"),
        ("dentist", "Doctor of Dental Medicine"),
        ("lawyer", "degree in Law"),
        ("medical student", "High school diploma"),
    ],
)
def test_education_fits_the_occupation(people, occupation, education):
    holders = [person for person in people if person.occupation == occupation]
    assert holders
    assert all(education in person.education for person in holders)


def test_heights_fit_gender_and_country(people, tables):
    for person in people:
        mean = tables.countries[person.birth_country].heights[person.gender]
        assert abs(int(person.height.removesuffix(" cm")) - mean) <= 18  # 2.3 * 6.5 + 3 = 17.95
    mean_of = {
        gender: sum(int(p.height[:-3]) for p in people if p.gender == gender) / 290
        for gender in ("male", "female")
    }
    assert 8 < mean_of["male"] - mean_of["female"] < 18


@pytest.mark.parametrize(("field", "low", "high"), [("background", 12, 22), ("interest", 8, 16)])
def test_sentences(people, field, low, high):
    texts = [getattr(person, field) for person in people]
    assert len(set(texts)) == len(people)
    for person, text in zip(people, texts, strict=True):
        assert low <= len(text.split()) <= high
        assert text[0].isupper()
        assert text.endswith(".")
        assert text.count(".") == 1
        assert set(fold_words(text).split()).isdisjoint(fold_words(person.name).split())


def test_backgrounds_give_no_residence_or_birth_city_away(people):
    for person in people:
        for city in (person.birth_city, person.residence):
            assert f" {city} " not in person.background.replace(",", " ").replace(".", " ")


def test_every_field_is_filled(people):
    for person in people:
        assert all(value == value.strip() != "" for value in dataclasses.astuple(person))


def test_same_seed_same_people(tables):
    assert generate_profiles(tables, 5) == generate_profiles(tables, 5)


def test_another_seed_gives_other_people(tables):
    first, second = generate_profiles(tables, 1), generate_profiles(tables, 2)
    pairs = list(zip(first, second, strict=True))
    assert sum(a.name == b.name for a, b in pairs) < 5
    assert sum(a.birth_region == b.birth_region for a, b in pairs) < 20


def test_auxiliary_people_do_not_change_the_fictitious(tables):
    assert generate_profiles(tables, 3, auxiliary=0) == generate_profiles(tables, 3)[:500]


def test_too_few_surnames(tables):
    few = dataclasses.replace(tables, surnames={**tables.surnames, "welsh": ()})
    with pytest.raises(DataError, match=r"surnames\.csv: no surname of culture 'welsh' is left"):
        generate_profiles(few, 0)


@given(st.integers(1, 9), st.integers(0, 40), st.integers())
def test_spread_is_even(items, count, seed):
    drawn = spread(range(items), count, random.Random(seed))
    counts = Counter(drawn)
    assert len(drawn) == count
    assert max(counts[i] for i in range(items)) - min(counts[i] for i in range(items)) <= 1


def job(name: str, low: int, high: int) -> Occupation:
    return Occupation(name, low, high, (), "", "")


def test_narrow_occupations_choose_first():
    # Only the one aged 16 can be a pupil, only the one aged 40 a judge: the clerk is aged 20.
    jobs = [job("clerk", 16, 60), job("pupil", 14, 17), job("judge", 40, 70)]
    for seed in range(20):
        drawn = assign_occupations([40, 16, 20], jobs, random.Random(seed))
        assert [occupation.name for occupation in drawn] == ["judge", "pupil", "clerk"]


def test_occupation_without_a_person():
    jobs = [job("clerk", 16, 60), job("judge", 65, 70)]
    with pytest.raises(DataError, match="'judge' is left without a person aged 65 to 70"):
        assign_occupations([20, 30], jobs, random.Random(0))


def test_age_without_an_occupation():
    with pytest.raises(DataError, match="nothing fits the age 80"):
        assign_occupations([80], [job("clerk", 16, 60), job("judge", 40, 70)], random.Random(0))


def test_birthdates_reach_both_ends_of_a_leap_year():
    drawn = {draw_birthdate(2004, random.Random(seed)) for seed in range(6000)}
    assert len(drawn) == 366
    assert {"1 January 2004", "29 February 2004", "31 December 2004"} <= drawn


def test_heights_have_the_mean_of_the_country():
    rng = random.Random(0)
    # Standard error of 4000 draws: 6.5 / sqrt(4000) = 0.10 cm; a minor man is 3 cm shorter.
    adults = [draw_height("male", 30, COUNTRY, rng) for _ in range(4000)]
    minors = [draw_height("male", 16, COUNTRY, rng) for _ in range(4000)]
    women = [draw_height("female", 30, COUNTRY, rng) for _ in range(4000)]
    assert sum(adults) / 4000 == pytest.approx(176, abs=0.5)
    assert sum(minors) / 4000 == pytest.approx(173, abs=0.5)
    assert sum(women) / 4000 == pytest.approx(163, abs=0.5)
    assert max(adults) == 191  # 176 + 2.3 * 6.5 = 190.95
