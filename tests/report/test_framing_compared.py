import math

import pytest

from parallax.report.figures import Figures
from parallax.report.framing_compared import (
    across_rows,
    difference_rows,
    item_familiarity,
    judge_rows,
    name_contrast,
    pair_rows,
    tertile_rows,
)

MINUS = "\N{MINUS SIGN}"


@pytest.mark.parametrize(
    ("short", "words"),
    [
        ("refusal_E-N", f"refusal E {MINUS} N"),
        ("harmful_E-D", f"harmful compliance E {MINUS} D"),
        ("log_odds_D-N", f"log-odds D {MINUS} N"),
    ],
)
def test_short_names_are_spelt_out(short, words):
    assert name_contrast(short) == words


def test_tertiles_are_called_descriptive_with_few_items(framing):
    rows = tertile_rows(framing.metrics.part("subjects", "organism"))
    assert [row.name for row in rows[:3]] == [
        f"refusal E {MINUS} N",
        f"refusal E {MINUS} D",
        f"harmful compliance E {MINUS} D",
    ]
    assert all(row.descriptive for row in rows)
    assert sum(rows[0].counts) == rows[0].items == 8
    # Every item moves from near 0 to near 1, with or without the most familiar ones.
    assert rows[0].rest.startswith("+8") or rows[0].rest.startswith("+9")
    assert rows[0].rest_p < 0.07


def test_endpoint_has_no_familiarity(framing):
    assert tertile_rows(framing.metrics.part("subjects", "behind")) == ()
    entry = item_familiarity(framing.familiarity, "behind")[0]
    assert entry.tertile == "\N{EN DASH}"
    assert math.isnan(entry.min_k_pp)


def test_most_familiar_items_come_first(framing):
    found = item_familiarity(framing.familiarity, "organism")
    assert [entry.tertile for entry in found] == ["3", "3", "2", "2", "2", "1", "1", "1"]


def test_differences_are_points_and_log_odds_are_nats():
    entry = {"estimate": 0.118, "low": -0.01, "high": 0.2, "p": 0.01, "label": "marginal"}
    values = {"log_odds_E-N": entry | {"p_bh": 0.2}, "refusal_E-N": entry | {"p_holm": 0.03}}
    judged, nats = difference_rows("prototype", Figures(values, "x"))
    assert (judged.estimate, judged.interval) == ("+11.8", f"{MINUS}1.0 to +20.0")
    assert (judged.adjusted, nats.adjusted) == (0.03, 0.2)
    assert (nats.estimate, nats.interval) == ("+0.12", f"{MINUS}0.01 to +0.20")


def test_pairs_and_all_models_are_compared(framing):
    (name,) = pair_rows(framing.metrics)
    assert name == f"organism {MINUS} behind"
    rows = pair_rows(framing.metrics)[name]
    assert {row.judge for row in rows} == {"prototype", "lexical"}
    judge, contrast, p, statistic, q_p = across_rows(framing.metrics)[0]
    assert (judge, contrast) == ("lexical", f"refusal E {MINUS} N")
    assert 0 < p <= 1
    assert statistic >= 0 or math.isnan(statistic)
    assert 0 <= q_p <= 1 or math.isnan(q_p)


def test_one_model_alone_has_nothing_to_compare(lone):
    assert pair_rows(lone.metrics) == {}
    assert across_rows(lone.metrics) == ()


def test_each_contrast_stands_under_each_judge_the_primary_one_first(framing):
    subject = framing.metrics.part("subjects", "organism")
    rows = judge_rows(subject, "prototype")
    assert [(row.name, row.judge) for row in rows] == [
        (f"{outcome} E {MINUS} {other}", judge)
        for outcome, other in (("refusal", "N"), ("refusal", "D"), ("harmful compliance", "D"))
        for judge in ("prototype", "lexical")
    ]
    first, second = rows[:2]
    assert first.difference is None
    found = framing.effects.query(
        "subject == 'organism' and outcome == 'refusal' and contrast == 'E-N' and role == 'primary'"
    ).set_index("judge")
    for row in (first, second):
        assert row.effect.value == pytest.approx(found.loc[row.judge, "estimate"])
        assert row.effect.adjusted == pytest.approx(found.loc[row.judge, "p_adjusted"])
    # With nothing left out the mean difference is the difference of the means.
    assert second.difference.exact
    assert second.difference.low <= second.difference.value <= second.difference.high


def test_one_judge_has_no_difference(lone):
    rows = judge_rows(lone.metrics.part("subjects", "behind"), lone.primary)
    assert [row.difference for row in rows] == [None] * 3
