"""The page: sections rendered by escaping templates into one self-contained file."""

import base64
import dataclasses
import hashlib
import itertools
from collections.abc import Mapping, Sequence
from importlib import resources

import jinja2
from markupsafe import Markup

from parallax.report.framing_words import contrast_label
from parallax.report.numbers import (
    change,
    fraction,
    limit_points,
    percent,
    points,
    probability,
    signed_tenths,
    tenths,
)

_STYLES = ("page.css", "framing.css")
_SCRIPTS = ("page.js", "framing_log.js")


@dataclasses.dataclass(frozen=True)
class Half:
    """A part of the page with a verdict of its own: sections that follow each other."""

    anchor: str
    title: str
    question: str


@dataclasses.dataclass(frozen=True)
class Section:
    """One section of the page: `data` is what the template `{template}.html.j2` reads.

    The first section of a half is its verdict.
    """

    anchor: str
    title: str
    template: str
    data: Mapping[str, object]
    half: Half | None = None


def render_page(title: str, sections: Sequence[Section]) -> str:
    """Return the page with the sections in the order given.

    Every value is escaped unless it is Markup. A content security policy lets nothing be loaded
    and no script run but the page's own, whatever an output holds.
    """
    environment = _environment()
    style, script = ("".join(map(_asset, names)) for names in (_STYLES, _SCRIPTS))
    rendered = [
        (section, Markup(_template(environment, section.template).render(section.data)))
        for section in sections
    ]
    page: str = _template(environment, "page").render(
        title=title,
        style=Markup(style),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        halves=[
            (half, list(group)) for half, group in itertools.groupby(rendered, lambda r: r[0].half)
        ],
    )
    return page


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("parallax.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "change": change,
        "contrast": contrast_label,
        "fraction": fraction,
        "limit_points": limit_points,
        "percent": percent,
        "points": points,
        "probability": probability,
        "signed_tenths": signed_tenths,
        "tenths": tenths,
    }
    return environment


def _template(environment: jinja2.Environment, name: str) -> jinja2.Template:
    return environment.get_template(f"{name}.html.j2")


def _asset(name: str) -> str:
    return (resources.files("parallax.report") / "templates" / name).read_text(encoding="utf-8")
