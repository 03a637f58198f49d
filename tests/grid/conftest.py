"""Outcomes of runs as their files have them, made up so that each figure is told from the rest."""

import copy

import pytest

from parallax.grid.table import Outcome

PARAMS = {
    "data": {"seed": 2026, "forget_ratio": 0.15},
    "base": {"seed": 0},
    "sft": {"seed": 0},
    "unlearn": {"seed": 0, "method": "npo", "alpha": 1.0, "beta": 1.0},
}


def tasks(subset, score, text, image):
    """Metrics of one set; `score` is Acc_F, Acc_R, RL_F and RL_R alike."""
    letter = "F" if subset == "forget" else "R"
    choice = {f"acc_{letter}": score, "acc_uni": text, "acc_mul": image}
    if subset == "forget":
        choice["modality_gap"] = abs(text - image)
    generation = {f"RL_{letter}": score}
    return {
        "classification": dict(choice),
        "cloze": dict(choice),
        "accuracy": dict(choice),
        "generation": generation,
    }


def model(forget, kept, text, image):
    return {
        "forget": tasks("forget", forget, text, image),
        "retain": tasks("retain", kept, kept, kept),
        "real": tasks("real", kept, kept, kept),
    }


def build(forget=0.4, kept=0.8, text=0.3, image=0.5, before=0.9):
    """Metrics of a run: `before` for SFT, 0.1 on forget for retain-only, the rest after."""
    metrics = {
        "sft": model(before, 0.95, before, before),
        "retain_only": model(0.1, 0.9, 0.15, 0.2),
        "unlearned": model(forget, kept, text, image),
    }
    change = before - forget
    metrics["delta"] = {
        "classification": {"dAcc_F": change},
        "cloze": {"dAcc_F": change},
        "generation": {"dRL_F": change},
    }
    return metrics


@pytest.fixture
def outcome_of():
    """`outcome_of(run, **figures)`: a finished run with the figures of `build`."""

    def make(run, **figures):
        params = copy.deepcopy(PARAMS)
        for text in run.overrides:
            key, _, value = text.partition("=")
            section, leaf = key.split(".")
            params[section][leaf] = value if leaf == "method" else float(value)
        return Outcome(run, params, build(**figures))

    return make
