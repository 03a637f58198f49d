import dataclasses
import math
import re

import pandas as pd

from parallax.report.drawing import COLOURS, as_svg
from parallax.report.plots import (
    draw_modality_plane,
    draw_training,
    draw_unlearning,
    modality_points,
    trained,
    unlearning_terms,
    write_plots,
)


def test_plots_are_the_same_bytes_twice(inputs, tmp_path):
    for name in ("one", "two"):
        write_plots(tmp_path / name, inputs.scores, inputs.curves)
    files = sorted(file.name for file in (tmp_path / "one").iterdir())
    assert files == ["modality_plane.png", "training_loss.png", "unlearning_loss.png"]
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_text_runs_across_and_image_up(inputs):
    points, yardstick = modality_points(inputs.scores)
    forget = points[0]
    accuracy = ("unlearned", "forget", "accuracy")
    assert forget.after == (
        inputs.scores.value(*accuracy, "acc_uni"),
        inputs.scores.value(*accuracy, "acc_mul"),
    )
    axes = draw_modality_plane(points, yardstick).axes[0]
    assert "text" in axes.get_xlabel()
    assert "image" in axes.get_ylabel()
    drawn = {tuple(line.get_xydata()[0]) for line in axes.lines if len(line.get_xydata()) == 1}
    assert {forget.before, forget.after, yardstick} <= drawn


def test_undefined_point_is_left_out_without_a_failure(inputs):
    points, _ = modality_points(inputs.scores)
    points = [dataclasses.replace(points[0], after=(math.nan, 0.5)), *points[1:]]
    figure = draw_modality_plane(points, (math.nan, math.nan))
    assert as_svg(figure, "plane", "alt").startswith("<svg")


def test_svg_takes_the_pages_colours_and_holds_no_address(inputs):
    points, yardstick = modality_points(inputs.scores)
    svg = as_svg(draw_modality_plane(points, yardstick), "plane", 'a "b" <c>')
    assert "http" not in svg
    assert not any(colour in svg for colour in COLOURS.values())
    assert "var(--forget)" in svg
    assert 'aria-label="a &quot;b&quot; &lt;c&gt;"' in svg
    ids = re.findall(r'\bid="([^"]*)"', svg)
    assert ids
    assert all(name.startswith("plane-") for name in ids)
    referred = re.findall(r'url\(#([^)]*)\)|href="#([^"]*)"', svg)
    assert {one or other for one, other in referred} <= set(ids)


def test_only_terms_that_exist_are_drawn(inputs):
    curve = inputs.curves["unlearn"].drop(columns=["forget_image", "retain_image", "retain_text"])
    assert unlearning_terms(curve) == {"forget": ("text",)}
    axes = draw_unlearning(curve, ("forget",)).axes
    assert [line.get_label() for line in axes[0].lines] == ["text"]


def test_published_base_model_has_no_curve(inputs):
    empty = pd.DataFrame(columns=["step", "epoch", "loss"])
    assert trained({**inputs.curves, "base": empty}) == ("sft", "retain_only")


def test_thick_line_is_the_mean_of_each_epoch():
    curve = pd.DataFrame({"step": [0, 1, 2, 3], "epoch": [0.5, 1, 1.5, 2], "loss": [4, 2, 1, 1]})
    thick = draw_training({"sft": curve}, ("sft",)).axes[0].lines[1]
    # Epoch 1 holds 4 and 2, epoch 2 holds 1 and 1.
    assert thick.get_xydata().tolist() == [[0.5, 3.0], [1.5, 1.0]]
