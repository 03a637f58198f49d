"""Metrics of UMU-Bench from a scored table: accuracy and overlap per set, and their changes."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parallax.errors import DataError
from parallax.records import EVALUATION_TASKS, MODELS, SETS

TaskMetrics = dict[str, float]
SetMetrics = dict[str, dict[str, TaskMetrics]]
"""Metrics by set and task."""

# The paper's short names of the modalities, which end the names of metrics.
_SUFFIX = {"image": "mul", "text": "uni"}
_QUESTION = ["model", "set", "person_id", "task", "field"]
_VALUES = ["score", "rouge1", "rouge2", "bleu", "abstained"]


def forget_accuracy(acc_mul: float, acc_uni: float, acc_any: float) -> float:
    """acc_F = (acc_mul + acc_uni + acc_any) / 3 (UMU-Bench); lower forgets more."""
    return (acc_mul + acc_uni + acc_any) / 3


def retain_accuracy(acc_mul: float, acc_uni: float, acc_all: float) -> float:
    """acc_R = (acc_mul + acc_uni + acc_all) / 3 (UMU-Bench); higher keeps more."""
    return (acc_mul + acc_uni + acc_all) / 3


def contraharmonic_mean(x: float, y: float) -> float:
    """W(x, y) = (x² + y²) / (x + y), 0 at x = y = 0: high when either modality is high.

    The overlap of a pair on the forget set. The paper's PDF has W and H swapped; its erratum and
    the official code have them this way round.
    """
    return (x * x + y * y) / (x + y) if x + y else 0.0


def harmonic_mean(x: float, y: float) -> float:
    """H(x, y) = 2xy / (x + y), 0 at x = y = 0: high only when both modalities are high.

    The overlap of a pair on the retain and real sets.
    """
    return 2 * x * y / (x + y) if x + y else 0.0


def modality_gap(acc_mul: float, acc_uni: float) -> float:
    """|acc_mul - acc_uni|: what one modality still answers and the other does not."""
    return abs(acc_mul - acc_uni)


def pair_modalities(scored: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model and knowledge instance, with the values of both modalities.

    Where no question at all was asked with an image (a model that takes text alone), the values of
    the image are NaN.

    Columns: model, set, person_id, task, field, and `{value}_mul` (image) and `{value}_uni` (text)
    for score, rouge1, rouge2, bleu and abstained (0 or 1).

    Raises:
        DataError: a row comes twice, has no twin in the other modality, or is missing for one of
            the models; names it.
    """
    _refuse(scored, scored.duplicated([*_QUESTION, "modality"]), "comes twice; keep one row")
    twins = scored.groupby(_QUESTION)["modality"].transform("size")
    text_alone = set(scored["modality"]) == {"text"}
    _refuse(
        scored,
        twins != (1 if text_alone else len(_SUFFIX)),
        "has no twin in the other modality; ask every question in both",
    )
    models = scored["model"].nunique()
    answered = scored.groupby(_QUESTION[1:])["model"].transform("nunique")
    _refuse(
        scored,
        answered != models,
        f"is not answered by all {models} models; evaluate them on the same questions",
    )
    values = scored[_QUESTION].join(scored[_VALUES].astype(float))
    values["modality"] = scored["modality"].map(_SUFFIX)
    wide = values.pivot(index=_QUESTION, columns="modality", values=_VALUES).sort_index()
    wide.columns = wide.columns.map("_".join)
    if text_alone:
        wide[[f"{value}_mul" for value in _VALUES]] = math.nan
    return wide.reset_index()


def _refuse(scored: pd.DataFrame, bad: "pd.Series[bool]", reason: str) -> None:
    if bad.any():
        row = scored[bad].iloc[0]
        raise DataError(
            f"{row['model']}: person {row['person_id']} ({row['set']}), {row['task']} of"
            f" {row['field']}, {row['modality']}: {reason}"
        )


def measure_accuracy(pairs: pd.DataFrame, group: str) -> TaskMetrics:
    """Accuracies (fractions of the pairs) of one model, set and task; NaN where n is 0."""
    mul, uni = pairs["score_mul"].to_numpy(), pairs["score_uni"].to_numpy()
    shares = {
        "acc_mul": _mean(mul),
        "acc_uni": _mean(uni),
        "acc_all": _mean(np.minimum(mul, uni)),
        "acc_any": _mean(np.maximum(mul, uni)),
    }
    return _summarise_accuracy(shares, group) | _abstention_rates(pairs) | _counts(pairs)


def measure_overlap(pairs: pd.DataFrame, group: str) -> TaskMetrics:
    """ROUGE-L by modality and paired (RL_F or RL_R), ROUGE-1, ROUGE-2 and BLEU; NaN where n is 0.

    RL_F = mean over pairs of W, RL_R = mean over pairs of H.
    """
    combine, name = (contraharmonic_mean, "RL_F") if group == "forget" else (harmonic_mean, "RL_R")
    paired = [combine(x, y) for x, y in zip(pairs["score_mul"], pairs["score_uni"], strict=True)]
    means = {
        f"rl_{suffix}": _mean(pairs[f"score_{suffix}"].to_numpy()) for suffix in _SUFFIX.values()
    }
    secondary = {
        f"{value}_{suffix}": _mean(pairs[f"{value}_{suffix}"].to_numpy())
        for value in ("rouge1", "rouge2", "bleu")
        for suffix in _SUFFIX.values()
    }
    return means | {name: _mean(paired)} | secondary | _abstention_rates(pairs) | _counts(pairs)


