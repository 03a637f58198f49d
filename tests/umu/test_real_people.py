"""The control set: the committed file, the reader's refusals, surnames."""

import csv
import datetime
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from parallax.errors import DataError
from parallax.umu.real_people import COLUMNS, parse_birthdate, read_real_people, surname

PATH = Path(__file__).parents[2] / "data" / "raw" / "real_people.csv"

PHYSICS = "Nobel Prize in Physics"
CHEMISTRY = "Nobel Prize in Chemistry"
MEDICINE = "Nobel Prize in Physiology or Medicine"
LITERATURE = "Nobel Prize in Literature"
PEACE = "Nobel Peace Prize"
ECONOMICS = "Nobel Memorial Prize in Economic Sciences"


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return read_real_people(PATH)


# Written apart from the file, so that a slip in it shows.
@pytest.mark.parametrize(
    ("name", "birthdate", "city", "country", "award", "award_year", "death_year"),
    [
        ("Albert Einstein", "14 March 1879", "Ulm", "Germany", PHYSICS, "1921", "1955"),
        ("Niels Bohr", "7 October 1885", "Copenhagen", "Denmark", PHYSICS, "1922", "1962"),
        ("C. V. Raman", "7 November 1888", "Tiruchirappalli", "India", PHYSICS, "1930", "1970"),
        ("Richard Feynman", "11 May 1918", "New York", "United States", PHYSICS, "1965", "1988"),
        ("Maria Goeppert Mayer", "28 June 1906", "Katowice", "Poland", PHYSICS, "1963", "1972"),
        ("Fritz Haber", "9 December 1868", "Wrocław", "Poland", CHEMISTRY, "1918", "1934"),
        ("Irène Joliot-Curie", "12 September 1897", "Paris", "France", CHEMISTRY, "1935", "1956"),
        ("Dorothy Hodgkin", "12 May 1910", "Cairo", "Egypt", CHEMISTRY, "1964", "1994"),
        ("Frederick Banting", "14 November 1891", "Alliston", "Canada", MEDICINE, "1923", "1941"),
        ("Gerty Cori", "15 August 1896", "Prague", "Czechia", MEDICINE, "1947", "1957"),
        ("Francis Crick", "8 June 1916", "Northampton", "United Kingdom", MEDICINE, "1962", "2004"),
        ("Rita Levi-Montalcini", "22 April 1909", "Turin", "Italy", MEDICINE, "1986", "2012"),
        ("Rabindranath Tagore", "7 May 1861", "Kolkata", "India", LITERATURE, "1913", "1941"),
        ("Thomas Mann", "6 June 1875", "Lübeck", "Germany", LITERATURE, "1929", "1955"),
        ("Albert Camus", "7 November 1913", "Dréan", "Algeria", LITERATURE, "1957", "1960"),
        (
            "Toni Morrison",
            "18 February 1931",
            "Lorain",
            "United States",
            LITERATURE,
            "1993",
            "2019",
        ),
        ("Mother Teresa", "26 August 1910", "Skopje", "North Macedonia", PEACE, "1979", "1997"),
        ("Nelson Mandela", "18 July 1918", "Mvezo", "South Africa", PEACE, "1993", "2013"),
        ("John Nash", "13 June 1928", "Bluefield", "United States", ECONOMICS, "1994", "2015"),
        (
            "Elinor Ostrom",
            "7 August 1933",
            "Los Angeles",
            "United States",
            ECONOMICS,
            "2009",
            "2012",
        ),
    ],
)
def test_spot_facts(
    people: pd.DataFrame,
    name: str,
    birthdate: str,
    city: str,
    country: str,
    award: str,
    award_year: str,
    death_year: str,
) -> None:
    (row,) = people[people["name"] == name].to_dict("records")
    assert row["birthdate"] == birthdate
    assert (row["birth_city"], row["birth_country"]) == (city, country)
    assert (row["award"], row["award_year"]) == (award, award_year)
    assert row["death_year"] == death_year


def test_file_has_the_columns_and_people_of_the_control_set(people: pd.DataFrame) -> None:
    assert tuple(people.columns) == COLUMNS
    assert len(people) == 153
    assert all(isinstance(value, str) and value for value in people.to_numpy().ravel())
    assert people["name"].is_unique
    assert people["name"].map(surname).is_unique


