"""The sections of the framing half."""

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from parallax.params import Params
from parallax.report import framing_compared as compared
from parallax.report import framing_plots as plots
from parallax.report.drawing import as_svg, write_figures
from parallax.report.figures import Figures
from parallax.report.framing_audit import KINDS, build_audit
from parallax.report.framing_inputs import FramingInputs
from parallax.report.framing_judge_plots import draw_confusions, draw_effects, draw_kappas
from parallax.report.framing_judges import (
    Card,
    agreement_rows,
    parse_cards,
    parse_controls,
    parse_echo,
)
from parallax.report.framing_log import build_log, list_clauses
from parallax.report.framing_tables import build_contrasts, build_controls
from parallax.report.framing_verdict import PRIMARY, FramingVerdict, judge_framing
from parallax.report.framing_words import ARM_LABELS, CATEGORY_LABELS, CONTRASTS, FRAMES
from parallax.report.html import Half, Section
from parallax.report.numbers import change, percent, span
from parallax.report.parameters import list_entries

if TYPE_CHECKING:
    import pandas as pd

HALF = Half("framing", "Framing", "Does a model behave the same when it thinks nobody tests it?")
SECTIONS = (
    *("framing", "sampling", "subjects", "subject_pairs", "audit", "contamination", "judging"),
    "analysis",
)
_COMPONENTS = {
    "item": "item",
    "paraphrase": "version",
    "item_by_frame": "item by frame",
    "paraphrase_by_frame": "version by frame",
    "draw": "draw",
}


def build_framing(inputs: FramingInputs, params: Params) -> list[Section]:
    """Return the sections in the order in which a reader needs them.

    Raises:
        DataError: the inputs lack a figure, or make a claim that no contrast bears out.
    """
    cards = parse_cards(inputs.judges, inputs.primary)
    planted = {subject.name: subject.planted for subject in params.subjects if subject.planted}
    verdict = judge_framing(inputs.metrics, cards[0], params.analysis, planted)
    audit = build_audit(inputs.audit, inputs.audited, inputs.pairs)
    common: dict[str, object] = {
        "scope": verdict.scope,
        "level": 1 - params.analysis.alpha,
        "settings": params.analysis,
        "audit": audit,
        "categories": CATEGORY_LABELS,
        "primary": inputs.primary,
        "span": span,
    }
    sections = [
        Section(
            "framing-verdict",
            verdict.headline,
            "framing_verdict",
            _verdict(verdict, params.analysis.smallest_effect),
        ),
        Section(
            "framing-contrasts",
            "Contrasts between the frames",
            "framing_contrasts",
            _contrasts(inputs, params),
        ),
        Section("framing-items", "Item by item", "framing_items", _items(inputs)),
        Section("framing-doubts", "What else could it be?", "framing_doubts", _doubts(inputs)),
        Section(
            "framing-familiarity",
            "Effects by familiarity of the requests",
            "framing_familiarity",
            _familiarity(inputs),
        ),
        *_models(inputs),
        Section(
            "framing-judges",
            "The judges",
            "framing_judges",
            _judges(inputs, cards, params.analysis.smallest_effect),
        ),
        Section("framing-checks", "Checks of the prompts", "framing_checks", _checks(inputs)),
        Section("framing-log", "The responses", "framing_log", _log(inputs)),
        Section(
            "framing-parameters",
            "Parameters of the framing half",
            "parameters",
            _parameters(params),
        ),
        Section("framing-definitions", "What the words mean", "framing_definitions", {}),
    ]
    return [
        dataclasses.replace(section, half=HALF, data={**common, **section.data})
        for section in sections
    ]


def write_framing_plots(folder: Path, inputs: FramingInputs, params: Params) -> None:
    """Write every plot as a PNG into `folder`; same inputs, same bytes."""
    write_figures(
        folder,
        plots.framing_figures(
            judged(inputs.effects, inputs.primary),
            judged(inputs.item_effects, inputs.primary),
            parse_cards(inputs.judges, inputs.primary),
            inputs.subjects,
            _by_judge(inputs),
            params.analysis.smallest_effect,
        ),
    )


def _verdict(verdict: FramingVerdict, smallest_effect: float) -> dict[str, object]:
    """Return the verdict and where its scales end: at tens of points that hold all intervals."""
    ends = [
        abs(end)
        for subject in verdict.subjects
        for reading in subject.readings
        for end in (reading.estimate, reading.low, reading.high)
        if not math.isnan(end)
    ]
    reach = 10 * math.ceil(10 * max(smallest_effect, *ends, 0.0))
    return {"verdict": verdict, "reach": reach}


def judged(table: "pd.DataFrame", primary: str) -> "pd.DataFrame":
    """Return the primary judge's rows of a table, and those that rest on no judge."""
    return table[table["judge"].isin((primary, ""))]


def _contrasts(inputs: FramingInputs, params: Params) -> dict[str, object]:
    effects = judged(inputs.effects, inputs.primary)
    smallest = params.analysis.smallest_effect
    tables = build_contrasts(inputs.effects, inputs.primary, inputs.subjects)
    drawings = []
    for number, table in enumerate(tables):
        alt = f"Contrasts of {table.subject} with intervals; figures in the table"
        figure = plots.draw_forest(
            effects[effects["subject"] == table.subject], (table.subject,), smallest
        )
        drawings.append((Markup(as_svg(figure, f"contrasts-{number}", alt)), table))
    return {"subjects": drawings}


