"""The paper-shaped tables: every metric of a set, the four models side by side."""

import dataclasses
from collections.abc import Mapping

from parallax.records import MODELS, SETS
from parallax.report.inputs import Scores
from parallax.report.numbers import MINUS, change, fraction

SET_LABELS: Mapping[str, str] = {
    "forget": "Forget people",
    "retain": "People to keep",
    "real": "Real people",
}
MODEL_LABELS: Mapping[str, str] = {
    "base": "Base",
    "sft": "Before",
    "retain_only": "Retain-only",
    "unlearned": "After",
}
TASK_LABELS: Mapping[str, str] = {
    "classification": "Classification",
    "cloze": "Cloze",
    "accuracy": "Mean of classification and cloze",
    "generation": "Generation",
}
# Key in the metrics file -> its name on the page and what it is of.
_ACCURACY = {
    "acc_mul": ("Acc_mul", "image"),
    "acc_uni": ("Acc_uni", "text"),
    "acc_all": ("Acc_all", "both"),
    "acc_any": ("Acc_any", "either"),
}
_OVERLAP = {"rl_mul": ("RL_mul", "image"), "rl_uni": ("RL_uni", "text")}
_ABSTENTION = {
    "abstention_rate_mul": ("Abst_mul", "image"),
    "abstention_rate_uni": ("Abst_uni", "text"),
}


@dataclasses.dataclass(frozen=True)
class Row:
    """One metric: its name, its gloss, its value in each model, and after minus before."""

    name: str
    gloss: str
    cells: tuple[str, ...]
    change: str
    headline: bool = False


@dataclasses.dataclass(frozen=True)
class TaskTable:
    """One task's rows; `deltas` are the (name, gloss, value) rows of the metrics' delta block."""

    label: str
    n: int
    rows: tuple[Row, ...]
    deltas: tuple[tuple[str, str, str], ...]


@dataclasses.dataclass(frozen=True)
class SetTable:
    """One set's tasks."""

    subset: str
    label: str
    people: int
    tasks: tuple[TaskTable, ...]


def build_tables(scores: Scores, people: Mapping[str, int]) -> tuple[SetTable, ...]:
    """Return the tables of the three sets; `people` is the number of people in each.

    Raises:
        DataError: a figure is missing from the metrics.
    """
    return tuple(
        SetTable(
            subset,
            SET_LABELS[subset],
            people[subset],
            tuple(_task_table(scores, subset, task) for task in TASK_LABELS),
        )
        for subset in SETS
    )


def _task_table(scores: Scores, subset: str, task: str) -> TaskTable:
    suffix = "F" if subset == "forget" else "R"
    names = dict(_OVERLAP) if task == "generation" else dict(_ACCURACY)
    joint = f"RL_{suffix}" if task == "generation" else f"acc_{suffix}"
    names[joint] = (f"{joint[:1].upper()}{joint[1:]}", "joint")
    rows = tuple(
        _row(scores, (subset, task, key), label, gloss, headline=key == joint)
        for key, (label, gloss) in (names | _ABSTENTION).items()
    )
    n = scores.count("unlearned", subset, task, "n")
    deltas = _deltas(scores, task) if subset == "forget" else ()
    return TaskTable(TASK_LABELS[task], n, rows, deltas)


def _row(scores: Scores, keys: tuple[str, ...], name: str, gloss: str, *, headline: bool) -> Row:
    values = {model: scores.value(model, *keys) for model in MODELS}
    return Row(
        name,
        gloss,
        tuple(fraction(value) for value in values.values()),
        change(values["unlearned"] - values["sft"]),
        headline,
    )


def _deltas(scores: Scores, task: str) -> tuple[tuple[str, str, str], ...]:
    name = "RL_F" if task == "generation" else "Acc_F"
    drop = scores.value("delta", task, f"d{name}")
    above = scores.value("delta", task, "retain_only_gap")
    return (
        (f"Δ{name}", f"before {MINUS} after", change(drop)),
        (f"{name}, after {MINUS} retain-only", "", change(above)),
    )
