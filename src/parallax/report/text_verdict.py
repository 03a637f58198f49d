"""The verdict on a model that takes text alone: nothing is said of the other modality."""

import dataclasses
from collections.abc import Mapping

from parallax.report import verdict
from parallax.report.excess import Estimate
from parallax.report.inputs import Scores
from parallax.report.numbers import fraction, interval, people, percent, points
from parallax.report.verdict import Reading, Run, Status

HEADLINES: Mapping[Status, str] = {
    "unjudged": "Text only, not judged: there was too little to forget",
    "damaged": "Text only: the model was damaged, it lost the people it should keep, too",
    "unforgotten": "Text only: next to nothing was forgotten",
    "partial": "Text only: forgotten in part",
    "level": "Text only: on these questions the model is at the level of one that never saw these"
    " people",
}


@dataclasses.dataclass(frozen=True)
class TextVerdict:
    """The headline, its sentences, and the readings that they rest on."""

    status: Status
    headline: str
    sentences: tuple[str, ...]
    readings: tuple[Reading, ...]


def judge_text(scores: Scores, excess: Estimate, run: Run) -> TextVerdict:
    """Return the verdict on the text questions, by the thresholds of `parallax.report.verdict`.

    Acc_F, Acc_R, RL_F and RL_R are of both modalities and undefined here; Acc_uni and RL_uni stand
    in their places.

    Raises:
        DataError: a figure that the verdict needs is missing.
    """
    text = verdict.read(scores, ("forget", "accuracy", "acc_uni"), "Left in text questions")
    description = verdict.read(scores, ("forget", "generation", "rl_uni"), "Descriptions, RL_uni")
    retain = verdict.read(scores, ("retain", "accuracy", "acc_uni"), "People to keep, Acc_uni")
    real = verdict.read(scores, ("real", "accuracy", "acc_uni"), "Real people, Acc_uni")
    # With text in both places nothing can be unbalanced.
    status = verdict.classify(text, text, description, retain)
    side = "below" if excess.mean < 0 else "above"
    sentences = (
        f"{run.method.upper()} with beta {run.beta:g} was to make the model forget"
        f" {run.forget_people} of {people(run.known_people)}; the model takes no images, so alpha"
        " counts as 0 and every figure of images is undefined.",
        f"Right answers about them went from {percent(text.before)} to {percent(text.after)}"
        f" (text questions, n\u00a0=\u00a0{text.n}).",
        f"The yardstick, the same recipe without these people, answers {percent(text.yardstick)}.",
        f"That leaves {points(excess.mean)} {side} it"
        f" ({interval(excess.low, excess.high)}, a 95\u00a0% interval over"
        f" {people(excess.people)}).",
        f"The overlap of the descriptions with the true ones went from"
        f" {fraction(description.before)} to {fraction(description.after)}.",
        f"The cost: accuracy went from {percent(retain.before)} to {percent(retain.after)} on the"
        f" people to keep and from {percent(real.before)} to {percent(real.after)} on the real"
        " people.",
    )
    return TextVerdict(status, HEADLINES[status], sentences, (text, description, retain, real))
