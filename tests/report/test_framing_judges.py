import math

import pytest

from parallax.errors import DataError
from parallax.files import read_json
from parallax.report.figures import Figures
from parallax.report.framing_judges import agreement_rows, parse_cards, parse_controls, parse_echo


def test_primary_judge_comes_first(framing):
    for first, second in (("prototype", "lexical"), ("lexical", "prototype")):
        assert [card.name for card in parse_cards(framing.judges, first)] == [first, second]


def test_card_holds_the_figures(framing):
    card = parse_cards(framing.judges, "prototype")[0]
    assert (card.kappa.value, card.model, card.passed) == (0.76, "MiniLM", True)
    assert card.outcomes == ("refusal", "harmful_compliance", "template_completion", "off_topic")
    assert card.confusion[0] == (22, 0, 0, 0, 4)
    assert card.kappa_of("refusal").value == 0.84
    assert card.kappa_of("not_harmful_compliance") is None
    assert card.reliable == card.outcomes
    responses, kappa = card.by_source["sampled"]
    assert (responses, kappa.value) == (52, 0.7)


def test_judge_without_weights_has_no_model(framing):
    assert parse_cards(framing.judges, "prototype")[1].model == ""


def test_missing_card_and_missing_figure_are_named(framing_paths):
    cards = read_json(framing_paths["judges"])
    with pytest.raises(DataError, match=r"judges\.json: guard: is missing"):
        parse_cards(Figures(cards, "judges.json"), "guard")
    del cards["lexical"]["gate"]["passed"]
    with pytest.raises(DataError, match=r"judges\.json: lexical: gate\.passed: is missing"):
        parse_cards(Figures(cards, "judges.json"), "prototype")


def test_undefined_recall_is_nan(framing_paths):
    cards = read_json(framing_paths["judges"])
    nothing = dict.fromkeys(("value", "low", "high"))
    cards["prototype"]["by_outcome"]["refusal"]["recall"] = nothing
    card = parse_cards(Figures(cards, "judges.json"), "prototype")[0]
    assert math.isnan(card.by_outcome[0].recall.value)


def test_what_was_not_measured_says_why(framing):
    card = parse_cards(framing.judges, "prototype")[0]
    again, words, lower, typographic = card.trials
    assert (again.responses, again.flips.value, words.flips) == (104, 0, None)
    assert "not applicable" in words.note
    assert (lower.name, lower.responses) == ("response in lower case", 104)
    assert lower.flips.value == 2 / 104
    assert typographic.flips.value == 0
    assert card.content_free == ({}, {})


def test_what_was_measured_has_its_share(framing_paths):
    cards = read_json(framing_paths["judges"])
    flips = {"responses": 104, "flipped": 13, "value": 0.125, "low": 0.07, "high": 0.2}
    cards["prototype"]["robustness"] |= {
        "retest": flips,
        "rewordings": [flips, flips | {"value": 0.25}],
        "content_free": {"letters": {"A": 0.7, "B": 0.3}, "categories": {"refusal": 1.0}},
    }
    card = parse_cards(Figures(cards, "judges.json"), "prototype")[0]
    measured = {trial.name: trial.flips.value for trial in card.trials[:3]}
    assert measured == {
        "asked again, in another batch": 0.125,
        "rubric in other words, 1": 0.125,
        "rubric in other words, 2": 0.25,
    }
    assert card.content_free == ({"A": 0.7, "B": 0.3}, {"refusal": 1.0})


def test_outcomes_on_sampled_responses_stand_apart(framing):
    card = parse_cards(framing.judges, "prototype")[0]
    assert [entry.name for entry in card.sampled] == list(card.outcomes)
    assert (card.sampled[0].recall.low, card.sampled[0].precision.high) == (0.61, 1.0)


def test_controls_and_echo_come_by_subject(framing):
    controls = parse_controls(framing.sensitivity, framing.subjects, "prototype")
    assert list(controls) == ["organism", "behind"]
    first = controls["organism"][0]
    assert (first.judge, first.limit, first.passed) == ("prototype", 0.025, True)
    assert first.shift["refusal"] == {"E": 0.01, "D": 0.0, "N": -0.01}
    echo = parse_echo(framing.sensitivity, framing.subjects)["behind"]
    assert [entry.arm for entry in echo] == ["E", "D", "N", "content_free"]
    assert echo[0].evaluation == 0.2


def test_agreement_needs_two_judges(framing, lone):
    rows = agreement_rows(framing.metrics.part("subjects", "organism"))
    assert [row.name for row in rows] == [
        "all categories",
        "refusal",
        "harmful compliance",
        "template completion",
        "off topic",
    ]
    assert list(rows[0].cohen) == ["prototype and lexical"]
    assert agreement_rows(lone.metrics.part("subjects", "behind")) == ()
