import math

import pandas as pd
import pytest

from parallax.report.framing_tables import build_contrasts, build_controls, contrast_row

NAN = math.nan
ROW = {
    "subject": "s",
    "judge": "j",
    "outcome": "refusal",
    "contrast": "E-N",
    "role": "primary",
    "items": 20,
    "estimate": 0.1179,
    "sd": 0.17,
    "p": 0.00696,
    "p_adjusted": 0.02088,
    "smallest_p": 2.0**-13,
    "low": 0.0371,
    "high": 0.2,
    "t_low": 0.036,
    "t_high": 0.199,
    "bca_low": NAN,
    "bca_high": NAN,
    "positive": 12,
    "zero": 6,
    "negative": 2,
    "inverted": 2,
    "undefined": 0,
    "few_nonzero": False,
    "detectable": 0.112,
    "label": "significant",
}


def test_a_contrast_is_printed_in_points():
    row = contrast_row(ROW)
    assert row.name == "refusal E \N{MINUS SIGN} N"
    # .1179 and .0371 as percentage points to a tenth.
    assert (row.estimate, row.interval) == ("+11.8", "+3.7 to +20.0")
    assert (row.p, row.adjusted, row.smallest_p) == ("0.0070", "0.0209", "0.0001")
    assert (row.counts, row.inverted) == ((12, 6, 2), "2")
    assert row.detectable == "11.2"
    assert row.bca == "\N{EN DASH}"


def test_log_odds_are_printed_in_nats():
    row = contrast_row(ROW | {"outcome": "log_odds", "estimate": -0.456, "detectable": 0.3})
    assert (row.estimate, row.detectable) == ("\N{MINUS SIGN}0.46", "0.30")


@pytest.mark.parametrize("missing", [pd.NA, None, NAN])
def test_without_a_direction_no_item_is_inverted(missing):
    assert contrast_row(ROW | {"inverted": missing}).inverted == "\N{EN DASH}"


def test_primary_family_stands_apart_from_the_exploratory_rest(framing):
    table = build_contrasts(framing.effects, framing.primary, framing.subjects)[0]
    captions = [group.caption.split(",")[0] for group in table.groups]
    assert captions == ["Primary family", "Exploratory", "Exploratory"]
    primary, exploratory, nats = (group.rows for group in table.groups)
    minus = "\N{MINUS SIGN}"
    assert [row.name for row in primary] == [
        f"refusal E {minus} N",
        f"refusal E {minus} D",
        f"harmful compliance E {minus} D",
    ]
    assert len(exploratory) == 3 * 4 - 3
    pairs = ("EN", "ED", "DN")
    assert [row.name for row in nats] == [f"log-odds {a} {minus} {b}" for a, b in pairs]


def test_other_judges_stand_apart(framing):
    table = build_contrasts(framing.effects, framing.primary, framing.subjects)[0]
    (group,) = table.others
    assert group.caption == "The primary family under the judge lexical"
    assert len(group.rows) == 3


def test_endpoint_has_no_log_odds_rows(framing):
    table = build_contrasts(framing.effects, framing.primary, framing.subjects)[1]
    assert table.subject == "behind"
    assert not any("log-odds" in row.name for group in table.groups for row in group.rows)


def test_controls_hold_placebos_and_versions(framing):
    table = build_controls(framing.effects, framing.primary, framing.subjects)[0]
    placebo, versions = table.groups
    minus = "\N{MINUS SIGN}"
    names = [row.name for row in placebo.rows]
    assert f"refusal content free {minus} N" in names
    assert f"refusal version 1 {minus} version 2 in E" in names
    assert f"harmful compliance E {minus} D in version 2" in [row.name for row in versions.rows]
    shown = {row.name.split(f" {minus} ")[0] for group in table.groups for row in group.rows}
    assert not any(name.startswith("off topic") for name in shown)
    assert any(row.name.startswith("off topic") for group in table.others for row in group.rows)
