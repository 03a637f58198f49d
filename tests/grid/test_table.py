import csv
import math

import pytest

from parallax.errors import DataError
from parallax.grid.plan import plan_grid
from parallax.grid.table import CSV_COLUMNS, csv_rows, markdown, table_rows
from parallax.report.numbers import UNDEFINED


def cells(text):
    """The table's cells, row by row, without the rule below the header."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [rows[0], *rows[2:]]


def columns(text):
    header, *rows = cells(text)
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_methods_table_has_what_was_forgotten_and_what_it_cost(outcome_of):
    grid = plan_grid("methods")
    runs = {run.name: run for run in grid.runs}
    before, yardstick, uni, mix = columns(
        markdown(
            grid,
            [
                outcome_of(runs["methods-npo-uni"], forget=0.6, text=0.2, image=0.7, kept=0.75),
                outcome_of(runs["methods-npo-mix"], forget=0.25),
            ],
        )
    )
    assert (before["model"], before["unlearned on"]) == ("before", UNDEFINED)
    assert (before["dAcc_F cls."], before["left in text"]) == (UNDEFINED, "0.900")
    # 0.9 before unlearning, 0.1 in a model that never saw the people.
    assert (yardstick["model"], yardstick["dAcc_F cloze"]) == ("retain-only", "+0.800")
    assert (uni["model"], uni["unlearned on"]) == ("npo", "text only (uni)")
    assert [uni[f"d{k}"] for k in ("Acc_F cls.", "Acc_F cloze", "RL_F gen.")] == ["+0.300"] * 3
    assert (uni["left in text"], uni["left in image"], uni["gap"]) == ("0.200", "0.700", "0.500")
    assert [uni[k] for k in ("retain Acc_R", "retain RL_R", "real Acc_R")] == ["0.750"] * 3
    assert mix["dRL_F gen."] == "+0.650"


def test_changes_are_those_of_the_metrics_file(outcome_of):
    outcome = outcome_of(plan_grid("methods").runs[0], forget=0.33)
    (row,) = csv_rows([outcome])
    for task, name in (("classification", "acc_F"), ("cloze", "acc_F"), ("generation", "RL_F")):
        label = "dRL_F" if task == "generation" else "dAcc_F"
        after = row[f"unlearned.forget.{task}.{name}"]
        assert row[f"sft.forget.{task}.{name}"] - after == pytest.approx(
            row[f"delta.{task}.{label}"]
        )


def test_ratios_table_has_yardsticks_for_each_ratio(outcome_of):
    grid = plan_grid("ratios")
    outcomes = [
        outcome_of(run, forget=0.4 if run.setting.key == "05" else 0.2) for run in grid.runs
    ]
    rows = columns(markdown(grid, outcomes))
    assert [row["forget"] for row in rows] == ["5 %"] * 7 + ["10 %"] * 7 + ["15 %"] * 7
    assert [row["model"] for row in rows[:7]] == [
        "before",
        "retain-only",
        "ga",
        "gd",
        "kl",
        "po",
        "npo",
    ]
    assert rows[2]["forget Acc_F cls."] == "0.400"
    assert rows[9]["forget RL_F gen."] == "0.200"
    assert rows[2]["retain Acc_R cloze"] == "0.800"
    assert rows[1]["real RL_R gen."] == "0.900"


def test_seeds_are_a_mean_and_a_sample_standard_deviation(outcome_of):
    grid = plan_grid("seeds")
    left = {0: 0.1, 1: 0.2, 2: 0.6}
    outcomes = [
        outcome_of(run, forget=left[run.seed], text=left[run.seed])
        for run in grid.runs
        if run.method == "ga" and run.setting.key == "mix"
    ]
    *_, ga = columns(markdown(grid, outcomes))
    # Mean (.1 + .2 + .6) / 3 = .3; deviations -.2, -.1, .3: variance .14 / 2 = .07, root .265.
    assert ga["left in text"] == "0.300 ± 0.265"
    # 0.9 - 0.3 = 0.6, with the same spread.
    assert ga["dAcc_F cls."] == "+0.600 ± 0.265"
    assert ga["left in image"] == "0.500 ± 0.000"


def test_yardsticks_count_each_seed_once(outcome_of):
    grid = plan_grid("seeds")
    before, *_ = table_rows(grid, [outcome_of(run) for run in grid.runs])
    assert [outcome.run.seed for outcome in before.outcomes] == [2, 1, 0]


@pytest.mark.parametrize(("mix", "count"), [(0.25, 1), (0.35, 0)])
def test_both_modalities_are_compared_with_either_alone(outcome_of, mix, count):
    grid = plan_grid("methods")
    forget = {"uni": 0.5, "mul": 0.3, "mix": mix}
    outcomes = [
        outcome_of(run, forget=forget[run.setting.key]) for run in grid.runs if run.method == "kl"
    ]
    said = (
        f"either modality alone in: dAcc_F cls. {count}, dAcc_F cloze {count}, dRL_F gen. {count}."
    )
    assert said in markdown(grid, outcomes)


def test_missing_runs_are_named(outcome_of):
    grid = plan_grid("ratios")
    text = markdown(grid, [outcome_of(run) for run in grid.runs[2:]])
    assert "Missing: 2 of 15 runs (ratios-ga-05, ratios-ga-10)." in text
    assert "Missing" not in markdown(grid, [outcome_of(run) for run in grid.runs])


def test_an_undefined_metric_is_a_dash_and_an_empty_field(outcome_of):
    grid = plan_grid("ratios")
    outcome = outcome_of(grid.runs[0])
    outcome.metrics["unlearned"]["forget"]["cloze"]["acc_F"] = None
    (row,) = csv_rows([outcome])
    assert row["unlearned.forget.cloze.acc_F"] == ""
    *_, shown = columns(markdown(grid, [outcome]))
    assert shown["forget Acc_F cloze"] == UNDEFINED
    assert math.isnan(outcome.value("unlearned.forget.cloze.acc_F"))


def test_a_missing_metric_names_run_and_metric(outcome_of):
    outcome = outcome_of(plan_grid("ratios").runs[0])
    del outcome.metrics["unlearned"]["real"]["generation"]
    with pytest.raises(DataError, match=r"run ratios-ga-05: no metric unlearned\.real\.generation"):
        csv_rows([outcome])


def test_csv_has_parameters_and_all_columns(outcome_of, tmp_path):
    grid = plan_grid("methods")
    (row,) = csv_rows([outcome_of(grid.runs[1])])
    assert tuple(row) == CSV_COLUMNS
    assert (row["run"], row["method"], row["setting"]) == ("methods-ga-mul", "ga", "mul")
    assert (row["unlearn.alpha"], row["unlearn.beta"], row["data.forget_ratio"]) == (1.0, 0.0, 0.15)


def test_results_are_written_whole_and_the_same_each_time(outcome_of, tmp_path):
    from parallax.grid.__main__ import write_results

    grid = plan_grid("methods")
    outcomes = [outcome_of(run) for run in grid.runs]
    for name in ("one", "two"):
        write_results(tmp_path / name, grid, outcomes)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == ["modality_plane.png", "runs.csv", "table.md"]
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    with (tmp_path / "one" / "runs.csv").open(encoding="utf-8", newline="") as text:
        assert len(list(csv.DictReader(text))) == 15
