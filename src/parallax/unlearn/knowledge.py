"""What is forgotten and what is kept, as token sequences."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from parallax.errors import DataError
from parallax.instances import from_table
from parallax.models.encoding import Encoder
from parallax.params import Method
from parallax.training.knowledge import Knowledge, encode_knowledge
from parallax.unlearn.methods import METHODS

if TYPE_CHECKING:
    import pandas as pd


def encode_parts(
    encoder: Encoder, facts: "pd.DataFrame", splits: Mapping[str, Sequence[str]], method: Method
) -> tuple[Knowledge, Knowledge]:
    """Return the knowledge to forget, with the answers that the method shows, and to retain.

    `facts` is a table of instances with a refusal each, `splits` the people of each set.

    Raises:
        DataError: a set is empty.
    """
    parts = {part: facts[facts["person_id"].isin(splits[part])] for part in ("forget", "retain")}
    if empty := [part for part, rows in parts.items() if rows.empty]:
        raise DataError(f"nobody is in set {empty[0]}; run `dvc repro`")
    refuse = METHODS[method].forget_answer == "refusal"
    forget = encode_knowledge(
        encoder,
        from_table(parts["forget"]),
        answers=list(parts["forget"]["refusal"]) if refuse else None,
    )
    return forget, encode_knowledge(encoder, from_table(parts["retain"]))