def average_accuracy(classification: TaskMetrics, cloze: TaskMetrics, group: str) -> TaskMetrics:
    """The pseudo-task `accuracy`: each share's plain mean over classification and cloze; n is both.

    Both tasks weigh the same, however many pairs each has; NaN where either is.
    """
    shares = {
        name: (classification[name] + cloze[name]) / 2
        for name in ("acc_mul", "acc_uni", "acc_all", "acc_any")
    }
    rates = {
        name: (classification[name] + cloze[name]) / 2
        for name in ("abstention_rate_mul", "abstention_rate_uni")
    }
    counts = {
        name: classification.get(name, 0) + cloze.get(name, 0)
        for name in ("n", "n_mul")
        if name in classification or name in cloze
    }
    return _summarise_accuracy(shares, group) | rates | counts


def measure_sets(pairs: pd.DataFrame) -> SetMetrics:
    """Return the metrics of one model by set and task; `pairs` as from `pair_modalities`."""
    metrics: SetMetrics = {}
    for group in SETS:
        tasks = {
            task: pairs[(pairs["set"] == group) & (pairs["task"] == task)]
            for task in EVALUATION_TASKS
        }
        classification = measure_accuracy(tasks["classification"], group)
        cloze = measure_accuracy(tasks["cloze"], group)
        metrics[group] = {
            "classification": classification,
            "cloze": cloze,
            "accuracy": average_accuracy(classification, cloze, group),
            "generation": measure_overlap(tasks["generation"], group),
        }
    return metrics


def measure_delta(models: Mapping[str, SetMetrics]) -> dict[str, TaskMetrics]:
    """What unlearning changed on the forget set, by task; NaN where a model is missing.

    dAcc_F = acc_F(sft) - acc_F(unlearned) and dRL_F likewise: before minus after, so that more is
    more forgotten. `retain_only_gap` = acc_F (RL_F) of unlearned minus that of retain_only: 0 is
    as little as a model knows that never saw the people; below 0 is less than that.
    """

    def value(model: str, task: str, name: str) -> float:
        return models[model]["forget"][task][name] if model in models else math.nan

    names = {"classification": "Acc_F", "cloze": "Acc_F", "accuracy": "Acc_F", "generation": "RL_F"}
    delta: dict[str, TaskMetrics] = {}
    for task, label in names.items():
        name = label.replace("Acc", "acc")
        after = value("unlearned", task, name)
        delta[task] = {
            f"d{label}": value("sft", task, name) - after,
            "retain_only_gap": after - value("retain_only", task, name),
        }
    return delta


def measure(scored: pd.DataFrame) -> dict[str, SetMetrics | dict[str, TaskMetrics]]:
    """Return all metrics of a scored table by model, set and task, and `delta`; 6 decimals.

    The order of the table's rows does not matter.

    Raises:
        DataError: the rows are not pairs; see `pair_modalities`.
    """
    pairs = pair_modalities(scored)
    models = {
        model: measure_sets(pairs[pairs["model"] == model])
        for model in MODELS
        if (pairs["model"] == model).any()
    }
    rounded = {
        model: {group: _round(tasks) for group, tasks in sets.items()}
        for model, sets in models.items()
    }
    return {**rounded, "delta": _round(measure_delta(models))}


def _summarise_accuracy(shares: TaskMetrics, group: str) -> TaskMetrics:
    if group == "forget":
        return shares | {
            "acc_F": forget_accuracy(shares["acc_mul"], shares["acc_uni"], shares["acc_any"]),
            "modality_gap": modality_gap(shares["acc_mul"], shares["acc_uni"]),
        }
    return shares | {
        "acc_R": retain_accuracy(shares["acc_mul"], shares["acc_uni"], shares["acc_all"])
    }


def _abstention_rates(pairs: pd.DataFrame) -> TaskMetrics:
    return {
        f"abstention_rate_{suffix}": _mean(pairs[f"abstained_{suffix}"].to_numpy())
        for suffix in _SUFFIX.values()
    }


def _counts(pairs: pd.DataFrame) -> TaskMetrics:
    """Count the questions; `n_mul`, those asked with an image, is named where there are none."""
    alone = len(pairs) > 0 and pairs["score_mul"].isna().all()
    counts: TaskMetrics = {"n": len(pairs)}
    return counts | {"n_mul": 0} if alone else counts


def _mean(values: Sequence[float] | NDArray[np.float64]) -> float:
    return float(np.mean(values)) if len(values) else math.nan


def _round(tasks: Mapping[str, TaskMetrics]) -> dict[str, TaskMetrics]:
    # Adding 0.0 turns -0.0 into 0.0; counts stay whole.
    return {
        task: {
            name: value if isinstance(value, int) else round(value, 6) + 0.0
            for name, value in metrics.items()
        }
        for task, metrics in tasks.items()
    }
