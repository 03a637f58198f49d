"""From a run's verdicts to a plan, on verdicts whose spread is known."""

import itertools
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parallax.errors import DataError
from parallax.files import read_table, write_table
from parallax.plan.__main__ import main
from parallax.plan.figure import draw_plan
from parallax.plan.pilot import outcomes, read_pilot
from parallax.plan.text import Aim, hours, plan_text, points
from parallax.stats.contrasts import frame_differences
from parallax.stats.designs import Design
from parallax.stats.labels import PRIMARY_FAMILY
from parallax.stats.power import minimum_detectable_effect
from parallax.stats.spread import spread_at

TOP = Path(__file__).parents[2]
REFUSAL_EN = PRIMARY_FAMILY[0]
AIM = Aim(effect=0.1, power=0.8, alpha=0.05, most_items=480, speed=None)


def make_run(folder, subjects=("tiny",), items=20, wordings=("w1",), draws=7, seed=0):
    """Verdicts and responses; items differ in how far E moves them."""
    rng = np.random.default_rng(seed)
    moved = dict(zip(range(items), rng.uniform(-0.3, 0.5, items), strict=True))
    rows = []
    cells = itertools.product(subjects, range(items), (0, 1), ("E", "D", "N", "no_frame"), wordings)
    for subject, item, paraphrase, arm, wording in cells:
        rate = 0.3 + (moved[item] if arm == "E" else 0.0)
        for draw in range(draws):
            luck = rng.random()
            category = "refusal" if luck < rate else "harmful_compliance" if luck < 0.9 else ""
            rows.append((subject, f"i{item:02d}", paraphrase, arm, wording, draw, category))
    names = ["subject", "item", "paraphrase", "arm", "wording", "draw", "category"]
    table = pd.DataFrame(rows, columns=names)
    write_table(folder / "verdicts.parquet", table.assign(judge="prototype"))
    responses = table.drop(columns="category").assign(new_tokens=40)
    responses.loc[responses["arm"] == "no_frame", "new_tokens"] = 999
    write_table(folder / "responses.parquet", responses)
    return table


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'none.db'}")
    shutil.copy(TOP / "params.yaml", "params.yaml")
    make_run(tmp_path)
    return tmp_path


def read(folder, subject=None, judge="prototype"):
    return read_pilot(folder / "verdicts.parquet", folder / "responses.parquet", subject, judge)


FILES = ("--verdicts", "verdicts.parquet", "--responses", "responses.parquet")


def test_the_protocols_table(folder):
    lines = main(["--sd", ".17", ".25", ".35"]).splitlines()
    assert lines[4:] == [
        "| 0.17 | 11.2 | 4.4 | 2.2 |",
        "| 0.25 | 16.5 | 6.4 | 3.2 |",
        "| 0.35 | 23.1 | 9.0 | 4.5 |",
    ]


def test_the_pilot_is_what_the_verdicts_say(folder):
    pilot = read(folder)
    assert (pilot.subject, pilot.items, pilot.versions, pilot.draws) == ("tiny", 20, 2, 7)
    # The arm without frame is no part of it.
    assert pilot.tokens == 40
    assert set(pilot.spreads) == set(PRIMARY_FAMILY)
    rows = read_table(folder / "verdicts.parquet")
    both = outcomes(rows, "refusal", ("E", "N"))
    assert both.shape == (20, 2, 2, 7)
    first = rows[(rows["item"] == "i03") & (rows["paraphrase"] == 1) & (rows["arm"] == "N")]
    said = [np.nan if c == "" else float(c == "refusal") for c in first["category"]]
    np.testing.assert_array_equal(both[3, 1, 1], said)
    # Draws that one frame leaves unscored are left out here of both.
    seen = frame_differences(both, "E", "N", ("E", "N")).values.std(ddof=1)
    assert spread_at(pilot.spreads[REFUSAL_EN], 2, 7).sd == pytest.approx(seen, rel=0.1)


def test_wordings_are_versions(tmp_path):
    make_run(tmp_path, wordings=("w1", "w2"), items=8, draws=3)
    pilot = read(tmp_path)
    assert (pilot.versions, pilot.draws, pilot.items) == (4, 3, 8)


def test_an_order_of_rows_does_not_matter(folder):
    before = plan_text(read(folder), AIM)
    table = read_table(folder / "verdicts.parquet").sample(frac=1, random_state=3)
    write_table(folder / "verdicts.parquet", table)
    assert plan_text(read(folder), AIM) == before


