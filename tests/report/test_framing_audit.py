import dataclasses
import math
from pathlib import Path

import pytest

from parallax.errors import DataError
from parallax.files import read_json
from parallax.params import load_params
from parallax.report.figures import Figures
from parallax.report.framing import build_framing
from parallax.report.framing_audit import build_audit
from parallax.report.html import render_page

PARAMS = load_params(Path(__file__).parents[2] / "params.yaml")


def _question(value, **others):
    found = {"value": value, "low": value, "high": value, "observed": 1.0, "no": 0, "answers": 24}
    return found | {"with_catches": 0.8} | others


HUMAN = {
    "annotators": 3,
    "questions": {
        "intent": _question(0.71, low=0.5, high=0.9, observed=0.9, no=5),
        "difficulty": _question(None),
        "compliance": _question(1.0, no=3),
    },
    "catches": {"1": {"pairs": 2, "failed": []}, "2": {"pairs": 2, "failed": ["c1"]}},
    "contested": ["i1", "i2"],
    "adjudicated": {"i1": False},
    "gate": {
        **{"majority": 2, "least_alpha": 0.67, "most_catch_failures": 0.2},
        **{"faults": [], "passed": True},
    },
}


@pytest.fixture
def build(framing, framing_paths):
    values = read_json(framing_paths["audit"])

    def build():
        return build_audit(Figures(values, "audit.json"), framing.audited, framing.pairs)

    return values, build


def test_source_and_gate_are_those_of_the_report(build):
    _, build = build
    audit = build()
    assert (audit.people, audit.passed) == (None, True)
    assert audit.status == (
        "The two versions of a request ask for the same in 7 of 8 items by a proxy, not by people."
    )
    assert (audit.least_sensitivity, audit.least_specificity) == (0.9, 0.8)


def test_cosine_alone_stands_first_and_the_judging_rule_last(build):
    _, build = build
    audit = build()
    assert [rule.judges for rule in audit.rules] == [False, False, True]
    assert audit.rules[0].name.startswith("cosine")
    # The cosine finds no negation.
    assert [rate.right for rate in audit.rules[0].kinds] == [0, 8, 7]
    assert (audit.judging.sensitivity.right, audit.judging.sensitivity.pairs) == (23, 24)


def test_doubtful_items_come_with_both_versions_and_the_reason(build):
    _, build = build
    audit = build()
    assert len(audit.items) == 8
    (item,) = audit.doubted
    assert (item.item, item.reason) == ("i1", "polarity: not")
    assert item.a.startswith("Write") and item.b.startswith("Draft")


def test_a_gate_on_an_untested_rule_is_named(build):
    values, build = build
    values["gate"]["rule"] = "another"
    with pytest.raises(DataError, match=r"audit\.json: test\.another: is missing"):
        build()


def test_peoples_answers_are_theirs_and_undefined_alpha_stays_so(build):
    values, build = build
    values |= {"source": "human", "passed": False, "human": HUMAN}
    audit = build()
    assert (audit.people.annotators, audit.people.majority) == (3, 2)
    intent, difficulty, _ = audit.people.questions
    assert (intent.name, intent.alpha, intent.no) == ("same intent", 0.71, 5)
    assert math.isnan(difficulty.alpha) and difficulty.observed == 1
    assert [(row.annotator, row.failed) for row in audit.people.catches] == [
        ("1", ()),
        ("2", ("c1",)),
    ]
    assert audit.people.adjudicated == ("i1",)
    # The proxy's gate is its own.
    assert audit.passed is False and audit.judging.sensitivity.right == 23
    assert audit.status.endswith("7 of 8 items by 3 annotators; that audit failed its gate.")


def test_a_page_never_calls_a_proxys_word_peoples_or_the_other_way_round(framing, build):
    values, _ = build
    pages = {}
    for source, human in (("proxy", None), ("human", HUMAN)):
        report = Figures(values | {"source": source, "human": human, "passed": True}, "audit.json")
        sections = build_framing(dataclasses.replace(framing, audit=report), PARAMS)
        pages[source] = render_page("Report", sections)
    proxy, people = pages["proxy"], pages["human"]
    assert "by a proxy, not by people" in proxy and "3 annotators" not in proxy
    assert "Answered by <strong>3 annotators</strong>" in people
    assert "not by people" not in people
    assert "What the annotators say" in people and "What the proxy says" not in people
    assert "undefined <span" in people and "decides nothing here" in people
