import json

import pytest

from parallax.errors import DataError
from parallax.report.inputs import Scores
from parallax.report.tables import build_tables
from parallax.umu.metrics import measure

PEOPLE = {"forget": 9, "retain": 20, "real": 8}


def scores_of(sample, **changes):
    figures = json.loads(json.dumps(measure(sample.make_scored(people=(2, 2, 2)))))
    for place, value in changes.items():
        model, subset, task, key = place.split("__")
        figures[model][subset][task][key] = value
    return Scores(figures, "metrics.json")


def row(tables, subset, task, name):
    table = next(table for table in tables if table.subset == subset)
    rows = next(entry for entry in table.tasks if entry.label == task).rows
    return next(entry for entry in rows if entry.name == name)


def test_models_stand_side_by_side_with_the_change(sample):
    changes = {
        "base__forget__cloze__acc_F": 0.1,
        "sft__forget__cloze__acc_F": 0.975,
        "retain_only__forget__cloze__acc_F": 0.15,
        "unlearned__forget__cloze__acc_F": 0.4,
    }
    tables = build_tables(scores_of(sample, **changes), PEOPLE)
    found = row(tables, "forget", "Cloze", "Acc_F")
    assert found.cells == ("0.10", "0.97", "0.15", "0.40")
    # After minus before: .4 - .975.
    assert found.change == "\u22120.57"
    assert found.headline


def test_each_set_has_its_own_joint_metric(sample):
    tables = build_tables(scores_of(sample), PEOPLE)
    for subset, accuracy, overlap in (
        ("forget", "Acc_F", "RL_F"),
        ("retain", "Acc_R", "RL_R"),
        ("real", "Acc_R", "RL_R"),
    ):
        assert row(tables, subset, "Classification", accuracy).headline
        assert row(tables, subset, "Generation", overlap).headline


def test_undefined_is_a_dash(sample):
    tables = build_tables(scores_of(sample, unlearned__real__cloze__acc_mul=None), PEOPLE)
    found = row(tables, "real", "Cloze", "Acc_mul")
    assert found.cells[3] == "\u2013"
    assert found.change == "\u2013"


def test_delta_rows_are_those_of_the_metrics(sample):
    figures = measure(sample.make_scored(people=(2, 2, 2)))
    figures["delta"]["generation"] = {"dRL_F": 0.5678, "retain_only_gap": -0.123}
    forget, retain, _ = build_tables(Scores(figures, "metrics.json"), PEOPLE)
    assert [value for *_, value in forget.tasks[-1].deltas] == ["+0.57", "\u22120.12"]
    assert all(task.deltas == () for task in retain.tasks)


def test_a_value_that_is_no_number_is_refused(sample):
    scores = scores_of(sample, sft__real__cloze__acc_mul="high")
    with pytest.raises(DataError, match=r"sft\.real\.cloze\.acc_mul = 'high': must be a number"):
        build_tables(scores, PEOPLE)
