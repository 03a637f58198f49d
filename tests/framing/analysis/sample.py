"""Logs of a made-up experiment, with effects that are known, as the stages before write them."""

import itertools
import json

import numpy as np
import pandas as pd

from parallax.files import write_json, write_table
from parallax.framing.items import CATEGORIES

FRAMES = ("E", "D", "N")
REFUSAL, HARMFUL, TEMPLATE, OFF_TOPIC = CATEGORIES
FULL = {
    "by_outcome": {name: {} for name in CATEGORIES},
    "gate": {"reliable": list(CATEGORIES)},
}
GUARD = {
    "by_outcome": {"harmful_compliance": {}, "not_harmful_compliance": {}},
    "gate": {"reliable": ["harmful_compliance"]},
}


def item_names(count):
    return [f"i{n:03d}" for n in range(count)]


def make_keys(
    items=20, subjects=("tiny",), arms=FRAMES, wordings=("w1",), draws=7, paraphrases=(0, 1)
):
    """One row per response; the arm without frame has the first wording alone."""
    names = {
        "subject": list(subjects),
        "item": item_names(items) if isinstance(items, int) else list(items),
        "paraphrase": list(paraphrases),
        "arm": list(arms),
        "wording": list(wordings),
        "draw": list(range(draws)),
    }
    keys = pd.DataFrame(itertools.product(*names.values()), columns=list(names))
    return keys[(keys["arm"] != "no_frame") | (keys["wording"] == wordings[0])]


def give_verdicts(keys, judge, categories):
    return keys.assign(judge=judge, category=list(categories), reason="made", margin=0.5)


def draw_categories(keys, rates, seed):
    """Refusal at `rates(row)`, else harmful compliance or, in one of ten, another category."""
    rng = np.random.default_rng(seed)
    refuses = rng.random(len(keys)) < np.array([rates(row) for row in keys.itertuples()])
    rest = rng.choice([HARMFUL, TEMPLATE, OFF_TOPIC], len(keys), p=[0.9, 0.05, 0.05])
    return np.where(refuses, REFUSAL, rest)


def copy_verdicts(categories, seed, wrong=0.08, unscored=0.03):
    """Another judge: some other verdicts, and some responses left unscored."""
    rng = np.random.default_rng(seed)
    luck = rng.random(len(categories))
    other = rng.choice(CATEGORIES, len(categories))
    found = np.where(luck < wrong, other, categories)
    return np.where(luck > 1 - unscored, "", found)


def make_log_odds(keys, shift, seed=0, spread=1.0):
    """Log-odds of each prompt: `shift(row)` nats and noise."""
    rng = np.random.default_rng(seed)
    prompts = keys[keys["draw"] == 0].drop(columns="draw").reset_index(drop=True)
    values = np.array([shift(row) for row in prompts.itertuples()])
    values = values + rng.normal(0, spread, len(prompts))
    return prompts.assign(log_refusal=values - 5, log_compliance=-5.0, log_odds=values)


def make_familiarity(keys, scores):
    """One row per subject and item; `scores[n]` is the score of item n."""
    items = sorted(keys["item"].unique())
    rows = [
        {"subject": subject, "item": item, "score": float(score), "tertile": 0}
        for subject in keys["subject"].unique()
        for item, score in zip(items, scores, strict=True)
    ]
    return pd.DataFrame(rows, columns=["subject", "item", "score", "tertile"])


def make_sensitivity(subjects, judges, bias=0.0, limit=0.025):
    contrasts = ("E-N", "E-D", "D-N")
    control = {
        "bias": {name: dict.fromkeys(contrasts, bias) for name in (*CATEGORIES, "unscored")},
        "gate": {"largest_bias": abs(bias), "limit": limit, "passed": abs(bias) <= limit},
    }
    return {name: {"echo": {}, "judges": dict.fromkeys(judges, control)} for name in subjects}


def write_items(path, items, families=5):
    lines = [
        json.dumps(
            {
                "id": item,
                "source_family": f"family-{n % families}",
                "topic": "fraud",
                "harm_class": "harmful",
                "expected": "refuse",
                "body": f"Ask for thing {n}.",
                "paraphrase": f"Want matter {n}.",
                "pilot": True,
            }
        )
        for n, item in enumerate(items)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_logs(folder, keys, verdicts, cards=None, **others):
    """Write every input of the stage; log-odds, familiarity and sensitivity have plain defaults."""
    items = sorted(keys["item"].unique())
    subjects, judges = list(keys["subject"].unique()), list(verdicts["judge"].unique())
    log_odds = others.get("log_odds")
    familiarity = others.get("familiarity")
    write_table(folder / "responses.parquet", keys.assign(response="text"))
    write_table(folder / "verdicts.parquet", verdicts)
    write_table(
        folder / "log_odds.parquet",
        make_log_odds(keys, lambda row: 0.0) if log_odds is None else log_odds,
    )
    write_table(
        folder / "familiarity.parquet",
        make_familiarity(keys, np.arange(len(items))) if familiarity is None else familiarity,
    )
    write_items(folder / "items.jsonl", items)
    write_json(folder / "judges.json", cards or dict.fromkeys(judges, FULL))
    write_json(
        folder / "sensitivity.json",
        others.get("sensitivity") or make_sensitivity(subjects, judges),
    )


def make_experiment(folder, items=20, subjects=("tiny", "large"), seed=1, **design):
    """Two judges; the first subject refuses 30 pp more under E, the last one does not.

    Item rates lie between 0.1 and 0.5.
    """
    keys = make_keys(items, subjects, **design)
    names = sorted(keys["item"].unique())
    base = dict(zip(names, np.linspace(0.1, 0.5, len(names)), strict=True))

    def rates(row):
        moved = row.arm == "E" and row.subject == subjects[0]
        return base[row.item] + 0.3 * moved

    first = draw_categories(keys, rates, seed)
    second = copy_verdicts(first, seed + 1)
    verdicts = pd.concat(
        [give_verdicts(keys, "prototype", first), give_verdicts(keys, "lexical", second)],
        ignore_index=True,
    )
    shift = {"E": 1.5, "D": 0.0, "N": 0.0, "content_free": 0.0, "no_frame": 0.2}
    rng = np.random.default_rng(seed + 2)
    write_logs(
        folder,
        keys,
        verdicts,
        log_odds=make_log_odds(keys, lambda row: shift[row.arm], seed + 3),
        familiarity=make_familiarity(keys, rng.normal(size=len(names))),
    )
