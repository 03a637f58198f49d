import shutil
from pathlib import Path

import pytest

from parallax.errors import DataError
from parallax.umu.raw_rows import read_rows, require_unique
from parallax.umu.raw_tables import GENDERS, RawTables, education_age, read_raw_tables
from parallax.umu.real_people import read_real_people
from parallax.words import fold_words

RAW = Path(__file__).parents[2] / "data" / "raw"


@pytest.fixture(scope="module")
def tables() -> RawTables:
    return read_raw_tables(RAW)


def test_counts(tables):
    assert len(tables.countries) == 70
    assert len(tables.regions) == 270
    assert len(tables.occupations) == 145


@pytest.mark.parametrize(
    ("region", "country", "city"),
    [
        ("Bavaria", "Germany", "Munich"),
        ("Hokkaido", "Japan", "Sapporo"),
        ("Otago", "New Zealand", "Dunedin"),
        ("Kerala", "India", "Kochi"),
        ("Jalisco", "Mexico", "Guadalajara"),
        ("Lapland", "Finland", "Rovaniemi"),
        ("Ashanti", "Ghana", "Kumasi"),
        ("Minas Gerais", "Brazil", "Belo Horizonte"),
        ("Quebec", "Canada", "Montreal"),
        ("Punjab", "Pakistan", "Lahore"),
    ],
)
def test_known_places(tables, region, country, city):
    (found,) = (r for r in tables.regions if r.name == region)
    assert found.country == country
    assert city in found.cities


def test_region_codes_begin_with_the_code_of_the_country():
    countries = {line.split(",")[0] for line in (RAW / "countries.csv").read_text().split("\n")[1:]}
    for line in (RAW / "regions.csv").read_text().splitlines()[1:]:
        country, region = line.split(",")[:2]
        assert country in countries
        assert region.split("-")[0] == country


def test_no_city_or_occupation_is_part_of_another(tables):
    cities = [city.casefold() for region in tables.regions for city in region.cities]
    occupations = [occupation.name for occupation in tables.occupations]
    for texts in (cities, occupations):
        assert [(a, b) for a in texts for b in texts if a != b and a in b] == []


def test_answers_have_no_full_stop_that_would_cut_a_cloze(tables):
    places = [(r.name, r.country, *r.cities) for r in tables.regions]
    jobs = [(o.name, *o.educations) for o in tables.occupations]
    assert [text for texts in (*places, *jobs) for text in texts if "." in text] == []


def test_surnames_suffice_for_any_seed(tables):
    # A region has at most ceil(500 / 270) = 2 fictitious people and ceil(80 / 270) = 1 auxiliary.
    real = read_real_people(RAW / "real_people.csv")["name"]
    taken = {word for name in real for word in fold_words(name).split()}
    for culture, forms in tables.surnames.items():
        free = [
            pair for pair in forms if taken.isdisjoint(fold_words(form).strip() for form in pair)
        ]
        regions = sum(region.name_culture == culture for region in tables.regions)
        assert len(free) >= 3 * regions, culture


def test_every_background_has_12_to_22_words(tables):
    longest_place = max(len(c.split()) for r in tables.regions for c in r.cities)
    for occupation in tables.occupations:
        lengths = [len(phrase.split()) for phrase in tables.phrases[occupation.topic]]
        for template in tables.templates[occupation.career]:
            others = len(template.split()) - 1  # every slot but {topic} counts as its one word
            assert others + min(lengths) >= 12, template
            extra = template.count("{place}") * (longest_place - 1)
            assert others + max(lengths) + extra <= 22, template


def test_every_interest_has_8_to_16_words(tables):
    hobbies = [1 + len(hobby.text.split()) for hobby in tables.hobbies]  # 1: "He" or "She"
    settings = [len(setting.split()) for setting in tables.hobby_settings]
    assert min(hobbies) + min(settings) >= 8
    assert max(hobbies) + max(settings) <= 16


def test_genders_are_balanced_in_names(tables):
    for culture in tables.surnames:
        assert all(len(tables.given_names[culture, gender]) >= 8 for gender in GENDERS)


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("High school diploma", 17),
        ("Diploma in Nursing", 20),
        ("Doctor of Medicine", 25),
        ("Doctorate in Physics", 26),
    ],
)
def test_education_age(text, age):
    assert education_age(text) == age


def test_unknown_education():
    with pytest.raises(KeyError, match="Knighthood"):
        education_age("Knighthood")


