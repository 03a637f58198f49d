"""The figure of the proof: size, coverage and power of the analysis, and its doubts."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.figure import Figure

from parallax.files import replace_file
from parallax.report.drawing import COLOURS, STYLE, as_png

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Values = Mapping[str, Any]

_LOOKS = {20: ("forget", "o"), 120: ("retain", "s"), 480: ("real", "^")}
_CONTRAST = "refusal_E-N"


def write_proof_figure(png: Path, svg: Path, values: Values) -> None:
    """Write the figure twice; same values, same bytes."""
    figure = draw_proof(values)
    with replace_file(png) as part:
        part.write_bytes(as_png(figure))
    with matplotlib.rc_context(STYLE), replace_file(svg) as part:
        figure.savefig(part, format="svg", metadata={"Date": None, "Creator": None})


def draw_proof(values: Values) -> Figure:
    """Draw what `calibrate` found, with Monte Carlo intervals at .95; bands: what is required."""
    main = [cell for cell in values["cells"] if cell["kind"] == "main"]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11, 10.4))
        (size, family), (coverage, power), (false, caught) = figure.subplots(3, 2)
        _draw_rates(size, _of(main, ""), "rejected", (0.03, 0.06))
        size.set_title("Size: rejected without an effect (refusal E \N{MINUS SIGN} N)")
        _draw_family(family, main)
        _draw_rates(coverage, _of(main, "E", 0.1), "covered", (0.93, 0.97))
        coverage.set_title("Coverage of 10 points; hollow: mostly flagged as few")
        _draw_power(power, main)
        _draw_false_alarms(false, values["doubts"]["false_alarms"])
        _draw_faults(caught, values["doubts"]["faults"])
        figure.legend(*size.get_legend_handles_labels(), loc="outside upper center", ncols=6)
        return figure


def _of(cells: Iterable[Values], moved: str, effect: float = 0.0) -> list[Values]:
    return [cell for cell in cells if cell["moved"] == moved and cell["effect"] == effect]


def _draw_rates(
    axes: "Axes", cells: Sequence[Values], figure: str, band: tuple[float, float]
) -> None:
    """Draw one figure of a contrast against the base rate; lines by items, dashed if uneven."""
    axes.axhspan(*band, color=COLOURS["rule"], alpha=0.55, linewidth=0)
    for shift, (items, (colour, marker)) in zip((0.97, 1.0, 1.03), _LOOKS.items(), strict=True):
        for spread, line in (("even", "-"), ("uneven", "--")):
            own = [c for c in cells if c["items"] == items and c["spread"] == spread]
            found = [cell["contrasts"][_CONTRAST] for cell in own]
            for cell, contrast in zip(own, found, strict=True):
                share = contrast[figure]
                flagged = contrast["few"]["value"] > 0.5
                x, y = shift * cell["base_rate"], share["value"]
                axes.plot([x, x], [share["low"], share["high"]], color=COLOURS[colour], lw=1)
                axes.plot(
                    *(x, y, marker),
                    color=COLOURS[colour],
                    markersize=4.5,
                    markerfacecolor=COLOURS["paper"] if flagged else COLOURS[colour],
                )
            label = f"{items} {spread} items"
            rates = [shift * cell["base_rate"] for cell in own]
            shares = [contrast[figure]["value"] for contrast in found]
            axes.plot(rates, shares, line, color=COLOURS[colour], lw=1, label=label)
    _name_rates(axes)


def _draw_family(axes: "Axes", cells: Sequence[Values]) -> None:
    """Draw the family-wise error with no effect, and with one in the contrast E - N alone."""
    axes.axhspan(0, 0.06, color=COLOURS["rule"], alpha=0.55, linewidth=0)
    for items, (colour, marker) in _LOOKS.items():
        for moved, line in (("", "-"), ("N", ":")):
            own = [
                c for c in cells if (c["items"], c["spread"], c["moved"]) == (items, "even", moved)
            ]
            axes.plot(
                [cell["base_rate"] for cell in own],
                [cell["family_wise"]["value"] for cell in own],
                line + marker,
                color=COLOURS[colour],
                lw=1,
                markersize=4.5,
            )
    axes.set_title("Family-wise error (Holm); dotted: E \N{MINUS SIGN} N has an effect")
    axes.set_ylim(0, None)
    _name_rates(axes)


def _name_rates(axes: "Axes") -> None:
    axes.set_xscale("log")
    rates = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5)
    axes.set_xticks(rates, [f"{rate:g}" for rate in rates])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("share of refusals without the effect")
    axes.grid(True, axis="y")


def _draw_power(axes: "Axes", cells: Sequence[Values]) -> None:
    """Draw simulated power against the formula's; hollow where the outcome is rare."""
    axes.fill_between([0, 1], [-0.05, 0.95], [0.05, 1.05], color=COLOURS["rule"], alpha=0.55, lw=0)
    for items, (colour, marker) in _LOOKS.items():
        for cell in cells:
            if cell["items"] != items:
                continue
            rare = cell["base_rate"] < 0.1
            for contrast in cell["contrasts"].values():
                if contrast["power"] is not None:
                    axes.plot(
                        *(contrast["power"], contrast["rejected"]["value"], marker),
                        color=COLOURS[colour],
                        markersize=4,
                        markerfacecolor="none" if rare else COLOURS[colour],
                    )
    axes.set_title("Power; hollow: less than 10 % refusals")
    axes.set_xlabel("power by the formula")
    axes.set_ylabel("simulated")
    axes.set_xlim(0, 1.02)
    axes.set_ylim(0, 1.02)
    axes.grid(True)


def _draw_false_alarms(axes: "Axes", found: Values) -> None:
    names = list(found)
    for place, name in enumerate(names):
        share, stated = found[name]["found"], found[name]["stated"]
        axes.plot([share["low"], share["high"]], [place, place], color=COLOURS["ink"], lw=1.6)
        axes.plot(share["value"], place, "o", color=COLOURS["ink"], markersize=5)
        axes.plot(stated, place, "|", color=COLOURS["forget"], markersize=14, markeredgewidth=2)
    _name_rows(axes, names)
    axes.set_title("False alarms of the doubts; orange: stated rate")
    axes.set_xlim(-0.005, None)


def _draw_faults(axes: "Axes", found: Values) -> None:
    names = list(found)
    for place, name in enumerate(names):
        for key, colour, marker in (("caught", "real", "o"), ("claimed", "forget", "s")):
            share = found[name][key]
            axes.plot([share["low"], share["high"]], [place, place], color=COLOURS[colour], lw=1.6)
            axes.plot(share["value"], place, marker, color=COLOURS[colour], markersize=5)
    _name_rows(axes, names)
    axes.set_title("Planted faults: caught (green), claimed on (orange)")
    axes.set_xlim(-0.02, 1.02)


def _name_rows(axes: "Axes", names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(True, axis="x")
    axes.tick_params(left=False)
    axes.set_xlabel("share of experiments")
