"""How figures look, and their bytes: PNG for `dvc plots`, SVG in the page's own colours."""

import html
import io
import re
from collections.abc import Iterable
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from parallax.files import replace_file

# Okabe and Ito's palette, which the common kinds of colour blindness keep apart. In the page each
# of these becomes a CSS variable of that name, so that one drawing serves light and dark.
COLOURS = {
    "ink": "#1c1f23",
    "muted": "#6a7079",
    "rule": "#d9dce1",
    "paper": "#ffffff",
    "forget": "#d55e00",
    "retain": "#0072b2",
    "real": "#009e73",
    "yardstick": "#7a3e9d",
}
STYLE = {
    "axes.edgecolor": COLOURS["muted"],
    "axes.labelcolor": COLOURS["ink"],
    "axes.labelsize": 9.5,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.wspace": 0.06,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": COLOURS["rule"],
    "grid.linewidth": 0.7,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "parallax",
    "text.color": COLOURS["ink"],
    "xtick.color": COLOURS["muted"],
    "xtick.labelcolor": COLOURS["ink"],
    "ytick.color": COLOURS["muted"],
    "ytick.labelcolor": COLOURS["ink"],
}


def as_svg(figure: Figure, name: str, alt: str) -> str:
    """Return a figure as an SVG element for the page, with `alt` as its accessible name.

    It holds no address; its ids begin with `name`, its colours are CSS variables, and its text is
    text in the page's own font.
    """
    target = io.StringIO()
    with matplotlib.rc_context(STYLE):
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(target, format="svg", transparent=True, metadata=nothing)
    drawing = target.getvalue()
    width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawing)[0]
    body = drawing[drawing.index(">", drawing.index("<svg")) + 1 :]
    for pattern, replacement in (
        (r"<defs>\s*<style.*?</style>\s*</defs>", ""),
        (r'<g id="[^"]*"', "<g"),
        (r'(\bid="|url\(#|href="#)', rf"\1{name}-"),
        (r"xlink:href", "href"),
        (r"font-family: [^;\"]*;? ?", ""),
        (r"\s*\n\s*", " "),
    ):
        body = re.sub(pattern, replacement, body, flags=re.DOTALL)
    for role, colour in COLOURS.items():
        body = body.replace(colour, f"var(--{role})")
    label = html.escape(alt)
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{body.strip()}'


def as_png(figure: Figure) -> bytes:
    """Return a figure as a PNG file; same figure, same bytes."""
    target = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(target, format="png", dpi=150, metadata={"Software": None})
    return target.getvalue()


def write_figures(folder: Path, figures: Iterable[tuple[str, Figure]]) -> None:
    """Write named figures as PNG files into `folder`."""
    for name, figure in figures:
        with replace_file(folder / f"{name}.png") as part:
            part.write_bytes(as_png(figure))
