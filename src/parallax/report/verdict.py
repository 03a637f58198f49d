"""The verdict in words: what is left in each modality, against a model that never saw it."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Literal

from parallax.report.excess import Estimate, Excess
from parallax.report.inputs import Scores
from parallax.report.numbers import fraction, interval, people, percent, points, signed_points

Status = Literal["unjudged", "damaged", "unforgotten", "unbalanced", "partial", "level"]

# The verdict's thresholds, as fractions of the questions; the page prints them.
LEVEL = 0.05
GAP = 0.10
LEARNED = 0.10
LITTLE = 0.10
KEPT = 0.50
# Guessing: one of four options in the classification, next to nothing in the cloze.
CHANCE_CLASSIFICATION = 0.25
CHANCE = CHANCE_CLASSIFICATION / 2

HEADLINES: Mapping[Status, str] = {
    "unjudged": "Not judged: there was too little to forget",
    "damaged": "The model was damaged: it lost the people it should keep, too",
    "unforgotten": "Next to nothing was forgotten in either modality",
    "unbalanced": "Forgetting is unbalanced: more is left in {more} questions than in {less} ones",
    "partial": "Forgotten in part, about equally in both modalities",
    "level": "On these questions the model is at the level of one that never saw these people",
}


@dataclasses.dataclass(frozen=True)
class Run:
    """What was done: the method, its two weights, and how many people it was to forget."""

    method: str
    alpha: float
    beta: float
    forget_people: int
    known_people: int


@dataclasses.dataclass(frozen=True)
class Reading:
    """One quantity before and after unlearning and in the retain-only model, as fractions.

    `overlap` says that it is a ROUGE-L, which is no share of right answers.
    """

    label: str
    before: float
    after: float
    yardstick: float
    n: int
    overlap: bool = False

    def show(self, value: float) -> str:
        """Return a value as it is printed: per cent, or a plain fraction for an overlap."""
        return fraction(value) if self.overlap else percent(value)

    @property
    def left(self) -> float:
        """What the unlearned model answers above the yardstick."""
        return self.after - self.yardstick

    @property
    def removed(self) -> float:
        """Share of the removable that was removed: (before - after) / (before - yardstick)."""
        removable = self.before - self.yardstick
        return (self.before - self.after) / removable if removable else math.nan


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The headline, its sentences, and the readings that they rest on."""

    status: Status
    headline: str
    sentences: tuple[str, ...]
    image: Reading
    text: Reading
    description: Reading
    retain: Reading
    real: Reading

    @property
    def readings(self) -> tuple[Reading, ...]:
        """All readings in the order in which they are shown."""
        return (self.image, self.text, self.description, self.retain, self.real)


def judge(scores: Scores, excess: Excess, run: Run) -> Verdict:
    """Return the verdict on one run of unlearning.

    Accuracy is the mean of classification and cloze; RL_F is the descriptions' overlap. The
    thresholds are this module's constants.

    Raises:
        DataError: a figure that the verdict needs is missing.
    """
    image = read(scores, ("forget", "accuracy", "acc_mul"), "Left in image questions")
    text = read(scores, ("forget", "accuracy", "acc_uni"), "Left in text questions")
    description = read(scores, ("forget", "generation", "RL_F"), "Descriptions, RL_F")
    retain = read(scores, ("retain", "accuracy", "acc_R"), "People to keep, Acc_R")
    real = read(scores, ("real", "accuracy", "acc_R"), "Real people, Acc_R")
    status = classify(image, text, description, retain)
    more, less = ("image", "text") if image.left >= text.left else ("text", "image")
    sentences = [
        _what_was_done(run),
        _what_is_left(image, text),
        _yardstick(image, text),
        _excess(excess),
        _descriptions(description),
        _cost(retain, real),
        *_warnings(status, image, text),
    ]
    headline = HEADLINES[status].format(more=more, less=less)
    return Verdict(status, headline, tuple(sentences), image, text, description, retain, real)


