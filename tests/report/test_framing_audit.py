import pytest

from parallax.errors import DataError
from parallax.files import read_json
from parallax.report.figures import Figures
from parallax.report.framing_audit import build_audit


@pytest.fixture
def build(framing, framing_paths):
    values = read_json(framing_paths["audit"])

    def build():
        return build_audit(Figures(values, "audit.json"), framing.audited, framing.pairs)

    return values, build


def test_source_and_gate_are_those_of_the_report(build):
    _, build = build
    audit = build()
    assert (audit.source, audit.passed) == ("proxy", True)
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
