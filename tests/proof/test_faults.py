"""Each fault is planted into a whole experiment, and the instrument must say so and claim nothing.

The rates of many experiments are measured by `make proof`; here one of each has to be caught.
"""

from pathlib import Path

import numpy as np
import pytest

from parallax.framing.items import CATEGORIES, read_items
from parallax.framing.judges.judge import Case
from parallax.framing.prompts import read_frames
from parallax.params import Analysis
from parallax.proof.examine import examine
from parallax.proof.faults import FAULTS, HONEST
from parallax.proof.responders import judge_like
from parallax.proof.summary import STATED_RATES
from parallax.proof.worlds import SimulatedJudge, simulate_world

RAW = Path(__file__).parents[2] / "data" / "raw" / "framing"
SETTINGS = Analysis(alpha=0.05, smallest_effect=0.1, direction="eval-cautious", seed=0)
# What a user is told, by fault.
MESSAGES = {
    "frame-sensitive judge": "the judge reacts to the frame labels: they alone move its verdicts",
    "leaky slot": "/E/l01: outside the clause it is not the text of the other arms",
    "effect of one version": "it may be of a wording, not of the frame",
    "effect of wording alone": (
        "placebo contrasts are significant, too (refusal version 1 - version 2 in E"
    ),
    "collapsed draws": "100 % are the same text, word for word: look for a cache whose key lacks",
    "abstention by frame": "responses go unscored more often in one frame: +",
    "near-copies among items": "keep one of the two items",
    "effect of known requests": "it may be memory",
}


@pytest.fixture(scope="module")
def material():
    return read_items(RAW / "items.jsonl"), read_frames(RAW / "frames.yaml", "length_matched")[0]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught_by_its_own_alarm(fault, material, tmp_path):
    world = fault.make(*material, np.random.default_rng(7))
    found = examine(world, tmp_path, SETTINGS)
    assert MESSAGES[fault.name] in found.alarms[fault.alarm]
    # Placebos are told and withhold nothing: the claim that wording earns is that of chance.
    assert found.caution == "none" or fault.alarm == "placebo"
    assert found.stopped is (fault.alarm in ("slot", "near_copies"))


@pytest.mark.parametrize("seed", range(2))
def test_an_honest_effect_is_claimed_without_a_doubt(seed, material, tmp_path):
    found = examine(
        simulate_world(HONEST, *material, np.random.default_rng(seed)), tmp_path, SETTINGS
    )
    assert found.alarms == {}
    assert found.caution == "eval-cautious"
    assert found.claim == "eval-cautious under this judge (simulated); 40 items"


def test_every_alarm_has_a_fault_and_a_stated_rate():
    alarms = {fault.alarm for fault in FAULTS}
    # Labels that are shuffled make no fault of data: it is one of the tests.
    assert alarms | {"permuted"} == set(STATED_RATES)
    assert set(MESSAGES) == {fault.name for fault in FAULTS}


def test_the_simulated_judge_errs_as_often_as_it_says(material):
    chances = np.array(judge_like(0.8, 0.1))
    judge = SimulatedJudge(chances, material[1])
    cases = [Case("body", f"{CATEGORIES[n % 4]} {n}") for n in range(8_000)]
    given = [verdict.category for verdict in judge.judge(cases)]
    right = [g == CATEGORIES[n % 4] for n, g in enumerate(given)]
    # .9 * .8, and four standard errors of 8,000
    assert np.mean(right) == pytest.approx(0.72, abs=0.02)
    assert np.mean([g is None for g in given]) == pytest.approx(0.1, abs=0.014)
    assert given == [verdict.category for verdict in judge.judge(cases)]
