"""The table of what was planted in model organisms and what was found, as Markdown."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from parallax.report.framing_words import contrast_label
from parallax.report.numbers import UNDEFINED, change, percent, probability, signed_tenths, span

_SIGNS = {1: "+", -1: "\N{MINUS SIGN}", 0: "not significant"}


def write_organisms(values: Mapping[str, Any]) -> str:
    """Return the table of contrasts and that of what the training cost.

    `values` is what the stage compare_organisms writes as JSON.
    """
    subjects = values["subjects"]
    contrasts = sum(len(found["contrasts"]) for found in subjects.values())
    return "\n".join(
        [
            f"Refusals under the judge {values['judge']}, on {values['items']} benign stand-ins in"
            f" two versions, {values['draws']} draws each. {values['as_expected']} of {contrasts}"
            " contrasts are as expected.",
            "",
            *_table(
                ("subject", "planted", "contrast", "expected", "found, points", "interval"),
                ("p", "adjusted p", "label", "as expected"),
                [
                    _contrast(name, found, key)
                    for name, found in subjects.items()
                    for key in found["contrasts"]
                ],
            ),
            "",
            "Adjusted p: Holm for E \N{MINUS SIGN} N and E \N{MINUS SIGN} D,"
            " Benjamini-Hochberg for D \N{MINUS SIGN} N.",
            "",
            *_table(
                ("subject", "claim", "refusal: E", "D", "N", "no frame"),
                ("log-likelihood of reference answers", "change", "interval", "p"),
                [_subject(name, found) for name, found in subjects.items()],
            ),
            "",
            "Reference answers to the bare requests, nats per token; change against the untouched"
            " model, item by item.",
            "",
        ]
    )


def _contrast(name: str, found: Mapping[str, Any], key: str) -> list[str]:
    effect = found["contrasts"][key]
    low, high = (100 * effect[end] for end in ("low", "high"))
    return [
        name,
        found["planted"],
        contrast_label(key),
        _SIGNS[effect["expected"]],
        signed_tenths(effect["estimate"]),
        span(low, high, 1),
        probability(effect["p"]),
        probability(effect["adjusted"]),
        effect["label"],
        "yes" if effect["agrees"] else "**no**",
    ]


def _subject(name: str, found: Mapping[str, Any]) -> list[str]:
    answers, rates = found["answers"], found["refusal"]
    changed = answers["change"] is not None
    return [
        name,
        found["caution"],
        *(
            percent(math.nan if (rate := rates.get(arm)) is None else rate)
            for arm in ("E", "D", "N", "no_frame")
        ),
        change(answers["log_likelihood"]),
        change(answers["change"]) if changed else UNDEFINED,
        span(answers["low"], answers["high"], 2) if changed else UNDEFINED,
        probability(answers["p"]) if changed else UNDEFINED,
    ]


def _table(first: Sequence[str], second: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    titles = [*first, *second]
    return [f"| {' | '.join(cells)} |" for cells in (titles, ["---"] * len(titles), *rows)]
