"""One annotator's form: a file that works offline, by keyboard alone, and keeps its answers."""

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib import resources

import jinja2
from markupsafe import Markup

from parallax.framing.annotation.cells import FORMULA, MARK
from parallax.framing.annotation.masking import Masked
from parallax.framing.annotation.questions import GUIDANCE, QUESTIONS
from parallax.framing.annotation.sheets import SHEET_COLUMNS

_PACKAGE = "parallax.framing.annotation"


def render_form(masked: Sequence[Masked]) -> str:
    """Return the form of the one annotator to whom all rows belong.

    It has IDs and texts alone. A content security policy lets it load nothing, send nothing and run
    no script but its own.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(_PACKAGE, "form"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    script = _asset("form.js")
    page: str = environment.get_template("form.html.j2").render(
        annotator=masked[0].annotator,
        questions=list(QUESTIONS.values()),
        guidance=GUIDANCE,
        count=len(masked),
        data=Markup(_data(masked)),
        style=Markup(_asset("form.css")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return page


def _data(masked: Sequence[Masked]) -> str:
    """Return what the script shows and saves, as JSON that cannot end the element it stands in."""
    rows = [(row.id, *row.texts) for row in masked]
    # Answers to other texts must not come back under the same IDs.
    shown = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    values = {
        "store": f"parallax-audit-{shown[:16]}",
        "file": f"annotator-{masked[0].annotator}",
        "columns": SHEET_COLUMNS,
        "formula": FORMULA,
        "mark": MARK,
        "rows": rows,
    }
    return json.dumps(values).replace("<", "\\u003c")


def _asset(name: str) -> str:
    return (resources.files(_PACKAGE) / "form" / name).read_text(encoding="utf-8")
