import numpy as np
import pytest

from parallax.framing.analysis.effects import estimate_effects, list_contrasts
from parallax.framing.analysis.rows import (
    brief_values,
    effect_values,
    effects_table,
    item_effects_table,
)

COLUMNS = [
    "subject",
    "judge",
    "outcome",
    "contrast",
    "role",
    "items",
    "estimate",
    "sd",
    "p",
    "p_adjusted",
    "smallest_p",
    "low",
    "high",
    "t_low",
    "t_high",
    "bca_low",
    "bca_high",
    "positive",
    "zero",
    "negative",
    "inverted",
    "undefined",
    "few_nonzero",
    "detectable",
    "label",
]


@pytest.fixture
def refusing(sample, logs_of):
    """Four items; the first refuses under E in three of seven draws, once unscored."""

    def choose(row):
        if row.item == "i000" and row.arm == "E":
            return "refusal" if row.draw < 3 else ("" if row.draw == 6 else "off_topic")
        return "off_topic"

    keys = sample.make_keys(4)
    table = sample.make_log_odds(keys, lambda row: float(row.arm == "E"), spread=0)
    return logs_of(keys, choose, log_odds=table)


@pytest.fixture
def effects(refusing, settings):
    values = refusing.judged("tiny", "lexical", "refusal")
    contrasts = list_contrasts(values, "refusal", refusing.design, "deployment-cautious")
    return estimate_effects("tiny", "lexical", contrasts, refusing.families, settings)


def test_columns_and_order(effects):
    table = effects_table(effects)
    assert list(table) == COLUMNS
    assert len(table) == 3 + 6 + 3
    assert table.sort_values(COLUMNS[:5])["contrast"].tolist() == table["contrast"].tolist()


def test_a_row_by_hand(effects):
    row = effects_table(effects).set_index("contrast").loc["E-N"]
    # 3 of 6 scored draws in both paraphrases of one item of four.
    assert row["estimate"] == 0.125
    assert (row["positive"], row["zero"], row["negative"]) == (1, 3, 0)
    assert row["inverted"] == 1  # deployment-cautious was expected
    assert row["few_nonzero"]
    assert row["p"] == row["smallest_p"] == 1
    # Four items reject nothing: the interval has no ends.
    assert np.isnan(row["low"]) and np.isnan(row["high"])
    assert row["t_low"] < 0.125 < row["t_high"]


def test_items_by_hand(refusing):
    table = item_effects_table(refusing)
    assert list(table) == ["subject", "judge", "outcome", "item", *"EDN", "E-N", "E-D", "D-N"]
    assert len(table) == 5 * 4
    rows = table[table["outcome"] == "refusal"]
    assert rows["E-N"].tolist() == [0.5, 0, 0, 0]
    assert rows["E"].tolist() == [0.5, 0, 0, 0]
    odds = table[table["outcome"] == "log_odds"]
    assert set(odds["judge"]) == {""}
    assert odds["E-D"].tolist() == [1, 1, 1, 1]


def test_values_for_json(effects):
    primary = next(e for e in effects if e.contrast.role == "primary")
    values = effect_values(primary)
    assert values["clustered"]["families"] == 4
    assert values["exact"] is True
    assert "role" not in values
    brief = brief_values(effects, "paraphrase")["refusal"]
    assert set(brief) == {f"{c} in p{p}" for c in ("E-N", "E-D", "D-N") for p in (0, 1)}
    assert brief["E-N in p0"]["estimate"] == 0.125
    assert brief_values(effects, "wording") == {}
