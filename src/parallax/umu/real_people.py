"""The control set: real people whose documented facts no unlearning request may touch."""

import csv
import datetime
import re
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "name",
    "gender",
    "birthdate",
    "birth_city",
    "birth_country",
    "occupation",
    "award",
    "award_year",
    "death_year",
    "background",
    "source",
)
PEOPLE = 153  # as many real people as the paper has
GENDERS = ("male", "female")
FIRST_YEARS = {
    "Nobel Prize in Physics": 1901,
    "Nobel Prize in Chemistry": 1901,
    "Nobel Prize in Physiology or Medicine": 1901,
    "Nobel Prize in Literature": 1901,
    "Nobel Peace Prize": 1901,
    "Nobel Memorial Prize in Economic Sciences": 1969,
}
"""The awards, with the first year in which each was given."""
LAST_YEAR = 2020  # the last award year taken: later laureates are alive
AGES = (17, 100)  # at the award; the youngest laureate was 17, the oldest 97
SENTENCE_WORDS = (10, 22)

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_DATE = re.compile(r"([1-9]\d?) ([A-Z][a-z]+) (\d{4})")
_YEAR = re.compile(r"\d{4}")
_WORD = re.compile(r"\w+")
_SUFFIX = " Jr."
# Surnames of several words that no rule tells from a middle name.
_COMPOUNDS = (
    "García Márquez",
    "Goeppert Mayer",
    "Kamerlingh Onnes",
    "Ramón y Cajal",
    "Vargas Llosa",
)


def read_real_people(path: Path) -> "pd.DataFrame":
    """Read the real people, one row each in the order of the file, every value a non-empty text.

    Raises:
        DataError: the file is missing or not UTF-8 CSV with exactly `COLUMNS`; there are not
            `PEOPLE` rows; or a value is empty, malformed, implausible or wrongly repeated.
    """
    import pandas as pd

    rows = _read_rows(path)
    for line, row in enumerate(rows, start=2):
        _check_texts(path, line, row)
        _check_years(path, line, row)
        _check_background(path, line, row)
    keys = {
        "name": [row["name"].casefold() for row in rows],
        "surname": [surname(row["name"]).casefold() for row in rows],
        "background": [row["background"].casefold() for row in rows],
    }
    for key, values in keys.items():
        _check_unique(path, key, values)
    if len(rows) != PEOPLE:
        raise DataError(f"{path}: {len(rows)} people; want {PEOPLE}: add or remove rows")
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype="str")


def surname(name: str) -> str:
    """Return the surname with its particles and without a suffix: "van der Waals", "King"."""
    bare = name.removesuffix(_SUFFIX)
    for compound in _COMPOUNDS:
        if bare.endswith(f" {compound}"):
            return compound
    words = bare.split()
    start = len(words) - 1
    while start > 1 and not words[start - 1][0].isupper():
        start -= 1
    return " ".join(words[start:])


def parse_birthdate(text: str) -> datetime.date | None:
    """Return the date that "14 March 1879" names, or None where `text` is no such date."""
    match = _DATE.fullmatch(text)
    # Not `strptime`: its month names depend on the locale.
    if match is None or match[2] not in MONTHS:
        return None
    try:
        return datetime.date(int(match[3]), MONTHS.index(match[2]) + 1, int(match[1]))
    except ValueError:
        return None


def _read_rows(path: Path) -> list[dict[str, str]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; restore it from the repository") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start} is not UTF-8; save it as UTF-8") from None
    try:
        # One record a line (no value has a line break), so that a record's number is its line.
        records = [
            record for line in text.splitlines() for record in csv.reader([line], strict=True)
        ]
    except csv.Error as error:
        raise DataError(f"{path}: not CSV ({error}); close every quote on its line") from None
    if not records or tuple(records[0]) != COLUMNS:
        found = records[0] if records else []
        raise DataError(f"{path}: line 1: columns {found}; want {list(COLUMNS)}")
    for line, record in enumerate(records[1:], start=2):
        if len(record) != len(COLUMNS):
            raise DataError(
                f"{path}: line {line}: {len(record)} values; want {len(COLUMNS)}: "
                "quote a value that has a comma in it"
            )
    return [dict(zip(COLUMNS, record, strict=True)) for record in records[1:]]


def _wrong(path: Path, line: int, column: str, value: str, want: str) -> DataError:
    return DataError(f"{path}: line {line}, column {column}: {value!r}; want {want}")


def _check_texts(path: Path, line: int, row: dict[str, str]) -> None:
    for column, value in row.items():
        if not value or value != " ".join(value.split()):
            raise _wrong(path, line, column, value, "a text without stray blanks: fill it in")
    if row["gender"] not in GENDERS:
        raise _wrong(path, line, "gender", row["gender"], " or ".join(GENDERS))
    if row["award"] not in FIRST_YEARS:
        raise _wrong(path, line, "award", row["award"], f"one of {list(FIRST_YEARS)}")
    if not row["source"].endswith(f" {row['award_year']}"):
        raise _wrong(path, line, "source", row["source"], "a citation that ends in the award year")


def _check_years(path: Path, line: int, row: dict[str, str]) -> None:
    birthdate = parse_birthdate(row["birthdate"])
    if birthdate is None:
        raise _wrong(path, line, "birthdate", row["birthdate"], 'a date such as "14 March 1879"')
    for column in ("award_year", "death_year"):
        if not _YEAR.fullmatch(row[column]):
            raise _wrong(path, line, column, row[column], "a year of four digits")
    award_year, first_year = int(row["award_year"]), FIRST_YEARS[row["award"]]
    if not first_year <= award_year <= LAST_YEAR:
        want = f"{first_year} to {LAST_YEAR} for the {row['award']}"
        raise _wrong(path, line, "award_year", row["award_year"], want)
    if not AGES[0] <= award_year - birthdate.year <= AGES[1]:
        want = f"{AGES[0]} to {AGES[1]} years after the birth in {birthdate.year}"
        raise _wrong(path, line, "award_year", row["award_year"], want)
    if not award_year <= int(row["death_year"]) <= birthdate.year + AGES[1] + 10:
        want = f"the award year {award_year} or later, within a human life"
        raise _wrong(path, line, "death_year", row["death_year"], want)


def _check_background(path: Path, line: int, row: dict[str, str]) -> None:
    sentence = row["background"]
    low, high = SENTENCE_WORDS
    if not low <= len(sentence.split()) <= high or not sentence.endswith("."):
        want = f"one sentence of {low} to {high} words that ends in a full stop"
        raise _wrong(path, line, "background", sentence, want)
    # Image questions hide the name, so the sentence that answers them must not give it away.
    names = {word for word in _WORD.findall(row["name"]) if word[0].isupper() and len(word) > 1}
    if given := sorted(names & set(_WORD.findall(sentence))):
        want = f"a sentence without {', '.join(given)} from the person's name"
        raise _wrong(path, line, "background", sentence, want)


def _check_unique(path: Path, key: str, values: list[str]) -> None:
    lines: dict[str, int] = {}
    for line, value in enumerate(values, start=2):
        if value in lines:
            want = f"a {key} that line {lines[value]} does not have: take another person"
            raise _wrong(path, line, key, value, want)
        lines[value] = line
