import pytest

from parallax.grid.figure import centre, draw_grid, panels_of, place
from parallax.grid.plan import plan_grid


def test_text_is_across_and_image_is_up(outcome_of):
    outcome = outcome_of(plan_grid("methods").runs[0], text=0.2, image=0.7)
    assert place(outcome, "unlearned") == (0.2, 0.7)
    assert place(outcome, "retain_only") == (0.15, 0.2)
    assert centre([(0.2, 0.7), (0.4, 0.1)]) == pytest.approx((0.3, 0.4))


def test_a_panel_for_each_setting_that_has_runs(outcome_of):
    grid = plan_grid("methods")
    outcomes = [outcome_of(run) for run in grid.runs if run.setting.key != "mul"]
    assert list(panels_of(grid, outcomes)) == ["text only (uni)", "both (mix)"]
    figure = draw_grid(grid, outcomes)
    assert len(figure.axes) == 2
    (legend,) = figure.legends
    shown = [text.get_text() for text in legend.get_texts()]
    assert shown == ["before", "ga", "gd", "kl", "po", "npo", "retain-only"]


def test_methods_are_drawn_where_they_end(outcome_of):
    grid = plan_grid("seeds")
    text = {0: 0.1, 1: 0.2, 2: 0.6}
    outcomes = [
        outcome_of(run, text=text[run.seed], image=0.5)
        for run in grid.runs
        if run.method == "po" and run.setting.key == "mix"
    ]
    (axes,) = draw_grid(grid, outcomes).axes
    ends = {line.get_label(): line for line in axes.get_lines()}
    assert ends["po"].get_xydata()[0] == pytest.approx((0.3, 0.5))
    assert ends["before"].get_xydata()[0] == pytest.approx((0.9, 0.9))
    dots = [line for line in axes.get_lines() if line.get_marker() == "."]
    assert sorted(dots[0].get_xdata()) == pytest.approx([0.1, 0.2, 0.6])