def test_a_judge_that_cannot_tell_refusals_plans_harm_alone(folder):
    table = read_table(folder / "verdicts.parquet")
    other = table["category"] != "harmful_compliance"
    table.loc[other, "category"] = "not_harmful_compliance"
    write_table(folder / "verdicts.parquet", table)
    assert [m.category for m in read(folder).spreads] == ["harmful_compliance"]


def test_what_is_not_there_is_named(folder):
    with pytest.raises(DataError, match="no judge 'guard'; choose one of prototype"):
        read(folder, judge="guard")
    with pytest.raises(DataError, match="no subject 'big'; choose one of tiny"):
        read(folder, subject="big")
    make_run(folder, subjects=("tiny", "big"), items=6, draws=4)
    with pytest.raises(DataError, match="subjects big, tiny; name one with --subject"):
        read(folder)
    assert read(folder, "big").subject == "big"
    write_table(folder / "responses.parquet", pd.DataFrame({"subject": ["tiny"]}))
    with pytest.raises(DataError, match=r"responses\.parquet: no column 'arm'"):
        read(folder, "big")


def test_plan_gives_effects_designs_and_their_price(folder):
    pilot = read(folder)
    text = plan_text(pilot, Aim(0.1, 0.8, 0.05, 480, speed=100.0))
    spread = pilot.spreads[REFUSAL_EN]
    found = spread_at(spread, 2, 7)
    low, mid, high = (
        points(minimum_detectable_effect(120, sd)) for sd in (found.low, found.sd, found.high)
    )
    (row,) = [line for line in text.splitlines() if line.startswith("| 2 | 7 | ")][:1]
    assert f"| {mid} ({low} to {high}) |" in row
    assert text.count("Cheapest with at most 480 items: **") == 3
    assert "4 draws" not in text.split("Items that detect")[0]
    # 840 generations of 40 tokens at 100 tokens a second: 336 s.
    assert hours(Design(20, 2, 7, 3, 0.1), pilot, Aim(0.1, 0.8, 0.05, 480, 100.0)) == "0.09"
    assert "at 100 new tokens a second, 40.0 new tokens a response" in text


def test_without_a_speed_there_are_no_hours(folder):
    text = main(FILES)
    assert "no speed is known; give --tokens-per-second" in text
    assert "\N{EN DASH} hours" in text
    assert Path("reports/plan/plan.md").read_text() == text.split("\n-> ")[0]
    assert Path("reports/plan/detectable.png").stat().st_size > 10_000


def test_the_speed_that_was_measured_last_is_taken(folder, monkeypatch):
    # Reading it from MLflow is a test of its own: a new database takes seconds.
    speeds = {"tokens_per_second/tiny": 145.0}
    monkeypatch.setattr("parallax.tracking.latest.latest_metric", speeds.get)
    assert "at 145 new tokens a second" in main(FILES)
    assert "at 7 new tokens a second" in main([*FILES, "--tokens-per-second", "7"])


def test_an_effect_out_of_reach_is_said(folder):
    text = main([*FILES, "--effect", "0.001", "--tokens-per-second", "100"])
    assert text.count("No design with at most 480 items detects it.") == 3


def test_a_pilot_in_which_nothing_moves_plans_nothing(folder):
    table = read_table(folder / "verdicts.parquet").assign(category="refusal")
    write_table(folder / "verdicts.parquet", table)
    text = main(FILES)
    assert text.count("No item moved") == 3
    assert "Cheapest" not in text


def test_figure_has_a_line_for_each_number_of_draws_and_versions(folder):
    pilot = read(folder)
    figure = draw_plan(pilot, AIM)
    assert len(figure.axes) == 3
    axes = figure.axes[0]
    lines = {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}
    assert len(lines) == 8
    line = lines["7 draws x 2 versions"]
    place = list(line.get_xdata()).index(20) if 20 in line.get_xdata() else 0
    items = int(line.get_xdata()[place])
    sd = spread_at(pilot.spreads[REFUSAL_EN], 2, 7).sd
    assert line.get_ydata()[place] == pytest.approx(100 * minimum_detectable_effect(items, sd))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:2] == ["1 draw x 2 versions", "1 draw x 4 versions"]
