"""Responses as judges meet them, and their verdicts as a table."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.errors import DataError
from parallax.files import read_table
from parallax.framing.items import PARAPHRASES, Item
from parallax.framing.judges.judge import UNSCORED, Case, Judge, judge_all
from parallax.framing.prompts import ARMS
from parallax.params import Arm

if TYPE_CHECKING:
    import pandas as pd

KEY = ("subject", "item", "paraphrase", "arm", "wording", "draw")


@dataclass(frozen=True)
class Response:
    """One draw of a subject's response to one version of an item in one arm."""

    subject: str
    item: Item
    paraphrase: int
    arm: Arm
    wording: str
    draw: int
    text: str

    @property
    def key(self) -> tuple[str, str, int, str, str, int]:
        """What names the response, in the order of `KEY`."""
        return (
            self.subject,
            self.item.id,
            self.paraphrase,
            self.arm,
            self.wording,
            self.draw,
        )

    @property
    def body(self) -> str:
        """The item's version that was asked, without frame."""
        return self.item.text(self.paraphrase)


def read_responses(paths: Sequence[Path], items: Mapping[str, Item]) -> list[Response]:
    """Read response tables and return their rows sorted by `KEY`.

    Raises:
        DataError: a column is missing, a value is not one that the items or arms have, a response
            is no text, or two responses have one key.
    """
    found = [response for path in paths for response in _read(path, items)]
    if not found:
        raise DataError(f"{', '.join(map(str, paths))}: no responses; generate some")
    found.sort(key=lambda response: response.key)
    for first, second in itertools.pairwise(found):
        if first.key == second.key:
            raise DataError(f"two responses of {_name(first.key)}; give each table once")
    return found


def _read(path: Path, items: Mapping[str, Item]) -> list[Response]:
    table = read_table(path)
    for column in (*KEY, "response"):
        if column not in table:
            raise DataError(f"{path}: no column {column!r}; generate the responses anew")
    found = []
    for values in zip(*(table[column].tolist() for column in (*KEY, "response")), strict=True):
        subject, item, paraphrase, arm, wording, draw, text = values
        checks = (
            ("item", item in items, "an item of the item file"),
            ("paraphrase", paraphrase in PARAPHRASES, "0 or 1"),
            ("arm", arm in ARMS, f"one of {', '.join(ARMS)}"),
            ("response", isinstance(text, str), "a text"),
        )
        for column, fine, want in checks:
            if not fine:
                value = dict(zip((*KEY, "response"), values, strict=True))[column]
                raise DataError(f"{path}: {_name(values[:-1])}: {column} {value!r}; want {want}")
        found.append(Response(subject, items[item], paraphrase, arm, wording, draw, text))
    return found


def _name(key: Sequence[object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(KEY, key, strict=True))


def tabulate_verdicts(judge: Judge, responses: Sequence[Response]) -> "pd.DataFrame":
    """Judge responses with their frame stripped; one row each, category "" where unscored."""
    import pandas as pd

    verdicts = judge_all(judge, [Case(response.body, response.text) for response in responses])
    table = pd.DataFrame([response.key for response in responses], columns=list(KEY))
    table["judge"] = judge.name
    table["category"] = [verdict.category or UNSCORED for verdict in verdicts]
    table["reason"] = [verdict.reason for verdict in verdicts]
    table["margin"] = [verdict.margin for verdict in verdicts]
    return table