@pytest.mark.parametrize(
    ("file", "old", "new", "line", "column"),
    [
        ("countries.csv", ",183,170,", ",tall,170,", 8, "height_male_cm"),
        ("countries.csv", ",183,170,", ",283,170,", 8, "height_male_cm"),
        ("countries.csv", "US|AU|CA|IE|ES", "US|AU|GB", 2, "destinations"),
        ("countries.csv", "US|AU|CA|IE|ES", "US||AU", 2, "destinations"),
        ("regions.csv", "GB,GB-SCT", "GB,IE-SCT", 3, "region_code"),
        ("regions.csv", "GB,GB-SCT", "XX,XX-SCT", 3, "country_code"),
        ("regions.csv", "Scotland,scottish", "Scotland,martian", 3, "name_culture"),
        ("regions.csv", "Scotland,scottish", "england,scottish", 3, "region"),
        ("regions.csv", "Scotland,scottish", ",scottish", 3, "region"),
        ("cities.csv", "GB-ENG,Leeds", "GB-XXX,Leeds", 3, "region_code"),
        ("cities.csv", "GB-ENG,Leeds", "GB-ENG,London", 3, "city"),
        ("given_names.csv", "spanish,male,Adrian", "spanish,men,Adrian", 2, "gender"),
        ("given_names.csv", "spanish,male,Adrian", "elvish,male,Adrian", 2, "name_culture"),
        ("surnames.csv", "Acevedo,Acevedo", "Acevedo Diaz,Acevedo", 3, "surname_male"),
        ("surnames.csv", "Acevedo,Acevedo", "Abascal,Acevedo", 3, "surname_male"),
        ("occupations.csv", "surgeon,33,70", "surgeon,33,30", 2, "max_age"),
        ("occupations.csv", "surgeon,33,70", "surgeon,20,70", 2, "education"),
        ("occupations.csv", "Doctor of Medicine,", "Knighthood,", 2, "education"),
        ("occupations.csv", ",health,hospital care", ",magic,hospital care", 2, "career"),
        ("occupations.csv", ",health,hospital care", ",health,spells", 2, "topic"),
        ("careers.csv", "{count} people who", "{size} people who", 2, "template"),
        ("careers.csv", "{count} people who", "{count people who", 2, "template"),
        ("topics.csv", "hospital care,pain relief", "hospital care, pain relief", 2, "phrase"),
        ("hobbies.csv", ",14,90", ",14,200", 2, "max_age"),
        ("hobby_settings.csv", "every Thursday", "every  Thursday", 4, "setting"),
    ],
)
def test_error_names_file_line_and_column(tmp_path, file, old, new, line, column):
    shutil.copytree(RAW, tmp_path / "raw")
    path = tmp_path / "raw" / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError, match=rf"{file}: line {line}, column {column}: ") as caught:
        read_raw_tables(tmp_path / "raw")
    assert "\n" not in str(caught.value)


def test_country_with_too_few_cities(tmp_path):
    shutil.copytree(RAW, tmp_path / "raw")
    path = tmp_path / "raw" / "cities.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if not line.startswith("EE-") or "Tartu" in line]
    path.write_text("\n".join([*kept, "EE-45,Narva,1"]), encoding="utf-8")
    with pytest.raises(DataError, match=r"cities\.csv: 2 cities of Estonia; want 3"):
        read_raw_tables(tmp_path / "raw")


def test_missing_file(tmp_path):
    with pytest.raises(DataError, match=r"x\.csv: no such file"):
        read_rows(tmp_path / "x.csv", ("a",))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,c\n1,2\n", r"line 1: columns \['a', 'c'\]; want \['a', 'b'\]"),
        (b"", r"line 1: columns \[\]"),
        (b"a,b\n", "no line beside the header"),
        (b"a,b\n1,2\n1\n", "line 3, column b: 1 values; want 2"),
        (b"a,b\n1,2,3\n", "line 2, column b: 3 values; want 2"),
        (b"a,b\n\n", "line 2, column a: 0 values; want 2"),
        (b"a,b\n\xff,2\n", "byte 4 is not UTF-8"),
    ],
)
def test_malformed_csv(tmp_path, content, message):
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_rows(path, ("a", "b"))


def test_quoted_comma_and_unique_pairs(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('a,b\n"x, y",1\n"x, y",2\n"X, Y",1\n')
    rows = read_rows(path, ("a", "b"))
    assert [row.text("a") for row in rows[:2]] == ["x, y", "x, y"]
    require_unique(rows[:2], "a", "b")
    with pytest.raises(DataError, match="line 4, column b: '1'; want a value that line 2 does not"):
        require_unique(rows, "a", "b")