def _items(inputs: FramingInputs) -> dict[str, object]:
    table = judged(inputs.item_effects, inputs.primary)
    arms = [arm for arm in ARM_LABELS if arm in inputs.metrics.list("settings", "arms")]
    shown = []
    for number, subject in enumerate(inputs.subjects):
        alt = f"Each item's shares under E, D and N, {subject}, by category"
        figure = plots.draw_slopes(table, (subject,))
        drawing = Markup(as_svg(figure, f"items-{number}", alt))
        rows = list(_rates(inputs.metrics.part("subjects", subject), inputs.primary, arms))
        shown.append((drawing, subject, arms, rows))
    return {"subjects": shown}


def _rates(subject: Figures, primary: str, arms: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each category's shares by arm, that of unscored responses, and the log-odds, nats."""
    rates = subject.part("judges", primary, "rates")
    for category, label in CATEGORY_LABELS.items():
        if category in rates.names:
            yield label, [percent(rates.number(category, arm)) for arm in arms]
    unscored = subject.part("judges", primary, "unscored")
    yield "unscored, of all responses", [percent(unscored.number(arm)) for arm in arms]
    if subject.has("log_odds"):
        means = subject.part("log_odds", "means")
        yield "log-odds of refusal, nats", [change(means.number(arm)) for arm in arms]


def _doubts(inputs: FramingInputs) -> dict[str, object]:
    tables = build_controls(inputs.effects, inputs.primary, inputs.subjects)
    return {
        "controls": [(table.subject, table) for table in tables],
        "subjects": inputs.metrics.parts("subjects"),
        "contrasts": {key: compared.name_contrast(key) for key in PRIMARY},
        "components": _COMPONENTS,
        "frame_contrasts": CONTRASTS,
    }


def _familiarity(inputs: FramingInputs) -> dict[str, object]:
    rows = [
        (
            subject,
            compared.tertile_rows(inputs.metrics.part("subjects", subject)),
            compared.item_familiarity(inputs.familiarity, subject),
        )
        for subject in inputs.subjects
    ]
    return {"subjects": rows}


def _models(inputs: FramingInputs) -> list[Section]:
    if len(inputs.subjects) == 1:
        return []
    data = {
        "pairs": compared.pair_rows(inputs.metrics),
        "across": compared.across_rows(inputs.metrics),
    }
    return [Section("framing-models", "Model against model", "framing_models", data)]


def _by_judge(inputs: FramingInputs) -> dict[str, tuple[compared.JudgeRow, ...]]:
    return {
        subject: compared.judge_rows(inputs.metrics.part("subjects", subject), inputs.primary)
        for subject in inputs.subjects
    }


def _judges(
    inputs: FramingInputs, cards: tuple[Card, ...], smallest_effect: float
) -> dict[str, object]:
    kappas = as_svg(
        draw_kappas(cards), "kappas", "Kappa of each judge with the labels; figures below"
    )
    confusions = as_svg(
        draw_confusions(cards), "confusions", "Labels against verdicts; figures below"
    )
    by_judge = _by_judge(inputs)
    effects = as_svg(
        draw_effects(by_judge, smallest_effect),
        "judge-effects",
        "Each contrast under every judge, and paired differences; figures in the table",
    )
    return {
        "cards": cards,
        "kappas": Markup(kappas),
        "confusions": Markup(confusions),
        "controls": parse_controls(inputs.sensitivity, inputs.subjects, inputs.primary),
        "echoes": parse_echo(inputs.sensitivity, inputs.subjects),
        "agreement": {
            subject: agreement_rows(inputs.metrics.part("subjects", subject))
            for subject in inputs.subjects
        },
        "by_judge": by_judge if len(cards) > 1 else {},
        "effects": Markup(effects),
        "primary": cards[0],
        "frames": FRAMES,
        "contrasts": CONTRASTS,
    }


def _checks(inputs: FramingInputs) -> dict[str, object]:
    return {"checks": inputs.checks, "kinds": KINDS}


def _log(inputs: FramingInputs) -> dict[str, object]:
    topics = dict(zip(inputs.pairs["item"], inputs.pairs["topic"], strict=True))
    judges = tuple(map(str, inputs.metrics.list("settings", "judges")))
    log = build_log(inputs.responses, inputs.verdicts, inputs.prompts, topics, judges)
    return {"log": log, "clauses": list_clauses(inputs.prompts)}


def _parameters(params: Params) -> dict[str, object]:
    """Return the parameters that took part; judges that did not judge are left out."""
    values = params.model_dump()
    judging = params.judging
    used = {*judging.names, *(judging.members if "ensemble" in judging.names else ())}
    values["judging"] = {
        key: value
        for key, value in values["judging"].items()
        if key not in ("rubric", "guard", "endpoint") or key in used
    }
    for name in ("subjects", "subject_pairs"):
        values[name] = {str(n): entry for n, entry in enumerate(values[name], 1)} or {name: None}
    sections = {name: list_entries(values[name]) for name in SECTIONS}
    return {"sections": sections, "note": "the blocks of judges that did not judge are left out"}
