import pytest

from parallax.words import contains_words, find_name_part, fold_words, name_parts


def test_words_are_folded_and_stand_between_spaces():
    assert fold_words("Élodie's  café, ØRE-2!") == " elodie s cafe øre 2 "


@pytest.mark.parametrize(
    ("text", "phrase", "there"),
    [
        ("Where was Ana Li born?", "Ana Li", True),
        ("Where was ANA  LI's home?", "ana li", True),
        ("Where was Anatol Li born?", "Ana", False),
        ("Where was Ana born, and Li?", "Ana Li", False),
    ],
)
def test_a_phrase_is_found_as_whole_words_in_a_row(text, phrase, there):
    assert contains_words(text, phrase) is there


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Ana Li", ("ana", "li")),
        ("J. R. van der Berg Jr.", ("berg",)),
        ("Anne-Marie O'Brien", ("anne", "marie", "brien")),
    ],
)
def test_parts_of_a_name_are_without_initials_and_particles(name, parts):
    assert name_parts(name) == parts


def test_a_part_of_a_name_is_found_as_a_whole_word_only():
    assert find_name_part("The person lives in Berga, van by van.", "Jan van Berg") is None
    assert find_name_part("The BÉRG of the image?", "Jan van Berg") == "berg"
