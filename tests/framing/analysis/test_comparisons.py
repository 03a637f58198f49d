import numpy as np
import pytest

from parallax.framing.analysis.comparisons import (
    compare_log_odds,
    compare_subjects,
    order_pair,
    pair_contrasts,
    pair_log_odds,
)
from parallax.framing.analysis.effects import estimate_effects, list_contrasts
from parallax.params import SizePair, TunedPair
from parallax.stats.pairs import cochran_q

SUBJECTS = ("base", "instruct")


@pytest.fixture
def effects(sample, logs_of, settings):
    """Items 0 to 5 refuse under E: with `instruct` in all draws, with `base` items 0 and 1 do."""
    keys = sample.make_keys(6, SUBJECTS, draws=4)

    def choose(row):
        reach = 6 if row.subject == "instruct" else 2
        refuses = row.arm == "E" and int(row.item[1:]) < reach
        return "refusal" if refuses else "harmful_compliance"

    table = sample.make_log_odds(
        keys, lambda row: (row.arm == "E") * (1.0 + (row.subject == "instruct")), spread=0
    )
    logs = logs_of(keys, choose, log_odds=table)
    found = {}
    for subject in SUBJECTS:
        measures = {
            outcome: logs.judged(subject, "lexical", outcome)
            for outcome in ("refusal", "harmful_compliance")
        }
        measures["log_odds"] = logs.log_odds[subject]
        contrasts = [
            contrast
            for outcome, values in measures.items()
            for contrast in list_contrasts(values, outcome, logs.design, "none")
        ]
        found[subject] = estimate_effects(subject, "lexical", contrasts, logs.families, settings)
    return found


def test_pairs_have_an_order():
    assert order_pair(TunedPair(base="b", instruct="i")) == ("i", "b")
    assert order_pair(SizePair(small="s", large="l")) == ("l", "s")


def test_differences_of_differences_by_item(effects):
    found = pair_contrasts(effects["instruct"], effects["base"])
    assert [(c.outcome, c.name, c.role) for c in found] == [
        ("refusal", "E-N", "primary"),
        ("refusal", "E-D", "primary"),
        ("harmful_compliance", "E-D", "primary"),
    ]
    np.testing.assert_array_equal(found[0].differences.values, [0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(found[2].differences.values, [0, 0, -1, -1, -1, -1])


def test_differences_of_log_odds(effects):
    found = {c.name: c for c in pair_log_odds(effects["instruct"], effects["base"])}
    np.testing.assert_allclose(found["E-N"].differences, np.ones(6))
    np.testing.assert_allclose(found["D-N"].differences, np.zeros(6))
    assert {c.role for c in found.values()} == {"exploratory"}


def test_all_subjects_together(effects):
    found = {(test.outcome, test.contrast): test for test in compare_subjects(effects, 0, "a")}
    test = found["refusal", "E-N"]
    # Items that moved towards caution: (1, 1) twice and (0, 1) four times.
    moved = np.array([[1, 1]] * 2 + [[0, 1]] * 4, dtype=float)
    assert test.cochran == cochran_q(moved)
    assert test.omnibus.means == pytest.approx((1 / 3, 1))
    # Harmful compliance falls where refusal rises: the same items moved towards caution.
    assert found["harmful_compliance", "E-D"].cochran.statistic == test.cochran.statistic


def test_log_odds_have_an_omnibus_alone(effects):
    found = compare_log_odds(effects, 0)
    assert [test.contrast for test in found] == ["E-N", "E-D"]
    assert found[0].cochran is None
    assert found[0].omnibus.means == pytest.approx((1, 2))
