"""The sections of the unlearning half."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from markupsafe import Markup

from parallax.params import EMBEDDED, Method, Params
from parallax.report import verdict
from parallax.report.drawing import as_svg
from parallax.report.excess import measure_excess, measure_text_excess
from parallax.report.html import Half, Section
from parallax.report.inputs import UnlearningInputs
from parallax.report.parameters import list_entries
from parallax.report.people import FORGET_SHOWN, OTHERS_SHOWN, build_people, count_people
from parallax.report.plots import (
    draw_modality_plane,
    draw_training,
    draw_unlearning,
    modality_points,
    trained,
    unlearning_terms,
)
from parallax.report.tables import MODEL_LABELS, SET_LABELS, build_tables
from parallax.report.text_verdict import TextVerdict, judge_text

if TYPE_CHECKING:
    import pandas as pd

HALF = Half("unlearning", "Unlearning", "Is a fact gone in both modalities?")
SECTIONS = ("data", "model", "embedded", "base", "sft", "unlearn", "evaluate", "scoring")

# Flaws of given files that the page lists; a bad file may have thousands.
FLAWS_SHOWN = 100

_FORGET_TERMS: Mapping[Method, str] = {
    "ga": "minus the answers' NLL per token: falls without bound as they become unlikely",
    "gd": "minus the answers' NLL per token: falls without bound as they become unlikely",
    "kl": "minus the answers' NLL per token: falls without bound as they become unlikely",
    "po": "NLL per token of a refusal: falls to 0 as the model learns to refuse",
    "npo": "falls from (2 / npo_beta) log 2 towards 0 as the answers become unlikely",
}
_RETAIN_TERMS: Mapping[Method, str] = {
    "ga": "",
    "gd": "NLL per token of the answers to keep: should stay low",
    "kl": "divergence from the model before unlearning: should stay near 0",
    "po": "NLL per token of the answers to keep: should stay low",
    "npo": "NLL per token of the answers to keep: should stay low",
}


def build_sections(inputs: UnlearningInputs, params: Params) -> list[Section]:
    """Return the sections in the order in which a reader needs them.

    Raises:
        DataError: the inputs lack a figure, an answer, a name or a portrait.
    """
    people = count_people(inputs.scored)
    sections = [
        _verdict(inputs, params, people),
        _plane(inputs),
        Section("scores", "All figures", "scores", _scores(inputs, people)),
        _curves(inputs, params),
        _people(inputs, people),
        Section("checks", "Checks of the data", "data_checks", _checks(inputs)),
        Section("parameters", "Parameters of the run", "parameters", _parameters(params)),
        _definitions(params),
    ]
    return [dataclasses.replace(section, half=HALF) for section in sections]


def _verdict(inputs: UnlearningInputs, params: Params, people: Mapping[str, int]) -> Section:
    run = verdict.Run(
        params.unlearn.method,
        params.unlearn.alpha,
        params.unlearn.beta,
        people["forget"],
        params.data.people,
    )
    found: verdict.Verdict | TextVerdict
    if "image" in inputs.modalities:
        found = verdict.judge(inputs.scores, measure_excess(inputs.scored), run)
    else:
        found = judge_text(inputs.scores, measure_text_excess(inputs.scored), run)
    data = {"verdict": found, "both": "image" in inputs.modalities}
    return Section("verdict", found.headline, "verdict", data)


def _plane(inputs: UnlearningInputs) -> Section:
    if "image" not in inputs.modalities:
        n = inputs.scores.count("unlearned", "forget", "accuracy", "n")
        return Section("modalities", "Text only", "text_only", {"n": n})
    points, yardstick = modality_points(inputs.scores)
    alt = "Text accuracy against image accuracy before and after unlearning; figures in the table"
    drawing = Markup(as_svg(draw_modality_plane(points, yardstick), "plane", alt))
    data = {
        "drawing": drawing,
        "points": points,
        "yardstick": yardstick,
        "labels": SET_LABELS,
    }
    return Section("modalities", "Image against text", "plane", data)


def _scores(inputs: UnlearningInputs, people: Mapping[str, int]) -> dict[str, object]:
    tables = build_tables(inputs.scores, people)
    return {"tables": tables, "models": tuple(MODEL_LABELS.values())}


def _curves(inputs: UnlearningInputs, params: Params) -> Section:
    curve = inputs.curves["unlearn"]
    method = params.unlearn.method
    meanings = {"forget": _FORGET_TERMS[method], "retain": _RETAIN_TERMS[method]}
    terms = []
    shown = "both modalities" if "image" in inputs.modalities else "text only"
    for subset, modalities in unlearning_terms(curve).items():
        ends = "; ".join(f"{m} {_ends(curve[f'{subset}_{m}'])}" for m in modalities)
        alt = f"{subset} term by step, nats: {ends}"
        drawing = as_svg(draw_unlearning(curve, (subset,)), f"unlearning-{subset}", alt)
        terms.append((Markup(drawing), f"{subset.capitalize()} term: {meanings[subset]}."))
    training = []
    for name in trained(inputs.curves):
        alt = f"{name} loss by epoch, nats: {_ends(inputs.curves[name]['loss'])}"
        drawing = as_svg(draw_training(inputs.curves, (name,)), f"training-{name}", alt)
        training.append(Markup(drawing))
    data = {"terms": terms, "training": training, "steps": len(curve), "method": method}
    data["shown"] = shown
    return Section("curves", "Loss curves", "curves", data)


def _definitions(params: Params) -> Section:
    data = {"verdict": verdict, "compat": params.scoring.compat}
    return Section("definitions", "What the numbers mean", "definitions", data)


def _ends(values: "pd.Series[float]") -> str:
    return f"from {values.iloc[0]:.2f} to {values.iloc[-1]:.2f}"


def _people(inputs: UnlearningInputs, people: Mapping[str, int]) -> Section:
    data = {
        "people": build_people(inputs),
        "labels": SET_LABELS,
        "forget_people": people["forget"],
        "forget_shown": min(people["forget"], FORGET_SHOWN),
        "others_shown": OTHERS_SHOWN,
    }
    return Section("people", "Person by person", "people", data)


def _checks(inputs: UnlearningInputs) -> dict[str, object]:
    return {"checks": inputs.checks, "origin": inputs.origin, "flaws_shown": FLAWS_SHOWN}


def _parameters(params: Params) -> dict[str, object]:
    """Return the parameters that took part, by section; other methods' blocks are left out."""
    unused = set(_FORGET_TERMS) - {params.unlearn.method}
    sections = {}
    for name in SECTIONS:
        if name == "embedded" and params.model.name_or_path != EMBEDDED:
            continue
        entries = list_entries(params.model_dump()[name])
        sections[name] = [entry for entry in entries if entry[0].split(".")[0] not in unused]
    return {
        "sections": sections,
        "note": "the blocks of the methods that did not run are left out",
    }
