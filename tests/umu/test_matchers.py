import math
from typing import get_args

import pytest

from parallax.errors import DataError, ParamsError
from parallax.params import Matcher
from parallax.umu.matchers import MATCHERS, Choice

CITIES = ("Oslo", "Lyon", "Porto", "Turin")


def match(name, output, options=CITIES, logprobs=()):
    return MATCHERS[name](Choice(output, options, logprobs))


def test_every_matcher_of_the_params_is_registered():
    assert tuple(MATCHERS) == get_args(Matcher)


def test_unknown_matcher_names_the_known_ones():
    with pytest.raises(ParamsError, match="rapidfuzz, difflib, exact, likelihood"):
        MATCHERS["fuzzy"]


@pytest.mark.parametrize("name", ["rapidfuzz", "difflib", "exact"])
def test_an_options_text_is_that_option(name):
    assert [match(name, city) for city in CITIES] == [0, 1, 2, 3]
    assert match(name, " Porto\n") == 2


@pytest.mark.parametrize(
    "output",
    [
        "B",
        "b",
        "(B)",
        "B.",
        "B)",
        "B:",
        "B. Lyon",
        "b) lyon",
        "(B) Lyon.",
        "B. because it is so",
        "Answer: B",
        "The answer is B.",
        "The correct answer is (B) Lyon",
        "Option B",
    ],
)
def test_rapidfuzz_takes_a_letter_form_as_its_option(output):
    assert match("rapidfuzz", output) == 1


def test_rapidfuzz_believes_the_text_after_the_letter_where_it_is_another_option():
    assert match("rapidfuzz", "A. Lyon") == 1


def test_rapidfuzz_takes_an_option_that_is_a_letter_as_text():
    assert match("rapidfuzz", "B", ("B", "A", "D", "C")) == 0


def test_rapidfuzz_does_not_take_an_article_for_a_letter():
    # Without the mark after "A" the sentence goes to the similarity, which finds the nurse.
    assert match("rapidfuzz", "A nurse", ("chef", "nurse", "tailor", "judge")) == 1


@pytest.mark.parametrize("city", range(4))
@pytest.mark.parametrize("form", ["The person was born in {}.", "LYON? no, {}!", "It is  {} , yes"])
def test_rapidfuzz_finds_the_option_in_a_sentence(city, form):
    options = ("Marseille", "Ulm", "Santiago de Compostela", "Porto")
    assert match("rapidfuzz", form.format(options[city]), options) == city


def test_rapidfuzz_takes_the_longer_of_two_options_that_both_occur():
    options = ("Niger", "Nigeria", "Chad", "Mali")
    assert match("rapidfuzz", "It is Nigeria", options) == 1
    assert match("rapidfuzz", "It is Niger", options) == 0


def test_rapidfuzz_tells_apart_options_that_differ_in_signs_alone():
    options = ("C#", "C++", "C", "Rust")
    assert [match("rapidfuzz", option, options) for option in options] == [0, 1, 2, 3]


def test_rapidfuzz_survives_a_slip_and_other_scripts():
    assert match("rapidfuzz", "Protto") == 2
    assert match("rapidfuzz", "부산입니다", ("서울", "부산", "대구", "인천")) == 1


@pytest.mark.parametrize("name", ["rapidfuzz", "difflib"])
def test_every_output_is_mapped_and_the_first_of_equals_wins(name):
    assert match(name, "") == 0
    assert match(name, "xyz", ("ab", "ba", "ay", "ya")) == 2
    assert match(name, "I don't know") in range(4)


def test_difflib_is_the_ratio_on_raw_texts():
    # SequenceMatcher("aB", .): "ab" matches 1 of 2 + 2 characters, ratio 2*1/4 = .5;
    # "aBcd" matches 2, ratio 2*2/6 = .67; "AB" 1, .5; "xxaB" 2, .67: first of the equals.
    assert match("difflib", "aB", ("ab", "aBcd", "AB", "xxaB")) == 1


def test_difflib_knows_no_letters():
    # "B" occurs in no option but "Bern": 2*1/(1+4) = .4.
    assert match("difflib", "B", ("Oslo", "Lyon", "Porto", "Bern")) == 3


@pytest.mark.parametrize("output", ["", "lyon", "Lyon.", "B", "B. Lyon", "It is Lyon"])
def test_exact_chooses_nothing_unless_the_text_is_the_options(output):
    assert match("exact", output) is None


def test_likelihood_takes_the_greatest_sum_whatever_the_output():
    assert match("likelihood", "Oslo", logprobs=(-3.0, -2.0, -1.5, -9.0)) == 2
    assert match("likelihood", "", logprobs=(-3.0, -1.0, -1.0, -2.0)) == 1
    assert match("likelihood", "", logprobs=(-math.inf, -8.0, -9.0, -math.inf)) == 1


@pytest.mark.parametrize("logprobs", [(), (-1.0, -2.0), (-1.0, math.nan, -1.0, -1.0)])
def test_likelihood_needs_a_number_for_each_option(logprobs):
    with pytest.raises(DataError, match=r"option_logprobs .* for 4 options"):
        match("likelihood", "Oslo", logprobs=logprobs)
