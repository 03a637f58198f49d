"""Is it as it should be? Each requirement against what was simulated."""

import collections
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import get_args

from parallax.framing.analysis.effects import FAMILY_NAMES
from parallax.proof.calibration import Values, share
from parallax.proof.examine import Finding
from parallax.proof.faults import FAULTS
from parallax.proof.grid import Experiment, Kind
from parallax.stats.proportions import binomial_interval

# Doubts, and the greatest rate at which each may speak up where there is no such fault.
STATED_RATES = {
    **dict.fromkeys(("judge", "draws", "slot", "near_copies"), 0.0),
    **dict.fromkeys(("abstention", "versions", "familiarity", "placebo", "permuted"), 0.05),
}
# Base rates from which an outcome is not rare, and the least number of believed data sets of which
# a coverage is told.
COMMON, ENOUGH = 0.1, 500
# Share of its experiments in which a fault must be caught.
MOSTLY = 0.8


@dataclasses.dataclass(frozen=True)
class Requirement:
    """A range that figures must lie in, where they count, and how far those found reach.

    `figures` is their number and `outside` that of those beyond the range.
    """

    name: str
    where: str
    low: float
    high: float
    figures: int
    least: float
    most: float
    outside: int

    @property
    def met(self) -> bool:
        """Whether there are figures, and none lies outside."""
        return self.figures > 0 and not self.outside


Contrast = tuple[Values, Values]  # a cell, and what was found of one of its contrasts


def require_all(cells: Sequence[Values]) -> list[Requirement]:
    """Compare the grid's figures with what the instrument promises."""
    main = [*_contrasts(cells, "main"), *_contrasts(cells, "judge")]
    common = [c for c in main if c[0]["base_rate"] >= COMMON]
    every = [contrast for kind in get_args(Kind) for contrast in _contrasts(cells, kind)]
    null = [c for c in common if c[1]["truth"] == 0]
    place = f"base rates from {COMMON}"

    def values(found: Iterable[Contrast], figure: Callable[[Values], float]) -> list[float]:
        return [figure(contrast) for _, contrast in found]

    return [
        _require("size", f"{place}, no effect", 0.03, 0.06, values(null, _rejected)),
        _require("coverage", place, 0.93, 0.97, values(common, _covered)),
        _require(
            "family-wise error",
            "everywhere",
            0.0,
            0.06,
            [c["family_wise"]["value"] for c in cells if c["family_wise"]],
        ),
        _require(
            "power less that of the formula",
            f"{place}, with an effect",
            -0.05,
            0.05,
            [_rejected(c) - c["power"] for _, c in common if c["power"] is not None],
        ),
        _require(
            "coverage where not flagged",
            f"everywhere with {ENOUGH} such data sets or more",
            0.93,
            1.0,
            [
                c["covered_believed"]["value"]
                for _, c in every
                if c["covered_believed"] and c["covered_believed"]["trials"] >= ENOUGH
            ],
        ),
        _require(
            "equivalence told of an effect as large as the margin",
            "everywhere",
            0.0,
            0.06,
            [c["wrong"]["equivalent"]["value"] for _, c in every if c["wrong"]["equivalent"]],
        ),
        _require(
            "a word about the model that is not true",
            "everywhere",
            0.0,
            0.06,
            [c["wrong_claim"]["value"] for c in cells],
        ),
    ]


def list_failures(requirements: Iterable[Requirement], doubts: Values) -> list[str]:
    """Name what is not as it must be: requirements, rates of doubts, faults that slip through.

    A fault must be caught in four of five experiments.
    """
    return [
        *(
            f"{r.name}: {r.outside} of {r.figures} figures outside"
            for r in requirements
            if not r.met
        ),
        *(
            f"the doubt {name!r} speaks up more often than stated"
            for name, entry in doubts["false_alarms"].items()
            if not entry["kept"]
        ),
        *(
            f"{name!r} is caught in {entry['caught']['value']:.0%} of cases"
            for name, entry in doubts["faults"].items()
            if entry["caught"]["value"] < MOSTLY
        ),
    ]


def requirement_values(requirement: Requirement) -> Values:
    """Return a requirement as JSON values."""
    return dataclasses.asdict(requirement) | {"met": requirement.met}


def doubt_values(experiments: Sequence[Experiment], findings: Sequence[Finding]) -> Values:
    """Return false alarms without a fault, and how often each fault is caught.

    A rate is kept where it is not shown to be exceeded: its interval does not lie above it.
    """
    by_fault: dict[str, list[Finding]] = collections.defaultdict(list)
    for experiment, finding in zip(experiments, findings, strict=True):
        by_fault[experiment.fault].append(finding)
    clean = by_fault.pop("")
    false = {name: [name in finding.alarms for finding in clean] for name in STATED_RATES}
    faults = {}
    for fault in FAULTS:
        found = by_fault[fault.name]
        caught = [finding for finding in found if fault.alarm in finding.alarms]
        faults[fault.name] = {
            "alarm": fault.alarm,
            "caught": share([fault.alarm in finding.alarms for finding in found]),
            "claimed": share([finding.caution != "none" for finding in found]),
            "message": caught[0].alarms[fault.alarm] if caught else None,
        }
    return {
        "false_alarms": {
            name: {
                "stated": STATED_RATES[name],
                "found": share(hits),
                "kept": binomial_interval(sum(hits), len(hits)).low <= STATED_RATES[name],
            }
            for name, hits in false.items()
        },
        "claims": dict(sorted(collections.Counter(f.caution for f in clean).items())),
        "faults": faults,
    }


def _contrasts(cells: Iterable[Values], kind: str) -> list[Contrast]:
    return [(c, c["contrasts"][n]) for c in cells if c["kind"] == kind for n in FAMILY_NAMES]


def _rejected(contrast: Values) -> float:
    return float(contrast["rejected"]["value"])


def _covered(contrast: Values) -> float:
    return float(contrast["covered"]["value"])


def _require(name: str, where: str, low: float, high: float, found: Sequence[float]) -> Requirement:
    outside = sum(not low <= value <= high for value in found)
    least, most = min(found, default=float("nan")), max(found, default=float("nan"))
    return Requirement(name, where, low, high, len(found), least, most, outside)