def test_file_is_diverse(people: pd.DataFrame) -> None:
    awards = Counter(people["award"])
    assert len(awards) == 6
    assert min(awards.values()) >= 15
    assert Counter(people["gender"])["female"] >= 25
    assert people["birth_country"].nunique() >= 50
    decades = {int(year) // 10 for year in people["award_year"]}
    assert decades >= set(range(190, 202))


def test_years_are_in_order(people: pd.DataFrame) -> None:
    for row in people.to_dict("records"):
        birthdate = parse_birthdate(row["birthdate"])
        assert birthdate is not None
        award_year, death_year = int(row["award_year"]), int(row["death_year"])
        assert birthdate.year < award_year <= death_year, row["name"]


def test_rows_are_sorted_by_award_year_and_name(people: pd.DataFrame) -> None:
    keys = list(zip(people["award_year"], people["name"], strict=True))
    assert keys == sorted(keys)


def test_backgrounds_hide_the_person_and_the_years(people: pd.DataFrame) -> None:
    for row in people.to_dict("records"):
        assert surname(row["name"]) not in row["background"]
        # An award or death year in the sentence would answer another question.
        assert not re.search(r"\d{4}", row["background"]), row["name"]


def test_source_names_the_prize(people: pd.DataFrame) -> None:
    for row in people.to_dict("records"):
        prize = (
            "Sveriges Riksbank Prize in Economic Sciences in Memory of Alfred Nobel"
            if row["award"] == ECONOMICS
            else row["award"]
        )
        assert row["source"] == f"nobelprize.org, The {prize} {row['award_year']}"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Albert Einstein", "Einstein"),
        ("J. J. Thomson", "Thomson"),
        ("Martin Luther King Jr.", "King"),
        ("Louis de Broglie", "de Broglie"),
        ("Johannes van der Waals", "van der Waals"),
        ("Jacobus van 't Hoff", "van 't Hoff"),
        ("Santiago Ramón y Cajal", "Ramón y Cajal"),
        ("Gabriel García Márquez", "García Márquez"),
        ("Rita Levi-Montalcini", "Levi-Montalcini"),
        ("Thomas Hunt Morgan", "Morgan"),
        ("Mother Teresa", "Teresa"),
    ],
)
def test_surname(name: str, expected: str) -> None:
    assert surname(name) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("14 March 1879", datetime.date(1879, 3, 14)),
        ("29 February 1904", datetime.date(1904, 2, 29)),
        ("29 February 1900", None),  # 1900 is divisible by 100 but not by 400: no leap year
        ("31 June 1900", None),
        ("0 June 1900", None),
        ("04 June 1900", None),
        ("4 Juni 1900", None),
        ("1900-06-04", None),
        ("4 June 1900 ", None),
    ],
)
def test_parse_birthdate(text: str, expected: datetime.date | None) -> None:
    assert parse_birthdate(text) == expected


Rows = list[dict[str, str]]


def _write(path: Path, rows: Rows) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def _rows() -> Rows:
    with PATH.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_rewritten_file_reads_the_same(people: pd.DataFrame, tmp_path: Path) -> None:
    again = read_real_people(_write(tmp_path / "people.csv", _rows()))
    pd.testing.assert_frame_equal(again, people)


# The second data row, hence line 3, is Jacobus van 't Hoff: born 1852, award 1901, died 1911.
@pytest.mark.parametrize(
    ("column", "value", "want"),
    [
        ("name", "", "fill it in"),
        ("occupation", "  ", "fill it in"),
        ("birth_city", "Rotterdam ", "without stray blanks"),
        ("gender", "man", "male or female"),
        ("birthdate", "1852-08-30", "14 March 1879"),
        ("birthdate", "31 June 1852", "14 March 1879"),
        ("award", "Nobel Prize", "one of"),
        ("award", ECONOMICS, "1969 to 2020"),
        ("award_year", "MCMI", "four digits"),
        ("award_year", "1900", "1901 to 2020"),
        ("award_year", "2021", "1901 to 2020"),
        ("birthdate", "30 August 1885", "17 to 100 years"),  # 1901 - 1885 = 16
        ("birthdate", "30 August 1800", "17 to 100 years"),  # 1901 - 1800 = 101
        ("death_year", "11", "four digits"),
        ("death_year", "1900", "1901 or later"),
        ("death_year", "1963", "human life"),  # 1852 + 100 + 10 = 1962 is the last year taken
        ("background", "Too short.", "10 to 22 words"),
        ("background", "word " * 22 + "word.", "10 to 22 words"),
        ("background", "ten words are enough but the full stop is missing", "full stop"),
        ("background", "The chemist Jacobus found laws of rates in dilute solutions.", "Jacobus"),
        ("background", "The chemist Hoff found the laws of rates in solutions.", "Hoff"),
        ("source", "nobelprize.org", "award year"),
    ],
)
def test_wrong_value_is_named(tmp_path: Path, column: str, value: str, want: str) -> None:
    rows = _rows()
    rows[1][column] = value
    if column == "award_year":
        rows[1]["source"] = f"nobelprize.org, The Nobel Prize in Chemistry {value}"
    path = _write(tmp_path / "people.csv", rows)
    with pytest.raises(DataError) as caught:
        read_real_people(path)
    message = str(caught.value)
    assert str(path) in message
    assert "line 3" in message
    assert want in message
    assert "\n" not in message


def test_last_plausible_years_pass(tmp_path: Path) -> None:
    rows = _rows()
    rows[1]["death_year"] = "1962"
    rows[2]["birthdate"] = f"1 January {int(rows[2]['award_year']) - 17}"
    read_real_people(_write(tmp_path / "people.csv", rows))


def _repeat_name(rows: Rows) -> None:
    rows[2]["name"] = rows[1]["name"].upper()


def _repeat_surname(rows: Rows) -> None:
    rows[2]["name"] = "Jan van 't Hoff"


def _repeat_background(rows: Rows) -> None:
    rows[2]["background"] = rows[1]["background"]


@pytest.mark.parametrize(
    ("change", "column"),
    [(_repeat_name, "name"), (_repeat_surname, "surname"), (_repeat_background, "background")],
)
def test_repeated_value_is_named(
    tmp_path: Path, change: Callable[[Rows], None], column: str
) -> None:
    rows = _rows()
    change(rows)
    with pytest.raises(DataError, match=rf"line 4, column {column}: .*line 3"):
        read_real_people(_write(tmp_path / "people.csv", rows))


def test_number_of_people_is_checked(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="152 people; want 153"):
        read_real_people(_write(tmp_path / "people.csv", _rows()[:-1]))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_real_people(tmp_path / "people.csv")


@pytest.mark.parametrize(
    ("content", "want"),
    [
        (b"", "line 1: columns"),
        (b"name,gender\n", "line 1: columns"),
        ((",".join(COLUMNS) + "\nOne,male\n").encode(), "line 2: 2 values; want 11"),
        ((",".join(COLUMNS) + '\n"One,male\n').encode(), "not CSV"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_broken_file(tmp_path: Path, content: bytes, want: str) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=want):
        read_real_people(path)
