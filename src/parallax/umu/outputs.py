"""The tables of outputs and of scored outputs: their columns, and what each row must hold."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from parallax.errors import DataError
from parallax.records import EVALUATION_TASKS, LETTERS, MODALITIES, MODELS, SETS

KEY = ("person_id", "task", "field", "modality")
"""What names a row of an outputs table."""

OUTPUT_COLUMNS = (
    *KEY,
    "prompt",
    "options",
    "reference",
    "output",
    "option_logprobs",
    "option_tokens",
)
"""Columns of an outputs table: one row per question and modality."""

SCORE_COLUMNS = ("matched_option", "score", "rouge1", "rouge2", "bleu")
"""Columns that scoring adds."""

SCORED_COLUMNS = ("model", "set", *OUTPUT_COLUMNS, "abstained", *SCORE_COLUMNS)
"""Columns of a scored table; metrics need nothing else."""


def check_outputs(outputs: pd.DataFrame, source: str) -> None:
    """Check that each row can be scored, and that none comes twice; `source` is named in errors.

    Raises:
        DataError: a column is missing, or a row has no text, an unknown task or modality, an empty
            reference (which every output would match), not four options, or a double.
    """
    missing = [column for column in OUTPUT_COLUMNS if column not in outputs.columns]
    if missing:
        raise DataError(
            f"{source}: no column {missing[0]!r}; it must hold {', '.join(OUTPUT_COLUMNS)}"
        )

    def refuse(bad: "pd.Series[bool]", column: str, rule: str) -> None:
        if bad.any():
            row = outputs[bad].iloc[0].to_dict()
            raise DataError(
                f"{source}: {describe_row(row)}: {column} {row[column]!r} {rule}; mend the row or"
                " run the evaluation again"
            )

    for column in (*KEY, "prompt", "reference", "output"):
        refuse(~outputs[column].map(_is_text), column, "is no text")
    for column, allowed in (("task", EVALUATION_TASKS), ("modality", MODALITIES)):
        refuse(~outputs[column].isin(allowed), column, f"is none of {', '.join(allowed)}")
    refuse(outputs["reference"].str.strip() == "", "reference", "is empty: every output matches it")
    classified = outputs["task"] == "classification"
    refuse(classified & ~outputs["options"].map(_is_four), "options", "are not four texts")
    refuse(classified & ~outputs["option_logprobs"].map(_is_list), "option_logprobs", "is no list")
    doubled = outputs.duplicated(list(KEY))
    if doubled.any():
        raise DataError(
            f"{source}: {describe_row(outputs[doubled].iloc[0].to_dict())} comes twice; keep one"
            " row per question and modality"
        )


def describe_row(row: Mapping[Hashable, Any]) -> str:
    """Name a row in an error: person, task, field and modality."""
    return f"person {row['person_id']}, {row['task']} of {row['field']}, {row['modality']}"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple | np.ndarray)


def _is_four(value: object) -> bool:
    return (
        isinstance(value, list | tuple | np.ndarray)
        and len(value) == len(LETTERS)
        and all(isinstance(option, str) for option in value)
    )


def assign_sets(
    people: "pd.Series[str]", sets: Mapping[str, Sequence[str]], source: str
) -> "pd.Series[str]":
    """Return the set of each row's person; `source` names the file of the sets in errors.

    Raises:
        DataError: a person is in no set or in two.
    """
    home: dict[str, str] = {}
    for name, members in sets.items():
        for person in members:
            if home.setdefault(person, name) != name:
                raise DataError(
                    f"{source}: person {person} is in the sets {home[person]} and {name}; keep one"
                )
    homeless = sorted(set(people) - home.keys())
    if homeless:
        raise DataError(
            f"{source}: person {homeless[0]} has outputs and is in none of the sets"
            f" {', '.join(sets)}; add the person to one"
        )
    return people.map(home)


def check_scored(scored: pd.DataFrame, source: str) -> None:
    """Check that a scored table says of each row which model, which set, and whether it abstained.

    Raises:
        DataError: a column is missing, or a value is not allowed.
    """
    allowed = {"model": MODELS, "set": SETS, "abstained": (True, False)}
    for column, values in allowed.items():
        if column not in scored.columns:
            raise DataError(f"{source}: no column {column!r}; score the outputs first")
        odd = scored[~scored[column].isin(values)]
        if len(odd):
            raise DataError(
                f"{source}: {column} {odd[column].iloc[0]!r} is none of"
                f" {', '.join(map(str, values))}; score the outputs again"
            )


def sort_scored(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return the models' scored tables as one, sorted by model, set and the rows' keys."""
    scored = pd.concat(list(tables), ignore_index=True)[list(SCORED_COLUMNS)]
    return scored.sort_values(["model", "set", *KEY], ignore_index=True)
