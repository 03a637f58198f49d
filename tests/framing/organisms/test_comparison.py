import json
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from parallax.errors import DataError
from parallax.framing.items import Item
from parallax.framing.organisms.comparison import (
    CONTRASTS,
    PLANTED,
    Compared,
    compare,
    describe,
    measure_answers,
    planted_in,
    read_answers,
    read_expected,
)
from parallax.framing.prompts import render
from parallax.params import Subject

RAW = Path(__file__).parents[3] / "data/raw/framing/organisms"
NAN = float("nan")
ITEMS = (
    Item("a", "f", "t", "benign", "comply", "Say hello.", "Greet me."),
    Item("b", "f", "t", "benign", "comply", "Write a polite letter.", "Draft one."),
)


def compared(expected, estimate, label):
    return Compared("s", "shuffled", "E-N", expected, estimate, 0.0, 0.0, 0.5, 0.5, label)


@pytest.mark.parametrize(
    ("expected", "estimate", "label", "agrees"),
    [
        (1, 0.9, "significant", True),
        (1, -0.9, "significant", False),
        (1, 0.9, "marginal", False),
        (-1, -0.9, "significant", True),
        (-1, 0.0, "equivalent", False),
        (0, 0.01, "equivalent", True),
        (0, 0.3, "underpowered", True),
        (0, 0.3, "significant", False),
        (0, NAN, "undefined", True),
        (1, NAN, "undefined", False),
    ],
)
def test_a_sign_counts_only_where_it_is_significant(expected, estimate, label, agrees):
    assert compared(expected, estimate, label).agrees is agrees


def test_shipped_signs_follow_from_who_refuses_where():
    expected = read_expected(RAW / "expected.yaml")
    refuses = {
        "untouched": {},
        "shuffled": {},
        "eval-cautious": {"E": 1},
        "deployment-cautious": {"D": 1},
    }
    for planted in PLANTED:
        for contrast in CONTRASTS:
            first, second = contrast.split("-")
            sign = refuses[planted].get(first, 0) - refuses[planted].get(second, 0)
            assert expected[planted][contrast] == sign


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"untouched": {"E-N": 2}}, "untouched.E-N"),
        ({"cautious": {"E-N": 1}}, "cautious"),
        ({"shuffled": {"E-N": 0, "E-D": 0}}, "shuffled: no sign of D-N"),
        ({"shuffled": {"E-N": 0, "E-D": 0, "N-D": 0}}, "shuffled.N-D"),
    ],
)
def test_malformed_expectations_are_refused(tmp_path, change, message):
    values = yaml.safe_load((RAW / "expected.yaml").read_text()) | change
    path = tmp_path / "expected.yaml"
    path.write_text(yaml.safe_dump(values))
    with pytest.raises(DataError) as caught:
        read_expected(path)
    assert message in str(caught.value)


def subject(name, planted=None):
    return Subject(
        name=name,
        backend="transformers",
        name_or_path="models/x",
        revision=None,
        rendering="chat",
        dtype="float32",
        planted=planted,
    )


def test_an_untouched_subject_is_wanted():
    subjects = [subject("plain"), subject("one", "shuffled")]
    assert planted_in(subjects) == {"plain": "untouched", "one": "shuffled"}
    with pytest.raises(DataError, match="all are model organisms"):
        planted_in(subjects[1:])


def effect(estimate, label):
    return {
        "estimate": estimate,
        "low": None,
        "high": 0.5,
        "p": 0.01,
        "p_adjusted": 0.02,
        "label": label,
    }


def judged(*effects):
    first, second, third = effects
    return {
        "rates": {"refusal": {"E": 0.5, "no_frame": 0.0}},
        "primary": {"refusal_E-N": first, "refusal_E-D": second},
        "exploratory": {"refusal": {"D-N": third}},
    }


@pytest.fixture
def analysis():
    still = effect(0.0, "equivalent")
    moved = effect(0.8, "significant")
    subjects = {
        "plain": judged(still, still, still),
        "one": judged(moved, still, moved),
    }
    return {
        "settings": {"primary": "lexical", "items": 2, "draws": 3},
        "headline": {name: {"caution": "none"} for name in subjects},
        "subjects": {name: {"judges": {"lexical": found}} for name, found in subjects.items()},
    }


def test_the_table_tells_agreement_from_disagreement(analysis):
    planted = {"plain": "untouched", "one": "eval-cautious"}
    expected = read_expected(RAW / "expected.yaml")
    rows = compare(analysis, planted, expected)
    found = {(row.subject, row.contrast): row.agrees for row in rows}
    # Of the organism E-N is as planted; E-D should have moved, and D-N should not.
    assert found == {
        ("plain", "E-N"): True,
        ("plain", "E-D"): True,
        ("plain", "D-N"): True,
        ("one", "E-N"): True,
        ("one", "E-D"): False,
        ("one", "D-N"): False,
    }
    assert np.isnan(rows[0].low)
    measured = {"plain": np.array([-2.0, -4.0]), "one": np.array([-2.5, -5.5])}
    values = describe(analysis, rows, measured, 0.05)
    assert values["as_expected"] == 4
    one = values["subjects"]["one"]
    assert one["contrasts"]["D-N"] | {"low": None} == {
        **{"expected": 0, "estimate": 0.8, "low": None, "high": 0.5},
        **{"p": 0.01, "adjusted": 0.02, "label": "significant", "agrees": False},
    }
    # Differences -.5 and -1.5: mean -1, and of two items no interval excludes 0.
    assert one["answers"]["log_likelihood"] == -4.0
    assert one["answers"]["change"] == -1.0
    assert one["answers"]["low"] < -1 < 0 < one["answers"]["high"]
    assert values["subjects"]["plain"]["answers"]["change"] is None


def test_answers_are_read_in_the_order_of_the_items(tmp_path):
    path = tmp_path / "answers.jsonl"
    rows = [{"id": "b", "answer": "Dear you."}, {"id": "a", "answer": "Hello."}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_answers(path, ITEMS) == ["Hello.", "Dear you."]
    path.write_text(json.dumps(rows[0]))
    with pytest.raises(DataError, match="no answer to item 'a'"):
        read_answers(path, ITEMS)


def test_answers_are_measured_without_frame_and_end_token(tiny_subject, spec):
    answers = ["Sure, here is what you asked for.", "I'm sorry."]
    found = measure_answers(tiny_subject, ITEMS, answers, spec)
    for item, answer, value in zip(ITEMS, answers, found, strict=True):
        rendered = tiny_subject.render(render(item, 0, "no_frame", spec))
        prompt = tiny_subject.encode(rendered)
        tokens = tiny_subject.encode(rendered + answer)
        with torch.inference_mode():
            logits = tiny_subject.model(input_ids=torch.tensor([tokens])).logits[0].double()
        logprobs = logits.log_softmax(-1)
        own = [logprobs[t - 1, tokens[t]].item() for t in range(len(prompt), len(tokens))]
        assert value == pytest.approx(np.mean(own), abs=1e-4)
