"""What the report of the framing half is made of, read and checked."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from parallax.errors import DataError
from parallax.files import read_json, read_table
from parallax.report.figures import Figures
from parallax.report.inputs import Check, read_checks, require_columns

if TYPE_CHECKING:
    import pandas as pd

_KEY = ("subject", "item", "paraphrase", "arm", "wording", "draw")
_EFFECTS = (
    *("subject", "judge", "outcome", "contrast", "role", "items", "estimate", "sd"),
    *("p", "p_adjusted", "smallest_p", "low", "high", "t_low", "t_high", "bca_low", "bca_high"),
    *("positive", "zero", "negative", "inverted", "undefined", "few_nonzero", "detectable"),
    "label",
)
_ITEM_EFFECTS = ("subject", "judge", "outcome", "item", "E", "D", "N")
_AUDITED = ("item", "cosine", "proxy_equivalent", "equivalent", "reason")
_PROMPTS = ("item", "paraphrase", "arm", "wording", "text", "start", "end", "body")
_FAMILIARITY = ("subject", "item", "min_k_pp", "zlib_ratio", "rouge_l", "overlap", "tertile")


@dataclasses.dataclass(frozen=True)
class FramingInputs:
    """Everything that the framing sections show.

    `metrics`, `judges`, `sensitivity` and `audit` are what the stages of those names reported.
    """

    metrics: Figures
    effects: "pd.DataFrame"
    item_effects: "pd.DataFrame"
    responses: "pd.DataFrame"
    verdicts: "pd.DataFrame"
    familiarity: "pd.DataFrame"
    audited: "pd.DataFrame"
    prompts: "pd.DataFrame"
    pairs: "pd.DataFrame"
    judges: Figures
    sensitivity: Figures
    audit: Figures
    checks: tuple[Check, ...]

    @property
    def primary(self) -> str:
        """The judge whose verdicts carry the claims."""
        return self.metrics.text("settings", "primary")

    @property
    def subjects(self) -> tuple[str, ...]:
        """The models under test, in the order of the parameters."""
        return tuple(map(str, self.metrics.list("settings", "subjects")))


def read_framing_inputs(
    metrics: Path,
    results: Path,
    prompts: Path,
    pairs: Path,
    judges: Path,
    sensitivity: Path,
    audit: Path,
    prompt_checks: Path,
) -> FramingInputs:
    """Read the inputs of the framing sections; `results` is a folder of tables.

    Raises:
        DataError: a file is missing or unreadable, lacks a column that is needed, or is made from
            other subjects than the rest.
    """

    def table(path: Path, columns: tuple[str, ...]) -> "pd.DataFrame":
        return require_columns(read_table(path), columns, path)

    def result(name: str, columns: tuple[str, ...]) -> "pd.DataFrame":
        return table(results / f"{name}.parquet", columns)

    def figures(path: Path) -> Figures:
        return Figures(read_json(path), str(path))

    inputs = FramingInputs(
        metrics=figures(metrics),
        effects=result("effects", _EFFECTS),
        item_effects=result("item_effects", _ITEM_EFFECTS),
        responses=result("responses", (*_KEY, "response", "finish")),
        verdicts=result("verdicts", (*_KEY, "judge", "category", "reason")),
        familiarity=result("familiarity", _FAMILIARITY),
        audited=result("audit", _AUDITED),
        prompts=table(prompts, _PROMPTS),
        pairs=table(pairs, ("item", "topic", "a", "b")),
        judges=figures(judges),
        sensitivity=figures(sensitivity),
        audit=figures(audit),
        checks=read_checks(prompt_checks),
    )
    for name, found in (
        ("effects", set(inputs.effects["subject"])),
        ("responses", set(inputs.responses["subject"])),
        ("verdicts", set(inputs.verdicts["subject"])),
        (str(sensitivity), set(inputs.sensitivity.names)),
    ):
        if found != set(inputs.subjects):
            raise DataError(
                f"{name}: of {', '.join(sorted(found)) or 'nobody'}; {metrics} is of"
                f" {', '.join(inputs.subjects)}: run `dvc repro` again"
            )
    return inputs
