"""How familiar a model is with a body: what it shows if the body was in its training data.

A body is read as plain text, without frame or chat template, as it would stand in a corpus. Only
the body itself (paraphrase 0) is measured: a benchmark may hold it, its paraphrase was written for
this comparison. In all measures higher means more familiar.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rouge_score.rouge_scorer import RougeScorer

from parallax.framing.choosing import Decoding
from parallax.framing.items import Item
from parallax.framing.ngrams import split_words
from parallax.framing.sampling import Request, sample
from parallax.framing.subjects import Subject
from parallax.framing.token_scores import encode_plain, min_k_pp, read_text, zlib_ratio
from parallax.stats.items import Floats
from parallax.stats.permutation import score_tertiles

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "subject",
    "item",
    "min_k_pp",
    "zlib_ratio",
    "rouge_l",
    "overlap",
    "score",
    "tertile",
)
# A nucleus of this probability is the likeliest token alone.
GREEDY_TOP_P = 1e-9
# Completions are grouped by length in steps of so many tokens.
LENGTH_STEP = 8


@dataclass(frozen=True)
class Familiarity:
    """A model's familiarity with one body; NaN where undefined."""

    min_k_pp: float
    zlib_ratio: float
    rouge_l: float


# Of a model that is known by its answers alone.
UNKNOWN = Familiarity(float("nan"), float("nan"), float("nan"))


class _WordTokenizer:
    """The words of `split_words`, unstemmed: what counts is the wording; RougeScorer calls it."""

    def tokenize(self, text: str) -> list[str]:
        return split_words(text)


def measure_familiarity(
    subject: Subject,
    bodies: Sequence[str],
    least_likely: float,
    batch_size: int,
    progress: Callable[[int], object] = lambda count: None,
) -> list[Familiarity]:
    """Measure each body by `min_k_pp`, `zlib_ratio` and ROUGE-L of its completed second half.

    A body is read by itself, unpadded, and completions do not depend on their batch: neither
    `batch_size` nor the other bodies change a value. `progress` is told of two steps a body.

    Raises:
        ModelError: the sampler cannot run the model, or a body has too many tokens for it.
    """
    completions = complete_halves(subject, bodies, batch_size, progress)
    measured = []
    for body, completion in zip(bodies, completions, strict=True):
        scores = read_text(subject, body)
        measured.append(
            Familiarity(
                min_k_pp(scores.standardised, least_likely),
                zlib_ratio(scores.logprobs, body),
                rouge_l(body, completion),
            )
        )
        progress(1)
    return measured


def rouge_l(body: str, completion: str) -> float:
    """Compare a completion with the body's second half: F1 of ROUGE-L over words (Lin 2004).

    NaN for a body without a first half or with no word in its second.
    """
    first, second = split_halves(body)
    if not first or not split_words(second):
        return float("nan")
    scorer = RougeScorer(["rougeL"], tokenizer=_WordTokenizer())
    return float(scorer.score(second, completion)["rougeL"].fmeasure)


def split_halves(body: str) -> tuple[str, str]:
    """Cut a body at the blank nearest to its middle, or in its middle if it has none.

    The second half begins with the blank.
    """
    middle = len(body) // 2
    blanks = (blank.start() for blank in re.finditer(r"\s+", body))
    cut = min(blanks, key=lambda place: (abs(place - middle), place), default=middle)
    return body[:cut], body[cut:]


def complete_halves(
    subject: Subject,
    bodies: Sequence[str],
    batch_size: int,
    progress: Callable[[int], object] = lambda count: None,
) -> list[str]:
    """Return the greedy continuation of each body's first half; "" where there is no such half.

    A continuation has at most as many tokens as the second half.
    """
    requests, limits = {}, {}
    for number, (first, second) in enumerate(map(split_halves, bodies)):
        if first:
            requests[number] = Request(encode_plain(subject, first)[0], seed=0)
            limits[number] = len(subject.tokenizer(second, add_special_tokens=False)["input_ids"])
    progress(len(bodies) - len(requests))
    completions = [""] * len(bodies)
    rooms = {number: -(-limit // LENGTH_STEP) * LENGTH_STEP for number, limit in limits.items()}
    for room in sorted(set(rooms.values())):
        numbers = [number for number in rooms if rooms[number] == room]
        decoding = Decoding(temperature=1.0, top_p=GREEDY_TOP_P, max_new_tokens=room)
        chosen = [requests[number] for number in numbers]
        for place, draw in sample(subject.model, chosen, decoding, subject.ends, batch_size):
            number = numbers[place]
            completions[number] = subject.decode(draw.tokens[: limits[number]])
            progress(1)
    return completions


def tabulate_familiarity(
    subject: str, items: Sequence[Item], measured: Sequence[Familiarity], overlap: Floats
) -> "pd.DataFrame":
    """Return one row per item, in the order given (`COLUMNS`).

    `score` is the mean of `min_k_pp` and `zlib_ratio`, each standardised over the items; it orders
    the items of one subject and says nothing between subjects. `tertile` is 1 (least familiar) to
    3; items with equal scores share one. Both are missing where a measure is.
    """
    import pandas as pd

    columns = {
        name: np.array([getattr(entry, name) for entry in measured], dtype=np.float64)
        for name in ("min_k_pp", "zlib_ratio", "rouge_l")
    }
    score = (standardise(columns["min_k_pp"]) + standardise(columns["zlib_ratio"])) / 2
    known = ~np.isnan(score)
    tertile = pd.array([pd.NA] * len(items), dtype="Int64")
    tertile[known] = score_tertiles(score[known]) + 1
    return pd.DataFrame(
        {
            "subject": [subject] * len(items),
            "item": [item.id for item in items],
            **columns,
            "overlap": overlap,
            "score": score,
            "tertile": tertile,
        },
        columns=list(COLUMNS),
    )


def standardise(values: Floats) -> Floats:
    """Return (x - mean) / sd over the defined values, sd with divisor n.

    NaN stays NaN, and all is NaN where the values do not vary.
    """
    # Sorted, so that the order of items cannot change the rounding of a sum.
    known = np.sort(values[~np.isnan(values)])
    if not known.size or known[0] == known[-1]:
        return np.full(values.shape, np.nan)
    standardised: Floats = (values - known.mean()) / known.std()
    return standardised
