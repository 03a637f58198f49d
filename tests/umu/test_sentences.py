import random
from pathlib import Path

import pytest

from parallax.errors import DataError
from parallax.umu.raw_tables import Hobby, Occupation, RawTables, read_raw_tables
from parallax.umu.sentences import Subject, Writer
from parallax.words import fold_words

RAW = Path(__file__).parents[2] / "data" / "raw"
BAKER = Occupation("baker", 19, 70, ("High school diploma",), "food", "bread")


def make_tables(**changes) -> RawTables:
    parts = dict.fromkeys(RawTables.__dataclass_fields__, ())
    parts |= {
        "templates": {"food": ("In {year} {he} sold {topic} in {place}.",)},
        "phrases": {"bread": ("rye bread",)},
        "hobbies": (Hobby("skates", 14, 60),),
        "hobby_settings": ("with two friends",),
    }
    return RawTables(**(parts | changes))


def test_background_fills_every_slot():
    # 2006 is born + youngest age (1987 + 19); 2052 = born + 65 lies after 2025, so 2025 is last.
    subject = Subject("Ada Roe", "female", 1987, 38, BAKER)
    writer = Writer(make_tables())
    years = {
        writer.write_background(subject, [place], random.Random(seed))
        for seed, place in enumerate(map(str, range(300)))
    }
    found = {int(sentence.split()[1]) for sentence in years}
    assert (min(found), max(found)) == (2006, 2025)
    assert all(" she sold rye bread in " in sentence for sentence in years)


def test_no_background_tells_of_a_year_after_retirement():
    subject = Subject("Ada Roe", "female", 1950, 75, BAKER)  # 1950 + 65 = 2015
    writer = Writer(make_tables())
    texts = [writer.write_background(subject, [str(n)], random.Random(n)) for n in range(300)]
    assert max(int(text.split()[1]) for text in texts) == 2015


def test_same_sentence_is_never_written_twice():
    subject = Subject("Ada Roe", "male", 2000, 25, BAKER)
    writer = Writer(make_tables())
    assert writer.write_interest(subject, random.Random(0)) == "He skates with two friends."
    with pytest.raises(DataError, match=r"hobbies\.csv: no new sentence for Ada Roe"):
        writer.write_interest(subject, random.Random(1))


def test_a_man_and_a_woman_have_different_sentences():
    writer = Writer(make_tables())
    writer.write_interest(Subject("Ada Roe", "female", 2000, 25, BAKER), random.Random(0))
    with pytest.raises(DataError, match=r"hobbies\.csv: no new sentence for Jo Doe"):
        writer.write_interest(Subject("Jo Doe", "male", 2000, 25, BAKER), random.Random(0))


def test_name_is_kept_out_of_the_sentence():
    writer = Writer(make_tables(phrases={"bread": ("rye bread", "barley bread")}))
    subject = Subject("Álva Rye", "male", 2000, 25, BAKER)
    texts = [writer.write_background(subject, [str(n)], random.Random(n)) for n in range(30)]
    assert all("barley bread" in text for text in texts)


def test_hobbies_fit_the_age():
    subject = Subject("Ada Roe", "male", 1960, 65, BAKER)
    with pytest.raises(DataError, match="nothing fits the age 65"):
        Writer(make_tables()).write_interest(subject, random.Random(0))


def test_every_career_makes_clean_sentences():
    tables = read_raw_tables(RAW)
    writer = Writer(tables)
    for occupation in tables.occupations:
        for gender, other in (("male", {"she", "her"}), ("female", {"he", "him", "his"})):
            subject = Subject("Ada Roe", gender, 2025 - occupation.min_age, 0, occupation)
            text = writer.write_background(subject, ["Nowhere"], random.Random(1))
            assert "{" not in text
            assert other.isdisjoint(fold_words(text).split())
