"""Tables over the runs of a grid: CSV of everything, Markdown of what is compared."""

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence

from parallax.errors import DataError
from parallax.grid.plan import METHODS, Grid, Run
from parallax.records import EVALUATION_TASKS
from parallax.report.numbers import UNDEFINED, change, fraction
from parallax.tracking.values import flatten

_MODELS = ("sft", "retain_only", "unlearned")
_SHORT = {"classification": "cls.", "cloze": "cloze", "generation": "gen."}
_PARAMETERS = (
    "unlearn.alpha",
    "unlearn.beta",
    "data.forget_ratio",
    "data.seed",
    "base.seed",
    "sft.seed",
    "unlearn.seed",
)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A finished run with its params.yaml and its metrics, both nested as in their files."""

    run: Run
    params: Mapping[str, object]
    metrics: Mapping[str, object]

    def value(self, name: str) -> float:
        """Return a metric by its dotted name; NaN where it is undefined.

        Raises:
            DataError: the run has no such metric.
        """
        here: object = self.metrics
        for key in name.split("."):
            if not isinstance(here, Mapping) or key not in here:
                raise DataError(
                    f"run {self.run.name}: no metric {name}; remove it with `dvc exp remove"
                    f" {self.run.name}`, then start the grid again"
                )
            here = here[key]
        return math.nan if here is None else float(str(here))


@dataclasses.dataclass(frozen=True)
class Column:
    """A figure of one model; as a `change` it is the model before unlearning minus this one."""

    title: str
    metric: str
    change: bool = False

    def value(self, outcome: Outcome, model: str) -> float:
        """Return the column's value for one of the run's models."""
        after = outcome.value(f"{model}.{self.metric}")
        return outcome.value(f"sft.{self.metric}") - after if self.change else after


def _score(subset: str, task: str) -> str:
    """Return the metric of a set and task that UMU-Bench compares by: Acc_F, Acc_R, RL_F, RL_R."""
    letter = "F" if subset == "forget" else "R"
    return f"{subset}.{task}.{'RL' if task == 'generation' else 'acc'}_{letter}"


def _name(subset: str, task: str) -> str:
    letter = "F" if subset == "forget" else "R"
    return f"{'RL' if task == 'generation' else 'Acc'}_{letter}"


DELTAS = tuple(
    Column(f"d{_name('forget', task)} {_SHORT[task]}", _score("forget", task), change=True)
    for task in EVALUATION_TASKS
)
_BY_MODALITY = (
    *DELTAS,
    Column("left in text", "forget.accuracy.acc_uni"),
    Column("left in image", "forget.accuracy.acc_mul"),
    Column("gap", "forget.accuracy.modality_gap"),
    Column("retain Acc_R", "retain.accuracy.acc_R"),
    Column("retain RL_R", "retain.generation.RL_R"),
    Column("real Acc_R", "real.accuracy.acc_R"),
)
_BY_RATIO = tuple(
    Column(f"{subset} {_name(subset, task)} {_SHORT[task]}", _score(subset, task))
    for subset in ("forget", "retain", "real")
    for task in EVALUATION_TASKS
)


def columns_of(grid: Grid) -> tuple[Column, ...]:
    """Return the columns of a grid's Markdown table."""
    return _BY_RATIO if grid.name == "ratios" else _BY_MODALITY


CSV_METRICS = tuple(
    dict.fromkeys(
        [f"{model}.{column.metric}" for model in _MODELS for column in (*_BY_MODALITY, *_BY_RATIO)]
        + [f"delta.{task}.d{_name('forget', task)}" for task in EVALUATION_TASKS]
    )
)
CSV_COLUMNS = ("run", "method", "setting", *_PARAMETERS, *CSV_METRICS)


def csv_rows(outcomes: Sequence[Outcome]) -> list[dict[str, object]]:
    """Return one row per run with its parameters and metrics; an undefined metric is empty."""
    rows: list[dict[str, object]] = []
    for outcome in outcomes:
        run, params = outcome.run, flatten(outcome.params)
        values = {name: outcome.value(name) for name in CSV_METRICS}
        row: dict[str, object] = {
            "run": run.name,
            "method": run.method,
            "setting": run.setting.key,
        }
        row |= {name: params[name] for name in _PARAMETERS}
        row |= {name: "" if math.isnan(value) else value for name, value in values.items()}
        rows.append(row)
    return rows


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the Markdown table: one model of the runs that differ in their seeds alone."""

    setting: str
    model: str
    label: str
    outcomes: tuple[Outcome, ...]

    def values(self, column: Column) -> list[float]:
        """Return the column's values, one per run."""
        return [column.value(outcome, self.model) for outcome in self.outcomes]

    def mean(self, column: Column) -> float:
        """Return the mean over the runs; NaN where one is undefined."""
        return statistics.fmean(self.values(column))


