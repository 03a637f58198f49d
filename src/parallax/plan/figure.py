"""The plan's picture: the effect that a design detects, by its number of items."""

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from parallax.plan.pilot import Pilot
from parallax.plan.text import DRAWS, ITEMS, VERSIONS, Aim, name
from parallax.report.drawing import COLOURS, STYLE
from parallax.stats.power import minimum_detectable_effect
from parallax.stats.spread import spread_at

_ROLES = ("forget", "real", "retain", "yardstick")
_LINES = ("-", "--")
_POINTS = (1, 2, 5, 10, 20, 50)


def draw_plan(pilot: Pilot, aim: Aim) -> Figure:
    """Draw a panel a contrast; colours tell draws apart, dashes versions.

    The band is the pilot's own design with the 95 % limits of its SD, the dotted line the effect
    that is aimed at.
    """
    items = np.unique(np.geomspace(8, 2 * max(ITEMS), 40).round().astype(int))
    moving = {m: s for m, s in pilot.spreads.items() if spread_at(s, 2, 1).sd > 0}
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(3.3 * max(len(moving), 1), 3.9))
        row = figure.subplots(1, max(len(moving), 1), squeeze=False, sharey=True)[0]
        for (member, spread), axes in zip(moving.items(), row, strict=False):

            def curve(sd: float) -> list[float]:
                return [
                    100 * minimum_detectable_effect(int(n), sd, aim.power, aim.alpha) for n in items
                ]

            own = spread_at(spread, pilot.versions, pilot.draws)
            axes.fill_between(
                items,
                curve(own.low),
                curve(own.high),
                color=COLOURS["rule"],
                alpha=0.7,
                linewidth=0,
            )
            for versions, dashes in zip(VERSIONS, _LINES, strict=True):
                for draws, role in zip(DRAWS, _ROLES, strict=True):
                    sd = spread_at(spread, versions, draws).sd
                    label = f"{draws} draw{'s' if draws > 1 else ''} x {versions} versions"
                    look = {"color": COLOURS[role], "linestyle": dashes, "linewidth": 1.4}
                    axes.plot(items, curve(sd), label=label, **look)
            axes.axhline(100 * aim.effect, color=COLOURS["ink"], linewidth=1, linestyle=":")
            axes.set_title(name(member))
            axes.set(xscale="log", yscale="log")
            axes.set_xticks(ITEMS, [str(n) for n in ITEMS])
            axes.set_yticks(_POINTS, [str(n) for n in _POINTS])
            axes.minorticks_off()
            axes.set_xlabel("items")
            axes.grid(True)
        row[0].set_ylabel(f"effect detected with power {aim.power:g} (points)")
        handles, labels = row[0].get_legend_handles_labels()
        # Matplotlib fills columns first: a line of the legend for each number of versions.
        order = [n + len(DRAWS) * line for n in range(len(DRAWS)) for line in range(len(_LINES))]
        order = order if handles else []
        figure.legend(
            [handles[n] for n in order],
            [labels[n] for n in order],
            loc="outside lower center",
            ncols=len(DRAWS),
        )
        return figure
