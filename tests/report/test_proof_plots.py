import pytest

from parallax.report.proof_plots import draw_proof, write_proof_figure


def share(value):
    return {"value": value, "low": value - 0.01, "high": value + 0.01, "trials": 500}


@pytest.fixture
def values():
    cells = [
        {
            "kind": "main",
            "items": items,
            "base_rate": rate,
            "spread": spread,
            "moved": moved,
            "effect": effect,
            "family_wise": share(0.04),
            "contrasts": {
                "refusal_E-N": {
                    "rejected": share(0.7 if effect else 0.05),
                    "power": 0.72 if effect else None,
                    "covered": share(0.95),
                    "few": share(0.9 if rate < 0.1 else 0.0),
                }
            },
        }
        for items in (20, 120, 480)
        for rate in (0.02, 0.2)
        for spread in ("even", "uneven")
        for moved, effect in (("", 0.0), ("E", 0.1), ("N", 0.1))
    ]
    doubts = {
        "false_alarms": {"near_copies": {"found": share(0.02), "stated": 0.05, "kept": True}},
        "faults": {"leaky slot": {"caught": share(0.9), "claimed": share(0.0)}},
    }
    return {"cells": cells, "doubts": doubts}


def test_the_figure_shows_every_panel_with_its_figures(values):
    figure = draw_proof(values)
    size, family, coverage, power, false, caught = figure.axes
    assert size.get_title(loc="left").startswith("Size")
    # A line for each number and spread of items, beside the points and their intervals.
    assert len(size.get_legend_handles_labels()[1]) == 6
    assert len(family.lines) == 6
    hollow = [line for line in coverage.lines if line.get_markerfacecolor() == "#ffffff"]
    assert len(hollow) == 6
    assert {line.get_xdata()[0] for line in power.lines} == {0.72}
    assert [text.get_text() for text in false.get_yticklabels()] == ["near copies"]
    assert [text.get_text() for text in caught.get_yticklabels()] == ["leaky slot"]


def test_same_values_same_bytes(values, tmp_path):
    paths = [(tmp_path / f"{n}.png", tmp_path / f"{n}.svg") for n in range(2)]
    for png, svg in paths:
        write_proof_figure(png, svg, values)
    for first, second in zip(*paths, strict=True):
        assert first.read_bytes() == second.read_bytes()
