"""How far the unlearned model lies above the yardstick, person by person, with intervals."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from parallax.errors import DataError
from parallax.records import MODALITIES, Modality
from parallax.stats.intervals import t_interval

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean over people, as a fraction, with its t interval at level 1 - ALPHA.

    `low` and `high` are NaN with fewer than two people or when all people are alike.
    """

    mean: float
    low: float
    high: float
    people: int


@dataclasses.dataclass(frozen=True)
class Excess:
    """Accuracy of the unlearned model minus that of the retain-only one on the forget people.

    `gap` is image minus text of the two.
    """

    image: Estimate
    text: Estimate
    gap: Estimate


def measure_excess(scored: "pd.DataFrame") -> Excess:
    """Return what is left above the yardstick: mean over people of acc_i(unlearned) - acc_i(ro).

    acc_i is person i's mean of classification and cloze accuracy, so that people, who share their
    questions' luck, are the items and not their questions.

    Raises:
        DataError: the table has no answers of one of the two models to those tasks.
    """
    image, text = (_above(scored, modality) for modality in MODALITIES)
    return Excess(_estimate(image), _estimate(text), _estimate(image - text))


def measure_text_excess(scored: "pd.DataFrame") -> Estimate:
    """Return what `measure_excess` does, of the text questions alone."""
    return _estimate(_above(scored, "text"))


def _above(scored: "pd.DataFrame", modality: Modality) -> "pd.Series[float]":
    """Return each forget person's accuracy above the yardstick in one modality."""
    asked = scored[(scored["set"] == "forget") & scored["task"].isin(("classification", "cloze"))]
    task = asked.groupby(["model", "modality", "person_id", "task"])["score"].mean()
    person = task.groupby(["model", "modality", "person_id"]).mean().unstack(["model", "modality"])
    for model in ("unlearned", "retain_only"):
        if (model, modality) not in person.columns:
            raise DataError(
                f"scored table: {model} has no {modality} answers about the forget people;"
                " evaluate and score that model again"
            )
    above: pd.Series[float] = person["unlearned", modality] - person["retain_only", modality]
    return above


def _estimate(differences: "pd.Series[float]") -> Estimate:
    values = np.asarray(differences, dtype=np.float64)
    interval = t_interval(values, ALPHA)
    return Estimate(float(values.mean()), interval.low, interval.high, len(values))
