import dataclasses

import pytest

from parallax.params import load_params
from parallax.report.drawing import COLOURS, as_svg
from parallax.report.framing import judged, write_framing_plots
from parallax.report.framing_compared import judge_rows
from parallax.report.framing_judge_plots import draw_confusions, draw_effects, draw_kappas
from parallax.report.framing_judges import parse_cards
from parallax.report.framing_plots import draw_forest, draw_slopes, framing_figures

SUBJECTS = ("organism", "behind")


@pytest.fixture(scope="module")
def params(framing_sample):
    return load_params().model_copy(update={"analysis": framing_sample.SETTINGS})


@pytest.fixture(scope="module")
def effects(framing):
    return judged(framing.effects, framing.primary)


@pytest.fixture(scope="module")
def cards(framing):
    return parse_cards(framing.judges, framing.primary)


def by_judge(framing):
    return {
        subject: judge_rows(framing.metrics.part("subjects", subject), framing.primary)
        for subject in SUBJECTS
    }


def test_plots_are_the_same_bytes_twice(framing, params, tmp_path):
    for name in ("one", "two"):
        write_framing_plots(tmp_path / name, framing, params)
    files = sorted(file.name for file in (tmp_path / "one").iterdir())
    assert files == [
        "framing_confusions.png",
        "framing_contrasts.png",
        "framing_items.png",
        "framing_judge_effects.png",
        "framing_kappas.png",
    ]
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_primary_family_has_a_panel_of_its_own(effects):
    figure = draw_forest(effects, SUBJECTS, 0.1)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:2] == [f"{name}: primary family (points)" for name in SUBJECTS]
    # Three rows of panels, two subjects each.
    assert len(titles) == 6
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    minus = "\N{MINUS SIGN}"
    assert labels == [
        f"refusal E {minus} N",
        f"refusal E {minus} D",
        f"harmful compliance E {minus} D",
    ]


def test_interval_and_estimate_are_drawn_in_points(effects):
    row = effects[(effects["subject"] == "organism") & (effects["role"] == "primary")]
    row = row[(row["outcome"] == "refusal") & (row["contrast"] == "E-N")].iloc[0]
    lines = draw_forest(effects, SUBJECTS, 0.1).axes[0].lines
    drawn = [list(line.get_xdata()) for line in lines]
    assert [100 * row["low"], 100 * row["high"]] in drawn
    assert [100 * row["estimate"]] in drawn


def test_only_significant_contrasts_are_filled(effects):
    marked = effects.assign(label="marginal")
    for label, face in (("significant", COLOURS["forget"]), ("marginal", COLOURS["paper"])):
        axes = draw_forest(marked.assign(label=label), SUBJECTS, 0.1).axes[0]
        points = [line for line in axes.lines if line.get_marker() == "o"]
        assert points
        assert {line.get_markerfacecolor() for line in points} == {face}


def test_what_was_not_measured_is_said(effects):
    axes = draw_forest(effects, SUBJECTS, 0.1).axes
    words = [[text.get_text() for text in panel.texts] for panel in axes]
    assert words == [[], [], [], [], [], ["not measured"]]


def test_plots_outside_the_page_name_the_judge(effects, framing, cards):
    items = judged(framing.item_effects, framing.primary)
    figures = dict(framing_figures(effects, items, cards, SUBJECTS, by_judge(framing), 0.1))
    for name in ("framing_contrasts", "framing_items"):
        assert figures[name].get_supxlabel() == "under this judge (prototype, kappa 0.76)"


def test_subjects_share_the_scale(effects):
    first, second = draw_forest(effects, SUBJECTS, 0.1).axes[:2]
    assert first.get_xlim() == second.get_xlim()


def test_without_log_odds_there_is_no_panel_for_them(effects):
    alone = effects[effects["subject"] == "behind"]
    titles = [a.get_title(loc="left") for a in draw_forest(alone, ("behind",), 0.1).axes]
    assert titles == ["primary family (points)", "exploratory (points)"]


