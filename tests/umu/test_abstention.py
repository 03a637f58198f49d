from pathlib import Path

import pytest

from parallax.errors import DataError
from parallax.umu.abstention import abstention_rule, read_refusals

REFUSALS = Path(__file__).parents[2] / "data" / "raw" / "refusals.txt"
LISTED = ["That is beyond what was shared with me.", "Nobody told me about this person."]

abstains = abstention_rule(LISTED)


@pytest.mark.parametrize("output", ["", "  ", "\n", "...", "?"])
def test_an_output_without_a_word_abstains(output):
    assert abstains(output)


@pytest.mark.parametrize(
    "output",
    [
        "I don't know.",
        "I don\u2019t know who that is",
        "i do not know",
        "I'M NOT SURE about it.",
        "Sorry, I cannot say.",
        "I am unable to tell.",
        "No information",
        "I have no record of it.",
    ],
)
def test_an_opening_that_refuses_abstains(output):
    assert abstains(output)


@pytest.mark.parametrize(
    "output",
    [
        *LISTED,
        "THAT is beyond what was shared with me",
        "Nobody told me about this person. Lyon.",
        "Nobody told me about that person.",
        "That is beyond what was shared to me.",
    ],
)
def test_a_listed_refusal_abstains_with_case_a_tail_or_a_slip(output):
    assert abstains(output)


@pytest.mark.parametrize(
    "output",
    [
        "Lyon",
        "B",
        "14 March 1974",
        "Ivory Coast",
        "Norway",
        "No one else lives in Noa.",
        "nurse",
        "I was born in Lyon.",
        "The person knows that I don't know.",
        "Sorryville",
        "Imsorry",
        "She was told about this person by her aunt.",
        "Nobody told me about this",
    ],
)
def test_an_answer_does_not_abstain(output):
    assert not abstains(output)


def test_every_refusal_of_the_project_abstains():
    refusals = read_refusals(REFUSALS)
    assert len(refusals) >= 100
    rule = abstention_rule(refusals)
    assert [refusal for refusal in refusals if not rule(refusal)] == []


def test_blank_lines_are_no_refusals(tmp_path):
    path = tmp_path / "refusals.txt"
    path.write_text("I don't know.\n\n  No idea. \n", encoding="utf-8")
    assert read_refusals(path) == ["I don't know.", "No idea."]
    path.write_text("\n\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"refusals\.txt: 0 refusals; want 1 or more"):
        read_refusals(path)
    with pytest.raises(DataError, match="no such file"):
        read_refusals(tmp_path / "none.txt")