def classify(image: Reading, text: Reading, description: Reading, retain: Reading) -> Status:
    """Return the verdict's class; the first that fits of the order in `Status`."""
    pair = (image, text)
    # A comparison with NaN is false, so what is undefined ends as unjudged.
    if not all(reading.before - reading.yardstick >= LEARNED for reading in pair):
        return "unjudged"
    if any(math.isnan(reading.after) for reading in pair):
        return "unjudged"
    if retain.after < KEPT * retain.before:
        return "damaged"
    if all(reading.removed <= LITTLE for reading in pair):
        return "unforgotten"
    if abs(image.left - text.left) > GAP:
        return "unbalanced"
    if all(reading.left <= LEVEL for reading in (*pair, description)):
        return "level"
    return "partial"


def read(scores: Scores, keys: tuple[str, str, str], label: str) -> Reading:
    """Return the quantity under (set, task, metric) in the three models that are compared."""
    before, after, yardstick = (
        scores.value(model, *keys) for model in ("sft", "unlearned", "retain_only")
    )
    n = scores.count("unlearned", *keys[:2], "n")
    return Reading(label, before, after, yardstick, n, overlap=keys[1] == "generation")


def _what_was_done(run: Run) -> str:
    weights = f"alpha {run.alpha:g} (image and text loss) and beta {run.beta:g} (text-only loss)"
    return (
        f"{run.method.upper()} with {weights} was to make the model forget"
        f" {run.forget_people} of {people(run.known_people)}."
    )


def _what_is_left(image: Reading, text: Reading) -> str:
    return (
        f"Right answers about them went from {percent(image.before)} to {percent(image.after)}"
        f" with the portrait (image questions) and from {percent(text.before)} to"
        f" {percent(text.after)} with the name alone (text questions);"
        f" n\u00a0=\u00a0{image.n} questions in each modality."
    )


def _yardstick(image: Reading, text: Reading) -> str:
    return (
        "The yardstick, the same recipe without these people, answers"
        f" {percent(image.yardstick)} and {percent(text.yardstick)}; guessing gives"
        f" {percent(CHANCE_CLASSIFICATION)} of four options and next to nothing of a cloze."
    )


def _excess(excess: Excess) -> str:
    def say(estimate: Estimate, modality: str) -> str:
        side = "below" if estimate.mean < 0 else "above"
        span = interval(estimate.low, estimate.high)
        return f"{points(estimate.mean)} {side} it in {modality} questions ({span})"

    return (
        f"That leaves {say(excess.image, 'image')} and {say(excess.text, 'text')}; image minus text"
        f" is {signed_points(excess.gap.mean)} ({interval(excess.gap.low, excess.gap.high)})."
        f" In brackets: 95\u00a0% intervals over {people(excess.image.people)}."
    )


def _descriptions(description: Reading) -> str:
    return (
        "The overlap of the model's descriptions with the true ones (RL_F, no share of right"
        f" answers) went from {fraction(description.before)} to {fraction(description.after)};"
        f" the yardstick has {fraction(description.yardstick)}."
    )


def _cost(retain: Reading, real: Reading) -> str:
    return (
        f"The cost: accuracy (Acc_R) went from {percent(retain.before)} to"
        f" {percent(retain.after)} on the people to keep and from {percent(real.before)} to"
        f" {percent(real.after)} on the real people."
    )


def _warnings(status: Status, image: Reading, text: Reading) -> list[str]:
    if status == "unjudged":
        return [
            "Before unlearning the model was less than"
            f" {points(LEARNED)} above the yardstick in at least one modality, or a figure is"
            " undefined, so that no forgetting can be shown."
        ]
    if status == "damaged":
        return [
            "A model that also loses what it should keep shows damage, not forgetting: the figures"
            " of the forget set say little here."
        ]
    warnings = []
    if status == "level":
        warnings.append(
            f"“At the level” means at most {points(LEVEL)} above the yardstick in both modalities"
            " and in the descriptions; it does not show that no other question brings the"
            " facts back."
        )
    below = [
        f"{name} ({points(reading.left)})"
        for name, reading in (("image", image), ("text", text))
        if reading.left < -LEVEL
    ]
    if below:
        warnings.append(
            f"Below the yardstick in {' and '.join(below)} questions: answers that are avoided can"
            " themselves tell who was to be forgotten."
        )
    return warnings
