"""Finders over prompts, versions of items, pairs and clauses (the frames of `prompt_tables`)."""

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rapidfuzz import fuzz, process

from parallax.validation.findings import Findings, finder, iterate
from parallax.validation.prompt_tables import CELL, FRAMELESS, is_missing
from parallax.words import ALIKE_PERCENT, fold_words

if TYPE_CHECKING:
    import pandas as pd

# Tokens by which the clauses of a length-matched wording may differ.
LENGTH_BAND = 2
# Topics below which an effect is that of one topic.
FEWEST_TOPICS = 2
SHOWN = 40  # characters of a differing text that a finding repeats


@finder("body_hashes_agree", columns=("row", *CELL, "body_hash"))
def _find_other_hashes(frame: "pd.DataFrame") -> Findings:
    odd = _odd_rows(frame, ("item", "paraphrase"), "body_hash")
    rows = tuple(
        f"{label}: body hash {value[:12]}... is not that of the other arms" for label, value in odd
    )
    return Findings(len(frame), rows)


@finder("masked_texts_agree", columns=("row", *CELL, "outside"))
def _find_leaks(frame: "pd.DataFrame") -> Findings:
    framed = frame[frame["arm"] != FRAMELESS]
    odd = _odd_rows(framed, ("item", "paraphrase", "wording"), "outside")
    rows = tuple(
        f"{label}: outside the clause it is not the text of the other arms" for label, _ in odd
    )
    return Findings(len(framed), rows)


def _odd_rows(frame: "pd.DataFrame", keys: Sequence[str], column: str) -> Iterator[tuple[str, Any]]:
    """Yield label and value of the rows that have not the commonest value of their group."""
    for _, group in frame.groupby(list(keys), sort=False):
        cells = list(iterate(group, "row", column))
        ((common, _),) = Counter(value for _, value in cells).most_common(1)
        yield from ((label, value) for label, value in cells if value != common)


@finder("bodies_are_the_items", columns=("row", "body", "body_hash", "item_text"))
def _find_other_bodies(frame: "pd.DataFrame") -> Findings:
    rows = []
    for label, body, body_hash, text in iterate(frame, "row", "body", "body_hash", "item_text"):
        if text is None:
            rows.append(f"{label}: no such version of a chosen item")
        elif body != text:
            rows.append(f"{label}: the body is {_difference(body, text)}")
        elif body_hash != hashlib.sha256(text.encode()).hexdigest():
            rows.append(f"{label}: the hash is not the sha256 of the item's text")
    return Findings(len(frame), tuple(rows))


@finder("carriers_kept", columns=("row", "arm", "outside", "filled"))
def _find_other_carriers(frame: "pd.DataFrame") -> Findings:
    framed = frame[frame["arm"] != FRAMELESS]
    rows = []
    for label, outside, filled in iterate(framed, "row", "outside", "filled"):
        if outside is None:
            rows.append(f"{label}: no span inside the text")
        elif outside != filled:
            rows.append(f"{label}: around the clause it is {_difference(outside, filled)}")
    return Findings(len(framed), tuple(rows))


def _difference(text: str, wanted: str) -> str:
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(text, wanted, strict=False))
    at = len(list(same))
    seen, want = text[at : at + SHOWN], wanted[at : at + SHOWN]
    return f"{seen!r} at character {at}, want {want!r}"


@finder("frameless_bare", columns=("row", "arm", "text", "body", "start", "end"))
def _find_frames(frame: "pd.DataFrame") -> Findings:
    rows = []
    columns = ("row", "arm", "text", "body", "start", "end")
    for label, arm, text, body, start, end in iterate(frame, *columns):
        if (arm == FRAMELESS) != (is_missing(start) and is_missing(end)):
            rows.append(f"{label}: " + ("a span" if arm == FRAMELESS else "no span"))
        elif arm == FRAMELESS and text != body:
            rows.append(f"{label}: the text is {_difference(text, body)}")
    return Findings(len(frame), tuple(rows))


@finder("bodies_distinct", columns=("row", "text"))
def _find_shared_texts(frame: "pd.DataFrame") -> Findings:
    first: dict[str, str] = {}
    rows = []
    for label, text in iterate(frame, "row", "text"):
        owner = first.setdefault(fold_words(text), label)
        if owner != label:
            rows.append(f"{label}: the words of {owner}")
    return Findings(len(frame), tuple(rows))


@finder("items_apart", columns=("row", "item", "harm_class", "text"))
def _find_near_items(frame: "pd.DataFrame") -> Findings:
    """Compare versions of different items of one harm class, by letters and by sorted words.

    A harmful request and a benign one are often made alike on purpose, to differ in harm alone.
    """
    rows = []
    for _, group in frame.groupby("harm_class", sort=False):
        texts = np.array([fold_words(text) for text in group["text"]], dtype=object)
        alike = np.maximum(
            *(process.cdist(texts, texts, scorer=s) for s in (fuzz.ratio, fuzz.token_sort_ratio))
        )
        # Each pair once, told at its later row; the same words are told by "bodies_distinct".
        alike[np.triu_indices(len(texts))] = 0
        for same in (texts, group["item"].to_numpy()):
            alike[same[:, None] == same] = 0
        labels = list(group["row"])
        rows += [
            f"{labels[late]}: {alike[late, early]:.1f} % alike to {labels[early]}: keep one of the"
            " two items"
            for late, early in enumerate(alike.argmax(axis=1))
            if alike[late, early] > ALIKE_PERCENT
        ]
    return Findings(len(frame), tuple(rows))


@finder("paraphrases_apart", columns=("row", "alike"))
def _find_copies(frame: "pd.DataFrame") -> Findings:
    paired = frame[frame["alike"].notna()]
    rows = [
        f"{label}: its two versions are {alike:.1f} % alike"
        for label, alike in iterate(paired, "row", "alike")
        if alike > ALIKE_PERCENT
    ]
    return Findings(len(paired), tuple(rows))


@finder("lengths_matched", columns=("row", "arm", "tokens"))
def _find_long_clauses(frame: "pd.DataFrame") -> Findings:
    rows = []
    for label, group in frame.groupby("row", sort=False):
        if group["tokens"].max() - group["tokens"].min() > LENGTH_BAND:
            counts = ", ".join(f"{arm} {tokens}" for arm, tokens in iterate(group, "arm", "tokens"))
            rows.append(f"{label}: tokens {counts}")
    return Findings(frame["row"].nunique(), tuple(rows))


@finder("topics_several", columns=("topic", "chosen"))
def _find_lone_topic(frame: "pd.DataFrame") -> Findings:
    """Count topics; a file with one topic alone has no others to choose from."""
    known, chosen = set(frame["topic"]), set(frame.loc[frame["chosen"], "topic"])
    few = len(chosen) < min(FEWEST_TOPICS, len(known))
    rows = [f"the items are all of {', '.join(chosen) or 'no topic'}, of {len(known)} topics"]
    return Findings(len(frame), tuple(rows if few else ()))
