"""What is simulated: a grid of responders, and experiments with and without planted faults."""

import dataclasses
import tempfile
from pathlib import Path
from typing import Literal

import numpy as np

from parallax.framing.items import read_items
from parallax.framing.prompts import read_frames
from parallax.params import Analysis
from parallax.proof.calibration import Rules, Values, calibrate
from parallax.proof.examine import Finding, examine
from parallax.proof.faults import FAULTS, HONEST
from parallax.proof.responders import Responder, judge_like
from parallax.proof.worlds import simulate_world
from parallax.seeding import derive_seed

Kind = Literal["main", "rare", "judge"]
Moved = Literal["", "E", "N"]

ITEMS = (20, 120, 480)
BASE_RATES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5)
# Concentration of the items' rates: rather alike, or a few that are always refused among many that
# never are.
SPREADS = {"even": 3.0, "uneven": 1.0}
# Which frame the effect is added to, and its size, fraction of 1.
MOVES: tuple[tuple[Moved, float], ...] = (("", 0.0), ("E", 0.1), ("E", 0.2), ("N", 0.1))
RARE_ITEMS, RARE_RATES, RARE_EFFECTS = (20, 40, 120), (0.001, 0.01), (0.03, 0.1)
# Judges that are always right, right in 85 of 100 scored responses, and silent on one in ten, too.
JUDGES = {"right": (1.0, 0.0), "errs": (0.85, 0.0), "errs and abstains": (0.85, 0.1)}
JUDGED_MOVES: tuple[tuple[Moved, float], ...] = (("", 0.0), ("E", 0.2))


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much is simulated.

    `sets` data sets a responder, by its number of items; `judged` of those whose judge errs;
    `clean` experiments without a fault and `planted` ones with each.
    """

    sets: dict[int, int]
    judged: int
    clean: int
    planted: int


FULL = Sizes({20: 10_000, 40: 10_000, 120: 4_000, 480: 4_000}, 2_000, 200, 15)


@dataclasses.dataclass(frozen=True)
class Cell:
    """One responder of the grid.

    `moved` is the frame that has the `effect` (fraction of 1), "" for none; `sets` data sets are
    simulated.
    """

    kind: Kind
    items: int
    base_rate: float
    spread: str
    moved: Moved
    effect: float
    judge: str
    sets: int

    @property
    def responder(self) -> Responder:
        """The responder that is simulated."""
        evaluation, neutral = (self.effect * (self.moved == frame) for frame in ("E", "N"))
        return Responder(
            items=self.items,
            base_rate=self.base_rate,
            effects=(evaluation, 0.0, neutral),
            concentration=SPREADS[self.spread],
            judge=judge_like(*JUDGES[self.judge]),
        )


def plan_cells(sizes: Sizes) -> list[Cell]:
    """Return the grid: all combinations, rare outcomes, and judges that err."""
    cells = [
        Cell("main", items, rate, spread, moved, effect, "right", sizes.sets[items])
        for items in ITEMS
        for rate in BASE_RATES
        for spread in SPREADS
        for moved, effect in MOVES
    ]
    cells += [
        Cell("rare", items, rate, "uneven", "E", effect, "right", sizes.sets[items])
        for items in RARE_ITEMS
        for rate in RARE_RATES
        for effect in RARE_EFFECTS
    ]
    cells += [
        Cell("judge", 20, 0.2, "even", moved, effect, judge, sizes.judged)
        for judge in JUDGES
        for moved, effect in JUDGED_MOVES
    ]
    return cells


def run_cell(cell: Cell, rules: Rules) -> Values:
    """Simulate one responder of the grid; its random stream is its own."""
    rng = np.random.default_rng(derive_seed("calibrate", *dataclasses.astuple(cell)))
    return dataclasses.asdict(cell) | calibrate(cell.responder, cell.sets, rules, rng)


@dataclasses.dataclass(frozen=True)
class Experiment:
    """An experiment to simulate: without a fault (`fault` is ""), or with the one of that name."""

    fault: str
    number: int


def plan_experiments(sizes: Sizes) -> list[Experiment]:
    """Return all experiments, those without a fault first."""
    return [
        *(Experiment("", number) for number in range(sizes.clean)),
        *(Experiment(f.name, number) for f in FAULTS for number in range(sizes.planted)),
    ]


def run_experiment(
    experiment: Experiment, items: Path, frames: Path, settings: Analysis
) -> Finding:
    """Simulate one experiment on the shipped requests and put it through the instrument."""
    pool = read_items(items)
    spec = read_frames(frames, "length_matched")[0]
    rng = np.random.default_rng(derive_seed("faults", *dataclasses.astuple(experiment)))
    world = (
        next(f for f in FAULTS if f.name == experiment.fault).make(pool, spec, rng)
        if experiment.fault
        else simulate_world(HONEST, pool, spec, rng)
    )
    with tempfile.TemporaryDirectory() as folder:
        return examine(world, Path(folder), settings)
