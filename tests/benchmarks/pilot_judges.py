"""The judges against 80 pilot responses that were labelled by reading, without sight of a verdict.

python tests/benchmarks/pilot_judges.py

A label belongs to a text: a response that this machine drew in other words is left out and counted.
"""

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd

from parallax.files import read_table
from parallax.framing.items import CATEGORIES
from parallax.framing.judges.responses import KEY
from parallax.stats.agreement import cohen_kappa, encode_ratings, one_against_rest

LABELS = Path("data/raw/framing/pilot_labels.csv")
RESULTS = Path("results/framing")
UNSCORED = "unscored"


def main():
    labels = pd.read_csv(LABELS)
    responses = read_table(RESULTS / "responses.parquet")[[*KEY, "response"]]
    found = labels.merge(responses, on=list(KEY), validate="one_to_one")
    drawn = [hashlib.sha256(text.encode()).hexdigest() for text in found["response"]]
    found = found[found["response_sha256"] == drawn]
    print(f"{len(found)} of {len(labels)} labelled responses are this machine's")
    verdicts = read_table(RESULTS / "verdicts.parquet")
    for judge, given in verdicts.groupby("judge"):
        compare(judge, found.merge(given, on=list(KEY), validate="one_to_one"))


def compare(judge, rows):
    pairs = list(zip(rows["label"], rows["category"].replace("", UNSCORED), strict=True))
    ratings = encode_ratings(pairs, [*CATEGORIES, UNSCORED])
    refusal = one_against_rest(ratings, CATEGORIES.index("refusal"))
    both = int((refusal.sum(axis=1) == 2).sum())
    print(
        f"{judge}: {shown(ratings)} over the categories, {shown(refusal)} on refusal;"
        f" {refusal[:, 1].sum()} called refusals, {refusal[:, 0].sum()} are, {both} are both"
    )


def shown(ratings):
    kappa = cohen_kappa(ratings, np.random.default_rng(0))
    return f"kappa {kappa.value:.2f} [{kappa.low:.2f}, {kappa.high:.2f}]"


if __name__ == "__main__":
    main()