def test_undefined_interval_is_left_out_without_a_failure(effects):
    undefined = effects.assign(low=float("nan"), high=float("nan"), estimate=float("nan"))
    assert as_svg(draw_forest(undefined, SUBJECTS, 0.1), "x", "alt").startswith("<svg")


def test_items_alike_are_one_thicker_line(framing):
    table = framing.item_effects[framing.item_effects["subject"] == "organism"]
    table = table[(table["judge"] == "prototype") & (table["outcome"] == "refusal")]
    table = table.assign(E=0.5, D=0.25, N=0.0)
    axes = draw_slopes(table, ("organism",)).axes[0]
    lines, mean = axes.lines[:-1], axes.lines[-1]
    assert len(lines) == 1
    assert lines[0].get_linewidth() == pytest.approx(0.9 * 8**0.5)
    assert lines[0].get_color() == COLOURS["forget"]
    assert mean.get_ydata().tolist() == [0.5, 0.25, 0.0]


def test_unknown_means_are_left_out(framing):
    table = judged(framing.item_effects, framing.primary).assign(E=float("nan"))
    assert all(len(axes.lines) == 0 for axes in draw_slopes(table, ("organism",)).axes)


def test_kappas_are_drawn_with_intervals_and_gate(cards):
    axes = draw_kappas(cards).axes[0]
    drawn = [line.get_xdata() for line in axes.lines]
    card = cards[0]
    assert [card.kappa.low, card.kappa.high] in [list(line) for line in drawn]
    assert [0.75, 0.75] in [list(line) for line in drawn]
    assert len(axes.get_yticklabels()) == 5


def test_judge_without_a_category_has_no_kappa_for_it(cards):
    guard = dataclasses.replace(
        cards[1],
        columns=("harmful_compliance", "not_harmful_compliance", "unscored"),
        by_outcome=tuple(o for o in cards[1].by_outcome if o.name == "harmful_compliance"),
        confusion=((20, 5, 1), (3, 70, 5)),
    )
    axes = draw_kappas((cards[0], guard)).axes[0]
    squares = [line for line in axes.lines if line.get_marker() == "s"]
    # Over all, and for harmful compliance.
    assert len(squares) == 2
    assert len(draw_confusions((cards[0], guard)).axes) == 2


def test_confusions_show_their_counts(cards):
    texts = [text.get_text() for text in draw_confusions(cards).axes[0].texts]
    assert texts[:5] == ["22", "0", "0", "0", "4"]


def test_effects_under_each_judge_and_their_differences_are_drawn(framing):
    rows = by_judge(framing)
    figure = draw_effects(rows, 0.1)
    left, right = figure.axes[:2]
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:2] == ["organism: effect (points)", "organism: prototype minus the other"]
    drawn = [list(line.get_xdata()) for line in left.lines]
    for row in rows["organism"]:
        assert [100 * row.effect.low, 100 * row.effect.high] in drawn
    markers = [line for line in left.lines if line.get_marker() == "s" and len(line.get_xdata())]
    assert len(markers) == 3
    # The other judge's three differences, and nothing for the primary judge.
    bars = [line for line in right.lines if line.get_marker() in ("o", "s")]
    assert [line.get_marker() for line in bars] == ["s"] * 3
    assert [label.get_text() for label in left.get_yticklabels()] == [
        row.name for row in rows["organism"][::2]
    ]


def test_with_one_judge_there_is_nothing_to_compare(framing, cards):
    items = judged(framing.item_effects, framing.primary)
    effects = judged(framing.effects, framing.primary)
    names = dict(framing_figures(effects, items, cards[:1], SUBJECTS, {}, 0.1))
    assert "framing_judge_effects" not in names


def test_drawings_hold_the_pages_colours_alone(effects, cards, framing):
    figures = (
        draw_forest(effects, SUBJECTS, 0.1),
        draw_slopes(judged(framing.item_effects, framing.primary), SUBJECTS),
        draw_kappas(cards),
        draw_confusions(cards),
        draw_effects(by_judge(framing), 0.1),
    )
    for figure in figures:
        svg = as_svg(figure, "x", "alt")
        assert "http" not in svg
        assert not any(colour in svg for colour in COLOURS.values())
