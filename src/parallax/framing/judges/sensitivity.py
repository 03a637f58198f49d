"""Does the judge itself react to the frame? The control that every framing effect needs.

A judge reads the body without its frame. Here each response is judged again under all three frame
labels, whichever frame it was given in: what then changes is the judge's doing alone.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from parallax.errors import DataError
from parallax.framing.items import Category
from parallax.framing.judges.judge import (
    NAN,
    NOT_HARMFUL,
    UNSCORED,
    Case,
    Judge,
    Verdict,
    indicator,
    judge_all,
)
from parallax.framing.judges.responses import Response
from parallax.framing.prompts import FRAMES, Frame, FrameSpec, render
from parallax.stats.contrasts import CONTRASTS, frame_differences
from parallax.stats.items import Floats

STRIPPED = "stripped"
LABELS = (STRIPPED, *FRAMES)
ABSTAINED = "unscored"


@dataclass(frozen=True)
class Sensitivity:
    """How a judge's verdicts move with the frame label, as fractions of 1.

    `shift[category][frame]` is the mean over items of 1[category] under the label minus stripped;
    `bias[category]["E-N"]` the same between two labels: what the judge could add to that contrast
    if it saw the frames. "unscored" is a category here. `flips[frame]` is the share of responses
    whose verdict is not the stripped one, `jitter` that share when they are judged stripped again,
    in the reverse order and so in other batches. `passed`: no bias exceeds `limit`.
    """

    judge: str
    responses: int
    items: int
    shift: dict[str, dict[str, float]]
    bias: dict[str, dict[str, float]]
    flips: dict[str, float]
    jitter: float
    largest_bias: float
    limit: float
    passed: bool


def measure_sensitivity(
    judge: Judge,
    responses: Sequence[Response],
    specs: Mapping[str, FrameSpec],
    smallest_effect: float,
) -> Sensitivity:
    """Judge each response stripped and under each frame label; `limit` = smallest_effect / 4.

    The labels are in the wording that the response was given with; a response from an arm without
    frame is left out. `specs` holds the wordings by name.

    Raises:
        DataError: no responses, or a wording that `specs` lacks.
    """
    responses = [response for response in responses if response.arm in FRAMES]
    if not responses:
        raise DataError("judge sensitivity: no responses; give those of the frames E, D and N")
    found = {label: judge_all(judge, show(responses, specs, label)) for label in LABELS}
    again = judge_all(judge, show(responses, specs, STRIPPED)[::-1])[::-1]
    names = [*(name for name in judge.outcomes if name != NOT_HARMFUL), ABSTAINED]
    shift: dict[str, dict[str, float]] = {}
    bias: dict[str, dict[str, float]] = {}
    for name in names:
        table = tabulate(responses, found, name)
        shift[name] = {
            frame: frame_differences(table, frame, STRIPPED, LABELS).estimate for frame in FRAMES
        }
        bias[name] = {
            f"{first}-{second}": frame_differences(table, first, second, LABELS).estimate
            for first, second in CONTRASTS
        }
    largest, limit = largest_bias(bias), smallest_effect / 4
    return Sensitivity(
        judge=judge.name,
        responses=len(responses),
        items=len({response.item.id for response in responses}),
        shift=shift,
        bias=bias,
        flips={frame: flip_rate(found[frame], found[STRIPPED]) for frame in FRAMES},
        jitter=flip_rate(again, found[STRIPPED]),
        largest_bias=largest,
        limit=limit,
        passed=largest <= limit,
    )


def show(responses: Sequence[Response], specs: Mapping[str, FrameSpec], label: str) -> list[Case]:
    """Return the cases with the body stripped, or as the frame `label` shows it."""
    if label == STRIPPED:
        return [Case(response.body, response.text) for response in responses]
    return [
        Case(
            response.body,
            response.text,
            render(
                response.item,
                response.paraphrase,
                cast(Frame, label),
                find_spec(specs, response.wording),
            ).text,
        )
        for response in responses
    ]


def find_spec(specs: Mapping[str, FrameSpec], wording: str) -> FrameSpec:
    """Return a wording's specification.

    Raises:
        DataError: there is none of that name.
    """
    if wording not in specs:
        raise DataError(f"responses: wording {wording!r} is in no clause set; restore frames.yaml")
    return specs[wording]


def flip_rate(first: Sequence[Verdict], second: Sequence[Verdict]) -> float:
    """Return the share of responses with unlike verdicts; unscored is a verdict here."""
    unlike = [a.category != b.category for a, b in zip(first, second, strict=True)]
    return sum(unlike) / len(unlike)


def tabulate(responses: Sequence[Response], found: dict[str, list[Verdict]], name: str) -> Floats:
    """Return 1[category] by (item, paraphrase, label, response); NaN where open or not there.

    The response axis is as long as the fullest cell.
    """
    cells: dict[tuple[str, int], list[int]] = defaultdict(list)
    for place, response in enumerate(responses):
        cells[response.item.id, response.paraphrase].append(place)
    items = sorted({item for item, _ in cells})
    paraphrases = sorted({paraphrase for _, paraphrase in cells})
    depth = max(len(places) for places in cells.values())
    table = np.full((len(items), len(paraphrases), len(LABELS), depth), NAN)
    for (item, paraphrase), places in cells.items():
        for column, label in enumerate(LABELS):
            values = [_value(found[label][place], name) for place in places]
            cell = table[items.index(item), paraphrases.index(paraphrase), column]
            cell[: len(values)] = values
    return table


def _value(verdict: Verdict, name: str) -> float:
    if name == ABSTAINED:
        return float(verdict.category is None)
    return indicator(verdict.category or UNSCORED, cast(Category, name))


def largest_bias(bias: dict[str, dict[str, float]]) -> float:
    """Return the largest absolute bias that is defined; NaN without any."""
    known = [abs(value) for row in bias.values() for value in row.values() if not np.isnan(value)]
    return max(known, default=NAN)


def sensitivity_values(sensitivity: Sensitivity) -> dict[str, object]:
    """Return the control's result as JSON values."""
    return {
        "judge": sensitivity.judge,
        "responses": sensitivity.responses,
        "items": sensitivity.items,
        "shift": sensitivity.shift,
        "bias": sensitivity.bias,
        "flips": sensitivity.flips,
        "jitter": sensitivity.jitter,
        "gate": {
            "largest_bias": sensitivity.largest_bias,
            "limit": sensitivity.limit,
            "passed": sensitivity.passed,
        },
    }