def table_rows(grid: Grid, outcomes: Sequence[Outcome]) -> list[Row]:
    """Return the table's rows: the models to compare with, then the methods.

    The forget set, and with it what the yardsticks know of it, changes with the ratio alone: only
    there each setting has yardsticks of its own.
    """
    rows: list[Row] = []
    if grid.name == "ratios":
        for setting in grid.settings:
            here = [outcome for outcome in outcomes if outcome.run.setting == setting]
            rows += _yardsticks(setting.label, here)
            for method in METHODS:
                rows += _method_rows(method, setting.label, here)
        return rows
    rows += _yardsticks(UNDEFINED, outcomes)
    for method in METHODS:
        for setting in grid.settings:
            here = [outcome for outcome in outcomes if outcome.run.setting == setting]
            rows += _method_rows(method, setting.label, here)
    return rows


def _yardsticks(setting: str, outcomes: Sequence[Outcome]) -> list[Row]:
    """Return the rows of the models that no method made; they differ by seed, not by method."""
    one_a_seed = tuple({outcome.run.seed: outcome for outcome in reversed(outcomes)}.values())
    if not one_a_seed:
        return []
    return [
        Row(setting, "sft", "before", one_a_seed),
        Row(setting, "retain_only", "retain-only", one_a_seed),
    ]


def _method_rows(method: str, setting: str, outcomes: Sequence[Outcome]) -> list[Row]:
    found = tuple(outcome for outcome in outcomes if outcome.run.method == method)
    return [Row(setting, "unlearned", method, found)] if found else []


def markdown(grid: Grid, outcomes: Sequence[Outcome]) -> str:
    """Return the grid's table with its legend, and what of it is missing."""
    columns, rows = columns_of(grid), table_rows(grid, outcomes)
    first = ("forget", "model") if grid.name == "ratios" else ("model", "unlearned on")
    titles = [*first, *(column.title for column in columns)]
    lines = [_line(titles), _line(["---"] * 2 + ["---:"] * len(columns))]
    for row in rows:
        labels = [row.setting, row.label] if grid.name == "ratios" else [row.label, row.setting]
        lines.append(_line([*labels, *(_cell(row, column) for column in columns)]))
    return "\n".join([*lines, "", *_legend(grid, outcomes)]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(row: Row, column: Column) -> str:
    """Return the value, or the mean ± standard deviation over the seeds."""
    if column.change and row.model == "sft":
        return UNDEFINED
    show = change if column.change else fraction
    values = row.values(column)
    text = show(row.mean(column), 3)
    if len(values) > 1:
        text += f" ± {fraction(statistics.stdev(values), 3)}"
    return text


def _legend(grid: Grid, outcomes: Sequence[Outcome]) -> list[str]:
    lines = [
        "Fractions. Acc_F and RL_F: what is left of the people to forget (lower is more forgotten);"
        " Acc_R and RL_R: what is kept. `before` is the model before unlearning, `retain-only` one"
        " that never saw these people.",
    ]
    if grid.name != "ratios":
        lines.append(
            "dAcc_F and dRL_F: `before` minus this model, so that more is more forgotten; the row"
            " `retain-only` has the change that leaves what a model without these people knows."
        )
        lines += _compare_modalities(grid, outcomes)
    if grid.name == "seeds":
        lines.append("Mean ± sample standard deviation over the seeds (base, SFT and unlearning).")
    have = {outcome.run.name for outcome in outcomes}
    missing = [run.name for run in grid.runs if run.name not in have]
    if missing:
        lines.append(f"Missing: {len(missing)} of {len(grid.runs)} runs ({', '.join(missing)}).")
    return ["\n\n".join(lines)]


def _compare_modalities(grid: Grid, outcomes: Sequence[Outcome]) -> list[str]:
    """Return how often both modalities together forget more than either alone."""
    rows = {(row.label, row.setting): row for row in table_rows(grid, outcomes)}
    labels = [setting.label for setting in grid.settings]
    whole = [m for m in METHODS if all((m, label) in rows for label in labels)]
    if not whole:
        return []
    *single, mix = labels
    counts = [
        sum(
            rows[m, mix].mean(column) > max(rows[m, label].mean(column) for label in single)
            for m in whole
        )
        for column in DELTAS
    ]
    said = ", ".join(
        f"{column.title} {count}" for column, count in zip(DELTAS, counts, strict=True)
    )
    return [f"Of {len(whole)} methods, {mix} forgets more than either modality alone in: {said}."]
