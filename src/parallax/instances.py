"""Knowledge instances as the rows of a table."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from parallax.errors import DataError
from parallax.records import Instance, Question

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "person_id",
    "task",
    "field",
    "image_prompt",
    "image_answer",
    "image_options",
    "text_prompt",
    "text_answer",
    "text_options",
)


def to_table(instances: Iterable[Instance]) -> "pd.DataFrame":
    """Return one row per instance, with both modalities side by side, in the order given."""
    import pandas as pd
    import pyarrow as pa

    rows = [
        (
            instance.person_id,
            instance.task,
            instance.field,
            instance.image.prompt,
            instance.image.answer,
            list(instance.image.options),
            instance.text.prompt,
            instance.text.answer,
            list(instance.text.options),
        )
        for instance in instances
    ]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    # Without a type, a column of empty lists alone would be stored as lists of nothing.
    texts = pd.ArrowDtype(pa.list_(pa.string()))
    return table.astype({"image_options": texts, "text_options": texts})


def from_table(table: "pd.DataFrame") -> list[Instance]:
    """Return the instances of a table, whose further columns are left aside.

    Raises:
        DataError: a column is missing.
    """
    if missing := [column for column in COLUMNS if column not in table.columns]:
        raise DataError(f"instances: no column {', '.join(missing)}; run `dvc repro` first")
    return [
        Instance(
            person_id,
            task,
            field,
            image=Question(image_prompt, image_answer, tuple(image_options)),
            text=Question(text_prompt, text_answer, tuple(text_options)),
        )
        for (
            person_id,
            task,
            field,
            image_prompt,
            image_answer,
            image_options,
            text_prompt,
            text_answer,
            text_options,
        ) in table[list(COLUMNS)].itertuples(index=False, name=None)
    ]
