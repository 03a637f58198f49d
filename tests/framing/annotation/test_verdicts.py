import dataclasses
import json
import math

import pytest

from parallax.errors import DataError, ParamsError
from parallax.files import write_json
from parallax.framing.annotation.answers import Answers, pair_digest
from parallax.framing.annotation.decisions import Decision
from parallax.framing.annotation.sheets import collect_answers
from parallax.framing.annotation.verdicts import (
    audit_by_people,
    count_catches,
    describe_audit,
    human_values,
    require_people_agreed,
)
from parallax.framing.annotation.votes import choose_votes, count_votes

YES = (True, True, True)


def make(answers, catches=()):
    """Answers from {item: three annotators' triples} and (pair, kind, three triples)."""
    rows = [(item, "", given) for item, given in answers.items()]
    return [
        Answers(
            annotator,
            f"{pair}-{annotator}",
            pair,
            kind,
            pair_digest(pair, pair),
            dict(zip(("intent", "difficulty", "compliance"), triple, strict=True)),
        )
        for pair, kind, given in [*rows, *catches]
        for annotator, triple in zip("123", given, strict=True)
    ]


def audit(answers, decisions=None, least_alpha=0.67, most=0.2):
    return audit_by_people(answers, count_votes(answers), decisions or {}, least_alpha, most)


def triple(no=()):
    return tuple(name not in no for name in ("intent", "difficulty", "compliance"))


@pytest.mark.parametrize(
    ("given", "same", "passed", "contested"),
    [
        ((YES, YES, YES), 3, True, False),
        ((YES, YES, triple(["intent"])), 2, True, True),
        # Each question has two of three, yet one annotator alone says yes to all of them.
        ((YES, triple(["intent"]), triple(["difficulty"])), 1, False, True),
        # All agree that they differ: nothing to discuss, but below the gate.
        ((triple(["intent"]),) * 3, 0, False, True),
    ],
)
def test_two_of_three_must_say_yes_to_all_three_questions(given, same, passed, contested):
    votes = count_votes(make({"i1": given}))["i1"]
    assert (votes.same, votes.passed, votes.contested) == (same, passed, contested)


def test_votes_in_words():
    votes = count_votes(make({"i1": (YES, triple(["intent"]), triple(["intent", "difficulty"]))}))
    assert votes["i1"].summary == (
        "1 of 3 annotators say yes to all three questions (no: intent 2, difficulty 1)"
    )


def test_the_items_asked_about_are_those_of_the_texts(pairs, masked, fill):
    votes = count_votes(collect_answers(masked, [fill(name) for name in "123"]))
    assert list(choose_votes(votes, pairs[:2])) == ["i1", "i2"]
    changed = dataclasses.replace(pairs[0], b="Another.")
    with pytest.raises(DataError, match="item i1: its texts are not those that annotators saw"):
        choose_votes(votes, [changed])
    with pytest.raises(DataError, match="item new: no annotator was asked about it"):
        choose_votes(votes, [dataclasses.replace(pairs[0], item="new")])


def test_alpha_and_agreement_are_hand_worked_and_over_the_items_alone():
    answers = make(
        {
            "i1": (YES, YES, YES),
            "i2": (YES, YES, YES),
            "i3": (triple(["intent"]),) * 3,
            "i4": (YES, YES, triple(["intent"])),
        },
        [("c1", "negation", (triple(["intent"]),) * 3)],
    )
    found = audit(answers).questions["intent"]
    # 12 answers, 4 of them no. Pairs apart: in i4 (2 * 1 + 1 * 2) / 2 = 2 of 12.
    # D_o = 2 / 12, D_e = 2 * 4 * 8 / (12 * 11) = 64 / 132; alpha = 1 - 22 / 64.
    assert found.alpha.value == pytest.approx(1 - 22 / 64)
    assert found.alpha.low <= found.alpha.value <= found.alpha.high
    # Equal pairs: 3 of 3, 3 of 3, 3 of 3, 1 of 3.
    assert found.observed == pytest.approx((3 + 1 / 3) / 4)
    assert (found.no, found.answers) == (4, 12)
    # With the catch pair 15 answers, 7 no: D_e = 2 * 7 * 8 / (15 * 14), D_o = 2 / 15.
    assert found.with_catches == pytest.approx(1 - (2 / 15) / (112 / 210))
    assert audit(answers[::-1]).questions["intent"] == found


