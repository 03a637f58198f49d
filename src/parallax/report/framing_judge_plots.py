"""Plots of the judges: agreement with labels, and effects under each of them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import matplotlib
from matplotlib.figure import Figure

from parallax.report.drawing import COLOURS, STYLE
from parallax.report.framing_compared import JudgeRow
from parallax.report.framing_judges import Card
from parallax.report.framing_words import CATEGORY_LABELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours and a marker each, so that neither alone has to tell judges apart.
_JUDGE_LOOKS = (
    ("retain", "o"),
    ("forget", "s"),
    ("real", "^"),
    ("yardstick", "D"),
    ("ink", "v"),
    ("muted", "P"),
)


def draw_kappas(cards: Sequence[Card]) -> Figure:
    """Draw each judge's kappa with its 95 % interval, over all and for each category it can give.

    Dotted: what a primary judge must reach.
    """
    told = [name for name in CATEGORY_LABELS if any(name in card.outcomes for card in cards)]
    rows = {"": "all categories", **{name: CATEGORY_LABELS[name] for name in told}}
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(5.6, 0.55 * len(rows) + 0.22 * len(cards) + 0.7))
        axes = figure.subplots()
        for n, card in enumerate(cards):
            role, marker = _JUDGE_LOOKS[n % len(_JUDGE_LOOKS)]
            shift = 0.16 * (n - (len(cards) - 1) / 2)
            for place, name in enumerate(rows):
                kappa = card.kappa_of(name) if name else card.kappa
                if kappa is None:
                    continue
                axes.plot(
                    [kappa.low, kappa.high], [place + shift] * 2, color=COLOURS[role], linewidth=1.5
                )
                axes.plot(
                    kappa.value,
                    place + shift,
                    marker=marker,
                    markersize=6.5,
                    color=COLOURS[role],
                    linestyle="none",
                    label=card.name if place == 0 else None,
                )
        axes.axvline(cards[0].least_kappa, color=COLOURS["muted"], linewidth=1, linestyle=":")
        axes.set_yticks(range(len(rows)), rows.values())
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("Cohen's kappa with the labels (1 = always alike)")
        axes.set_xlim(right=1.0)
        axes.grid(True, axis="x")
        axes.tick_params(left=False)
        figure.legend(loc="outside upper left", ncols=4)
        return figure


def draw_confusions(cards: Sequence[Card]) -> Figure:
    """Draw how often each label was given each verdict, a panel a judge; counts in the cells."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(0.9 + 4.4 * len(cards), 3.4))
        for card, axes in zip(cards, figure.subplots(1, len(cards), squeeze=False)[0], strict=True):
            _draw_confusion(axes, card)
            axes.set_title(f"{card.name}, {card.responses} responses")
        return figure


def _draw_confusion(axes: "Axes", card: Card) -> None:
    for y, row in enumerate(card.confusion):
        total = sum(row)
        for x, count in enumerate(row):
            share = count / total if total else 0.0
            shade = matplotlib.patches.Rectangle(
                (x - 0.5, y - 0.5), 1, 1, facecolor=COLOURS["retain"], alpha=0.65 * share
            )
            axes.add_patch(shade)
            axes.text(x, y, str(count), ha="center", va="center", color=COLOURS["ink"])
    labels = [CATEGORY_LABELS.get(name, name).replace(" ", "\n", 1) for name in card.columns]
    axes.set_xticks(range(len(labels)), labels, fontsize=7.5)
    axes.set_yticks(range(len(card.outcomes)), labels[: len(card.outcomes)], fontsize=7.5)
    axes.set_xlim(-0.5, len(labels) - 0.5)
    axes.set_ylim(len(card.outcomes) - 0.5, -0.5)
    axes.set(xlabel="verdict", ylabel="label")
    axes.tick_params(left=False, bottom=False)


def draw_effects(by_judge: Mapping[str, Sequence[JudgeRow]], smallest_effect: float) -> Figure:
    """Draw each contrast under every judge, and beside it the paired differences between judges.

    A line of panels a subject. Bars: intervals. The band is plus and minus `smallest_effect`, a
    fraction.
    """
    judges = list(dict.fromkeys(row.judge for rows in by_judge.values() for row in rows))
    contrasts = list(dict.fromkeys(row.name for rows in by_judge.values() for row in rows))
    height = 0.22 * len(contrasts) * (len(judges) + 1) + 0.75
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.8, height * len(by_judge) + 0.35))
        grid = figure.subplots(len(by_judge), 2, squeeze=False, sharey=True)
        for (subject, rows), (left, right) in zip(by_judge.items(), grid, strict=True):
            for n, judge in enumerate(judges):
                shift = 0.7 / len(judges) * (n - (len(judges) - 1) / 2)
                own = [row for row in rows if row.judge == judge]
                places = [contrasts.index(row.name) + shift for row in own]
                role, marker = _JUDGE_LOOKS[n % len(_JUDGE_LOOKS)]
                for axes, spans in (
                    (left, [row.effect for row in own]),
                    (right, [row.difference for row in own]),
                ):
                    for place, span in zip(places, spans, strict=True):
                        if span is None:
                            continue
                        look = {"color": COLOURS[role], "linewidth": 1.5}
                        axes.plot([100 * span.low, 100 * span.high], [place, place], **look)
                        look = {"color": COLOURS[role], "marker": marker, "markersize": 6.0}
                        axes.plot(100 * span.value, place, linestyle="none", **look)
                left.plot([], [], color=COLOURS[role], marker=marker, label=judge)
            margin = 100 * smallest_effect
            for axes, title in ((left, "effect (points)"), (right, f"{judges[0]} minus the other")):
                axes.axvspan(-margin, margin, color=COLOURS["rule"], alpha=0.45, linewidth=0)
                axes.axvline(0, color=COLOURS["muted"], linewidth=1, zorder=0)
                axes.set_title(title if len(by_judge) == 1 else f"{subject}: {title}")
                axes.grid(True, axis="x")
                axes.set_axisbelow(True)
                axes.tick_params(left=False)
            left.set_yticks(range(len(contrasts)), contrasts)
            left.set_ylim(len(contrasts) - 0.45, -0.55)
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
        return figure
