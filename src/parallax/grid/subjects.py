"""One run of the framing half for each subject of params.yaml, and their table.

The subjects of one pipeline run are asked one after another; as experiments they can be asked side
by side, on several GPUs. Finished draws go to the main repository's `.checkpoints/draws`, so that
`dvc repro` with all subjects draws nothing again and then compares them with each other.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import ClassVar

from parallax.errors import ParallaxError, ParamsError
from parallax.grid.plan import check_extra, slug
from parallax.params import Subject, parse_params
from parallax.report.figures import Figures
from parallax.report.framing_compared import name_contrast
from parallax.report.numbers import UNDEFINED, probability, signed_tenths, span

CONTRASTS = ("refusal_E-N", "refusal_E-D", "harmful_E-D")
_VARIED = {"subjects", "subject_pairs"}


@dataclasses.dataclass(frozen=True)
class SubjectRun:
    """One experiment: the framing half up to its analysis, with one subject."""

    name: str
    subject: str
    overrides: tuple[str, ...]
    target: ClassVar[str] = "analyse"
    metrics: ClassVar[str] = "metrics/framing.json"


@dataclasses.dataclass(frozen=True)
class SubjectGrid:
    """A run for each subject, and the folder's name of their results."""

    folder: str
    runs: tuple[SubjectRun, ...]


def plan_subjects(values: Mapping[str, object], extra: Sequence[str] = ()) -> SubjectGrid:
    """Return a run for each subject of `values`, params.yaml's content.

    Pairs of subjects are left out: a run has one subject. `extra` are further `key=value` overrides
    for all runs; they become part of the runs' names.

    Raises:
        ParamsError: the values are not usable, two subjects' names make one name of a run, or an
            override is none.
    """
    params = parse_params(values)
    check_extra(extra, _VARIED, "subjects")
    suffix = "".join(f"-{slug(text)}" for text in sorted(extra))
    runs = tuple(
        SubjectRun(
            name=f"subjects-{slug(subject.name)}{suffix}",
            subject=subject.name,
            overrides=(f"subjects=[{hydra_mapping(subject)}]", "subject_pairs=[]", *sorted(extra)),
        )
        for subject in params.subjects
    )
    names = [run.name for run in runs]
    if double := next((run for run in runs if names.count(run.name) > 1), None):
        raise ParamsError(
            f"subjects: the name {double.subject!r} is too much like another one for experiments"
            " (letters, digits, _ and - tell them apart); rename one"
        )
    return SubjectGrid(f"subjects{suffix}", runs)


def hydra_mapping(subject: Subject) -> str:
    """Return a subject as `dvc exp run -S` takes a mapping, in Hydra's grammar.

    Texts are quoted, so that a revision such as 2506 stays a text.

    Raises:
        ParamsError: a text has a quote or a backslash.
    """
    return _hydra(subject.model_dump(exclude_unset=True))


def _hydra(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_hydra(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_hydra, value))}]"
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    if set(str(value)) & set('"\\'):
        raise ParamsError(
            f"subjects: {value!r} has a quote or backslash, which `dvc exp run -S` and YAML read"
            " differently; rename it"
        )
    return f'"{value}"'


def subjects_table(grid: SubjectGrid, found: Mapping[str, Mapping[str, object]]) -> str:
    """Return the Markdown table of the finished runs; `found` has each run's metrics by its name.

    Raises:
        ParallaxError: a run's metrics lack its subject.
    """
    head = ["subject", "items", *map(name_contrast, CONTRASTS), "claim"]
    lines = [_line(head), _line(["---", "---:", *(["---"] * len(CONTRASTS)), "---"])]
    for run in grid.runs:
        if run.name in found:
            lines.append(_line(_row(run, Figures(found[run.name], f"experiment {run.name}"))))
    missing = [run.name for run in grid.runs if run.name not in found]
    lines += [
        "",
        "Percentage points with their intervals, Holm's p and label, under the primary judge. That"
        " one subject is significant and another is not is no evidence of a difference between"
        " them: `dvc repro` with all subjects tests that, and draws nothing again.",
    ]
    if missing:
        lines += ["", f"Missing: {len(missing)} of {len(grid.runs)} ({', '.join(missing)})."]
    return "\n".join(lines) + "\n"


def _row(run: SubjectRun, metrics: Figures) -> list[str]:
    if run.subject not in metrics.names:
        raise ParallaxError(
            f"experiment {run.name}: its metrics have no subject {run.subject!r}; remove it with"
            f" `dvc exp remove {run.name}`, then start the grid again"
        )
    own = metrics.part(run.subject)
    cells = [_contrast(own.part(name)) if own.has(name) else UNDEFINED for name in CONTRASTS]
    return [run.subject, str(own.count("items")), *cells, own.text("claim")]


def _contrast(entry: Figures) -> str:
    low, high = (100 * entry.number(end) for end in ("low", "high"))
    p = probability(entry.number("p_holm"))
    effect = signed_tenths(entry.number("estimate"))
    return f"{effect} ({span(low, high, 1)}), p {p}, {entry.text('label')}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
