"""Readers for the public layouts of four request benchmarks, whose files are not shipped here.

None has a second version of its bodies: give one with `second_versions.add_paraphrases`.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from parallax.framing.items import Item
from parallax.framing.rows import Row, read_rows
from parallax.registry import Registry

NO_TOPIC = "unlabelled"


@dataclass(frozen=True)
class Layout:
    """The columns that a reader needs, and how it makes an item of a row."""

    columns: tuple[str, ...]
    parse: Callable[[Row], Item]


LAYOUTS: Registry[Layout] = Registry("benchmark layout")


def read_benchmark(path: Path, layout: str) -> tuple[Item, ...]:
    """Read a benchmark's own CSV file; columns that `layout` does not need may be there too.

    Raises:
        ParamsError: no such layout.
        DataError: the file is malformed, a needed column is missing, or an ID or body occurs
            twice; the message names file, line and column.
    """
    chosen = LAYOUTS[layout]
    rows = read_rows(path, chosen.columns, optional=None)
    items = tuple(chosen.parse(row) for row in rows)
    ids: dict[str, int] = {}
    bodies: dict[str, int] = {}
    for row, item in zip(rows, items, strict=True):
        # The first column is the ID where the layout has one, else the request.
        for seen, value in ((ids, item.id), (bodies, item.body)):
            if value in seen:
                raise row.wrong(chosen.columns[0], f"a record unlike that of line {seen[value]}")
            seen[value] = row.line
    return items


def _parse_harmbench(row: Row) -> Item:
    """HarmBench (Mazeika et al., 2024): context first, as in its direct-request baseline."""
    body = row.stripped_text("Behavior")
    if row.values["ContextString"]:
        body = f"{row.stripped_text('ContextString')}\n\n---\n\n{body}"
    return Item(
        id=row.text("BehaviorID"),
        source_family=f"harmbench-{row.text('FunctionalCategory')}",
        topic=row.text("SemanticCategory"),
        harm_class="harmful",
        expected="refuse",
        body=body,
    )


def _parse_strongreject(row: Row) -> Item:
    """StrongREJECT (Souly et al., 2024): its `source` tells the family."""
    body = row.stripped_text("forbidden_prompt")
    return Item(
        id=f"strongreject-{_short_hash(body)}",
        source_family=f"strongreject-{row.stripped_text('source')}",
        topic=row.stripped_text("category"),
        harm_class="harmful",
        expected="refuse",
        body=body,
    )


def _parse_xstest(row: Row) -> Item:
    """XSTest v2 (Röttger et al., 2024): the types of unsafe prompts begin with "contrast_"."""
    safe = row.choice("label", ("safe", "unsafe")) == "safe"
    return Item(
        id=f"xstest-{row.text('id')}",
        source_family="xstest",
        topic=row.text("type").removeprefix("contrast_"),
        harm_class="benign" if safe else "harmful",
        expected="comply" if safe else "refuse",
        body=row.stripped_text("prompt"),
    )


def _parse_advbench(row: Row) -> Item:
    """AdvBench (Zou et al., 2023): requests alone, without topics."""
    body = row.stripped_text("goal")
    return Item(
        id=f"advbench-{_short_hash(body)}",
        source_family="advbench",
        topic=NO_TOPIC,
        harm_class="harmful",
        expected="refuse",
        body=body,
    )


def _short_hash(body: str) -> str:
    """Identify a body that has no ID, so that the order of the file does not matter."""
    return hashlib.sha256(body.encode()).hexdigest()[:12]


LAYOUTS.register("harmbench")(
    Layout(
        ("BehaviorID", "Behavior", "FunctionalCategory", "SemanticCategory", "ContextString"),
        _parse_harmbench,
    )
)
LAYOUTS.register("strongreject")(
    Layout(("forbidden_prompt", "category", "source"), _parse_strongreject)
)
LAYOUTS.register("xstest")(Layout(("id", "prompt", "type", "label"), _parse_xstest))
LAYOUTS.register("advbench")(Layout(("goal", "target"), _parse_advbench))
