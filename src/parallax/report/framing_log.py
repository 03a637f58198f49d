"""The log of responses: every draw with its verdicts, as data that the page's script shows."""

import dataclasses
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from parallax.errors import DataError
from parallax.report.framing_words import ARM_LABELS, CATEGORY_LABELS

if TYPE_CHECKING:
    import pandas as pd

KEY = ("subject", "item", "paraphrase", "wording", "draw")
# The page stays below some 15 MB: at most this many responses, and characters of one.
ROWS_SHOWN = 25_000
RESPONSE_SHOWN = 2_000


@dataclasses.dataclass(frozen=True)
class Log:
    """The responses shown, as JSON for a script element, and how many there are in all.

    `draws` is the number of draws per cell that are shown, of `all_draws`; `judges` that of judges.
    """

    data: Markup
    shown: int
    responses: int
    draws: int
    all_draws: int
    judges: int


@dataclasses.dataclass(frozen=True)
class Clause:
    """One wording of one arm: the message around its clause; no clause without a frame."""

    arm: str
    label: str
    wording: str
    before: str
    clause: str
    after: str


def build_log(
    responses: "pd.DataFrame",
    verdicts: "pd.DataFrame",
    prompts: "pd.DataFrame",
    topics: Mapping[str, str],
    judges: Sequence[str],
) -> Log:
    """Return the log, the arms of one draw side by side; beyond `ROWS_SHOWN` the last draws go.

    `topics` says of each item what it is about; `judges` is the order in which they are heard.

    Raises:
        DataError: a response has no body among the prompts.
    """
    shown, draws = _thin_out(responses)
    # Numbers for what repeats: a row holds places in these lists.
    names = _Numbers()
    for judge in judges:
        names.of("judges", judge)
    for category in CATEGORY_LABELS:
        if (verdicts["category"] == category).any():
            names.of("categories", category)
    items = _list_items(shown, prompts, topics)
    places = {item["id"]: place for place, item in enumerate(items)}
    found = _by_response(verdicts, names)
    ordered = shown.assign(order=shown["arm"].map({a: n for n, a in enumerate(ARM_LABELS)}))
    ordered = ordered.sort_values([*KEY, "order"])
    columns = (*KEY, "arm", "response", "finish")
    rows = []
    for *key, arm, text, finish in zip(*(ordered[c].tolist() for c in columns), strict=True):
        subject, item, paraphrase, wording, draw = key
        rows.append(
            [
                *(names.of("subjects", subject), places[item], paraphrase),
                *(names.of("wordings", wording), draw, names.of("arms", arm)),
                text if len(text) <= RESPONSE_SHOWN else f"{text[:RESPONSE_SHOWN]}…",
                int(finish == "length"),
                found.get((*key, arm), []),
            ]
        )
    values = {
        **names.lists("subjects", "wordings", "arms", "judges", "categories", "reasons"),
        "items": items,
        "labels": {"arms": ARM_LABELS, "categories": CATEGORY_LABELS},
        "rows": rows,
    }
    return Log(
        as_script(values),
        shown=len(rows),
        responses=len(responses),
        draws=draws,
        all_draws=_count_draws(responses),
        judges=len(judges),
    )


def list_clauses(prompts: "pd.DataFrame") -> tuple[Clause, ...]:
    """Return each wording of each arm once, as the first request is put in it."""
    import pandas as pd

    first = prompts[prompts["item"] == prompts["item"].min()]
    found = {}
    for row in first[first["paraphrase"] == 0].to_dict("records"):
        text, start, end = row["text"], row["start"], row["end"]
        before, clause, after = (
            (text, "", "") if pd.isna(start) else (text[:start], text[start:end], text[end:])
        )
        before, after = (part.replace(row["body"], "[request]") for part in (before, after))
        arm = row["arm"]
        found[arm, row["wording"]] = Clause(
            arm, ARM_LABELS[arm], row["wording"], before, clause, after
        )
    order = list(ARM_LABELS)
    return tuple(found[key] for key in sorted(found, key=lambda key: (order.index(key[0]), key[1])))


def as_script(values: object) -> Markup:
    """Return JSON that no text in it can end the script element of: ASCII, without < and &."""
    text = json.dumps(values, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _thin_out(responses: "pd.DataFrame") -> "tuple[pd.DataFrame, int]":
    """Return the responses of as many draws as the page takes, one at least."""
    draws = _count_draws(responses)
    while draws > 1 and int((responses["draw"] < draws).sum()) > ROWS_SHOWN:
        draws -= 1
    return responses[responses["draw"] < draws], draws


def _count_draws(responses: "pd.DataFrame") -> int:
    return int(responses["draw"].max()) + 1 if len(responses) else 0


def _list_items(
    responses: "pd.DataFrame", prompts: "pd.DataFrame", topics: Mapping[str, str]
) -> list[dict[str, object]]:
    ordered = prompts.sort_values(["item", "paraphrase"])
    columns = (ordered[name].tolist() for name in ("item", "paraphrase", "body"))
    bodies: dict[str, dict[int, str]] = {}
    for item, paraphrase, body in zip(*columns, strict=True):
        bodies.setdefault(item, {})[paraphrase] = body
    items: list[dict[str, object]] = []
    for item in sorted(responses["item"].unique()):
        asked = sorted(responses.loc[responses["item"] == item, "paraphrase"].unique().tolist())
        if missing := [number for number in asked if number not in bodies.get(item, {})]:
            raise DataError(
                f"item {item}, paraphrase {missing[0]}: has responses and no prompt;"
                " run `dvc repro` again"
            )
        entry = {"id": item, "topic": topics.get(item, ""), "bodies": bodies[item]}
        items.append(entry)
    return items


def _by_response(
    verdicts: "pd.DataFrame", names: "_Numbers"
) -> dict[tuple[Hashable, ...], list[list[int]]]:
    """Return each response's verdicts as (judge, category, reason) numbers, in judge order."""
    found: dict[tuple[Hashable, ...], list[list[int]]] = {}
    columns = (*KEY, "arm", "judge", "category", "reason")
    ordered = verdicts.sort_values(list(columns))
    for *key, judge, category, reason in zip(
        *(ordered[column].tolist() for column in columns), strict=True
    ):
        numbers = [
            names.of("judges", judge),
            names.of("categories", category),
            names.of("reasons", reason),
        ]
        found.setdefault(tuple(key), []).append(numbers)
    return {key: sorted(heard) for key, heard in found.items()}


class _Numbers:
    """Numbers values in the order in which they come, list by list."""

    def __init__(self) -> None:
        self._lists: dict[str, dict[str, int]] = {}

    def of(self, name: str, value: str) -> int:
        known = self._lists.setdefault(name, {})
        return known.setdefault(value, len(known))

    def lists(self, *names: str) -> dict[str, Iterable[str]]:
        return {name: list(self._lists.get(name, {})) for name in names}
