"""Which runs a grid consists of: names and values of params.yaml, nothing is run here."""

import copy
import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Protocol, get_args

import yaml

from parallax.errors import ParamsError
from parallax.params import Method, parse_params

GridName = Literal["methods", "ratios", "seeds"]


class Experiment(Protocol):
    """A run of the pipeline up to `target`, which writes the file `metrics`."""

    @property
    def name(self) -> str:
        """Its name as a DVC experiment."""
        ...

    @property
    def overrides(self) -> tuple[str, ...]:
        """What `-S` sets."""
        ...

    @property
    def target(self) -> str:
        """The stage that is run, with all that leads to it."""
        ...

    @property
    def metrics(self) -> str:
        """The file that the target writes."""
        ...


METHODS: tuple[str, ...] = get_args(Method)


@dataclasses.dataclass(frozen=True)
class Setting:
    """One value of a grid's axis beside the method: the parameters that make it."""

    key: str
    label: str
    overrides: Mapping[str, str]


# Written as params.yaml writes them: DVC's run cache tells 1 from 1.0.
MODALITIES = (
    Setting("uni", "text only (uni)", {"unlearn.alpha": "0.0", "unlearn.beta": "1.0"}),
    Setting("mul", "image only (mul)", {"unlearn.alpha": "1.0", "unlearn.beta": "0.0"}),
    Setting("mix", "both (mix)", {"unlearn.alpha": "1.0", "unlearn.beta": "1.0"}),
)
RATIOS = tuple(
    Setting(key, f"{int(key)} %", {"data.forget_ratio": ratio})
    for key, ratio in (("05", "0.05"), ("10", "0.1"), ("15", "0.15"))
)
SEEDS = (0, 1, 2)
_SEEDED = ("base.seed", "sft.seed", "unlearn.seed")


@dataclasses.dataclass(frozen=True)
class Run:
    """One experiment; `seed` is None where the grid leaves the seeds as params.yaml has them."""

    name: str
    method: str
    setting: Setting
    seed: int | None
    overrides: tuple[str, ...]
    target: ClassVar[str] = "score"
    metrics: ClassVar[str] = "metrics/unlearning.json"


@dataclasses.dataclass(frozen=True)
class Grid:
    """A grid's runs, its axis beside the method, and the folder's name of its results."""

    name: GridName
    folder: str
    settings: tuple[Setting, ...]
    runs: tuple[Run, ...]


def plan_grid(name: GridName, extra: Sequence[str] = ()) -> Grid:
    """Return a grid's runs: every method by every setting (by every seed).

    `extra` are further `key=value` overrides for all runs; they become part of the runs' names.

    Raises:
        ParamsError: an override is no `key=value`, comes twice, or is one that the grid varies.
    """
    settings = RATIOS if name == "ratios" else MODALITIES
    seeds = SEEDS if name == "seeds" else (None,)
    varied = {"unlearn.method", *(key for setting in settings for key in setting.overrides)}
    if name == "seeds":
        varied |= set(_SEEDED)
    check_extra(extra, varied, name)
    suffix = "".join(f"-{slug(text)}" for text in sorted(extra))
    runs = tuple(
        Run(
            name="-".join([name, method, setting.key, *_words(seed)]) + suffix,
            method=method,
            setting=setting,
            seed=seed,
            overrides=(
                f"unlearn.method={method}",
                *(f"{key}={value}" for key, value in setting.overrides.items()),
                *(f"{key}={seed}" for key in _SEEDED if seed is not None),
                *sorted(extra),
            ),
        )
        for seed in seeds
        for method in METHODS
        for setting in settings
    )
    return Grid(name, name + suffix, settings, runs)


def _words(seed: int | None) -> list[str]:
    return [] if seed is None else [f"seed{seed}"]


def check_extra(extra: Sequence[str], varied: set[str], grid: str) -> None:
    """Refuse an override that is none, that comes twice, or of what the grid varies.

    Raises:
        ParamsError: it is so.
    """
    keys = [text.partition("=")[0] for text in extra]
    for text, key in zip(extra, keys, strict=True):
        if not re.fullmatch(r"[\w.]+=[\w.+-]+", text):
            raise ParamsError(f"-S {text!r}: give one key=value of params.yaml, such as sft.seed=1")
        if key in varied:
            raise ParamsError(f"-S {text!r}: {key} is what the grid {grid} varies; leave it out")
        if keys.count(key) > 1:
            raise ParamsError(f"-S {text!r}: {key} is given twice; give it once")


def slug(text: str) -> str:
    """Return an override as a part of a git reference: sft.seed=1 becomes sft-seed-1."""
    return re.sub(r"\W+", "-", text)


def check_runs(runs: Sequence[Experiment], values: Mapping[str, object]) -> None:
    """Refuse what params.yaml would refuse in a later run, before the first one starts.

    `values` is params.yaml's content.

    Raises:
        ParamsError: a run's parameters are not usable.
    """
    for run in runs:
        parse_params(_override(values, run.overrides), f"run {run.name}")


def _override(values: Mapping[str, object], overrides: Sequence[str]) -> dict[str, object]:
    changed = copy.deepcopy(dict(values))
    for text in overrides:
        key, _, value = text.partition("=")
        *sections, leaf = key.split(".")
        here = changed
        for section in sections:
            inner = here.setdefault(section, {})
            if not isinstance(inner, dict):
                raise ParamsError(f"-S {text!r}: {section} is no section of params.yaml")
            here = inner
        here[leaf] = yaml.safe_load(value)
    return changed
