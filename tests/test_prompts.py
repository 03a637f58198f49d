import pytest

from parallax.prompts import render_question
from parallax.records import Question

FOUR = ("Lyon", "Osaka", "Quito", "Turin")


def test_classification_lists_its_options_one_a_line():
    expected = "Where?\nA. Lyon\nB. Osaka\nC. Quito\nD. Turin"
    assert render_question(Question("Where?", "Quito", FOUR), "classification") == expected


@pytest.mark.parametrize("task", ["qa", "cloze", "generation"])
def test_other_tasks_are_the_bare_question(task):
    assert render_question(Question("Where?", "Quito"), task) == "Where?"


@pytest.mark.parametrize("options", [(), FOUR[:3], (*FOUR, "Dakar")])
def test_a_classification_has_exactly_four_options(options):
    with pytest.raises(ValueError, match="zip"):
        render_question(Question("Where?", "Lyon", options), "classification")
