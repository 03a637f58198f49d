"""The layouts that given files may have, told apart by their columns."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

from parallax.errors import DataError
from parallax.records import Modality, Task
from parallax.umu import mllmu_rows, official_rows
from parallax.umu.folders import FULL, list_columns
from parallax.umu.official_rows import Reading


@dataclasses.dataclass(frozen=True)
class Layout:
    """How a benchmark's files are laid out.

    `tasks` has the column of each task, or the columns of its image and its text questions.
    """

    name: str
    columns: tuple[str, ...]
    optional: tuple[str, ...]
    tasks: Mapping[Task, tuple[str, ...]]
    parse_row: Callable[[Mapping[str, object], str, str], Reading]

    def column_of(self, task: Task, modality: Modality | None) -> str:
        """Return the column of a task's questions in one modality, or in both for None."""
        columns = self.tasks[task]
        if modality is None or len(columns) == 1:
            return " and ".join(columns)
        return columns[modality == "text"]


def _by_task(qa: tuple[str, ...], columns: Mapping[str, Task]) -> dict[Task, tuple[str, ...]]:
    return {"qa": qa, **{task: (column,) for column, task in columns.items()}}


LAYOUTS = (
    Layout(
        "UMU-Bench",
        official_rows.COLUMNS,
        (),
        _by_task(official_rows.QA_COLUMNS, official_rows.TASK_COLUMNS),
        official_rows.parse_row,
    ),
    Layout(
        "MLLMU-Bench",
        mllmu_rows.COLUMNS,
        mllmu_rows.OPTIONAL,
        _by_task(("biography",), mllmu_rows.TASK_COLUMNS),
        mllmu_rows.parse_row,
    ),
)


def detect_layout(folder: Path) -> Layout:
    """Return the layout that has most of its columns in Full_Set; ID alone tells nothing.

    A missing column is left for the reading to name.

    Raises:
        DataError: Full_Set is missing or unreadable, or has columns of no layout, or all those of
            several.
    """
    present = set(list_columns(folder, FULL)) - {"ID"}
    whole = [layout for layout in LAYOUTS if present >= set(layout.columns) - {"ID"}]
    if len(whole) > 1:
        names = " and ".join(layout.name for layout in whole)
        raise DataError(f"{FULL}: has the columns of {names}: keep those of one")
    best = max(LAYOUTS, key=lambda layout: len(present & set(layout.columns)))
    if not present & set(best.columns):
        wanted = "; ".join(f"{layout.name} has {', '.join(layout.columns)}" for layout in LAYOUTS)
        found = ", ".join(sorted(present)) or "none"
        raise DataError(f"{FULL}: no column of a known layout ({wanted}); found {found}")
    return best