def test_where_everybody_always_says_yes_alpha_is_undefined_and_the_gate_passed():
    found = audit(make({"i1": (YES,) * 3, "i2": (YES,) * 3}))
    assert math.isnan(found.questions["intent"].alpha.value)
    assert found.questions["intent"].observed == 1
    assert found.faults == ()
    require_people_agreed(found)


def test_low_alpha_is_named_with_its_question_and_stops():
    # As in tests/stats: one stray "no" in 60 answers makes alpha 0.
    items = {f"i{n}": (YES,) * 3 for n in range(19)} | {"odd": (YES, YES, triple(["difficulty"]))}
    found = audit(make(items))
    assert found.faults == (
        "audit.least_alpha 0.67: alpha on difficulty is 0.000 (agreement 96.7 %, 1 of 60 answers"
        " are no)",
    )
    with pytest.raises(ParamsError, match=r"alpha on difficulty .* docs/audit\.md"):
        require_people_agreed(found)
    # The item itself passes, 2 of 3.
    assert found.judge("odd")[0]
    assert audit(make(items), least_alpha=-0.1).faults == ()


def test_only_the_answers_that_a_catch_pair_leaves_no_doubt_about_can_fail_it():
    odd = triple(["compliance", "intent"])
    answers = make(
        {"i1": (YES,) * 3},
        [
            ("c-equal", "equivalent", (YES, triple(["difficulty"]), YES)),
            ("c-not", "negation", (odd, YES, triple(["intent"]))),
            ("c-target", "changed_target", (odd, odd, YES)),
            ("c-hard", "changed_difficulty", (triple(["difficulty"]), odd, YES)),
        ],
    )
    found = count_catches(answers)
    assert {name: one.failed for name, one in found.items()} == {
        "1": (),
        "2": ("c-equal", "c-hard", "c-not"),
        "3": ("c-hard", "c-target"),
    }
    assert {one.pairs for one in found.values()} == {4}
    faults = audit(answers, most=0.5).faults
    assert faults == (
        "audit.most_catch_failures 0.5: annotator 2 failed 3 of 4 catch pairs"
        " (c-equal, c-hard, c-not)",
    )
    assert len(audit(answers, most=0.2).faults) == 2


def test_a_decision_decides_and_is_told_apart_from_votes():
    answers = make({"i1": (YES, YES, triple(["intent"])), "i2": (YES,) * 3})
    decision = Decision(pair_digest("i1", "i1"), False, "one asks for more")
    found = audit(answers, {"i1": decision, "elsewhere": decision})
    assert found.judge("i1") == (
        False,
        "adjudicated: one asks for more (2 of 3 annotators say yes to all three questions"
        " (no: intent 1))",
    )
    assert found.judge("i2")[0] and found.equivalent == 1
    assert set(found.decisions) == {"i1"}


def test_the_values_are_json_and_name_what_failed(tmp_path):
    answers = make(
        {"i1": (YES, YES, YES), "i2": (triple(["intent"]), YES, triple(["intent"]))},
        [("c1", "negation", (YES, triple(["intent"]), triple(["intent"])))],
    )
    found = audit(answers)
    write_json(tmp_path / "v.json", human_values(found))
    values = json.loads((tmp_path / "v.json").read_text())
    assert values["questions"]["difficulty"]["value"] is None  # NaN
    assert values["catches"]["1"] == {"failed": ["c1"], "pairs": 1}
    assert values["contested"] == ["i2"] and values["adjudicated"] == {}
    assert values["gate"]["passed"] is False and len(values["gate"]["faults"]) == 2
    lines = describe_audit(found)
    assert "difficulty: alpha undefined, agreement 100.0 %, 0 of 6 answers are no" in lines
    assert "annotator 1: 1 of 1 catch pairs failed (c1)" in lines
    assert any(line.startswith("below the gate: i2: 1 of 3 annotators") for line in lines)
