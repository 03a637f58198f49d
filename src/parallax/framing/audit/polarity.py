"""Is what one version asserts denied in the other? Negation, omission and opposites.

Negation scopes follow the convention of `nltk.sentiment.util.mark_negation` (a negator reaches
forward to the end of its clause), cut to two content words, since a request's later words are
seldom what is denied.
"""

import functools
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from nltk.stem.snowball import SnowballStemmer

from parallax.framing.audit import words
from parallax.stats.items import Floats

SCOPE = (1.0, 0.5)
"""How much the first and the second content word after a negator are denied."""
UNRELATED = 0.4
"""Cosine of two single words' embeddings up to which they count as unrelated."""

_TOKEN = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[.,;:?!]")
_stemmer = SnowballStemmer("english")


@functools.cache
def stem(word: str) -> str:
    """Return the word's stem (Snowball English)."""
    return str(_stemmer.stem(word))


@dataclass(frozen=True)
class Mention:
    """A content word, asserted (sign 1) or denied (-1); `weight` says how surely."""

    word: str
    sign: int
    weight: float = 1.0
    stance: str = ""


def tokenize(text: str) -> list[str]:
    """Return words in lower case and punctuation marks, with "n't" as "not"."""
    plain = text.lower().replace("\u2019", "'")
    plain = re.sub(r"\bcan't\b|\bcannot\b", "can not", plain).replace("won't", "will not")
    return _TOKEN.findall(plain.replace("n't", " not"))


def read_mentions(text: str) -> list[Mention]:
    """Return the content words of a text in their order."""
    found: list[Mention] = []
    clause: list[str] = []
    place: int | None = None  # in the scope of a negator
    stance = ""
    for token, following in itertools.pairwise([*tokenize(text), "."]):
        if token in ".,;:?!":
            clause, place, stance = [], None, ""
            continue
        if token in words.AT_CLAUSE_END and following in ".,;:?!" and clause and found:
            found[-1] = replace(found[-1], sign=-found[-1].sign)
        elif _denies(token, following, clause):
            # "not without" asserts.
            place = None if place == 0 else 0
        elif token in ("for", "against"):
            stance = token
            found += [Mention(token, 1)] if token == "against" else []
        elif token not in words.FUNCTION_WORDS | words.NEGATORS:
            found.append(_mention(token, place, stance))
            stance = ""
            place = None if place is None or place + 1 == len(SCOPE) else place + 1
        clause.append(token)
    return found


def _denies(token: str, following: str, clause: Sequence[str]) -> bool:
    if token in words.NEGATORS:
        return not (token == "not" and following in words.NOT_MERELY)
    gerund = following.endswith("ing")
    return (
        token in words.OMISSIONS
        or (token in words.BEFORE_GERUND and gerund)
        or (token == "from" and gerund and not words.BLOCKERS.isdisjoint(clause))
        or (token == "free" and following in ("of", "from"))
    )


def _mention(token: str, place: int | None, stance: str) -> Mention:
    sign, weight = (1, 1.0) if place is None else (-1, SCOPE[place])
    if token.endswith("less") and len(token) > 6:  # worthless: not worth
        token, sign = token[:-4], -sign
    return Mention(token, sign, weight, stance)


@functools.cache
def _opposites() -> frozenset[frozenset[str]]:
    return frozenset(
        frozenset((stem(left), stem(right)))
        for lefts, rights in words.OPPOSITES
        for left in lefts.split()
        for right in rights.split()
    )


def are_opposite(first: str, second: str) -> bool:
    """Say whether two words are opposites, by the list or by a prefix such as "un"."""
    short, long = sorted((first, second), key=len)
    return frozenset((stem(first), stem(second))) in _opposites() or any(
        long.startswith(prefix) and stem(long[len(prefix) :]) == stem(short)
        for prefix in words.PREFIXES
    )


def find_reversal(
    first: Sequence[Mention], second: Sequence[Mention], cosines: Floats
) -> tuple[float, str, str]:
    """Return the strongest reversal between two texts and the two words that show it.

    For a word w of weight u that is denied, or that has an opposite on the other side:
    u * (max similarity to a word of the other polarity - max similarity to one of the same), with
    similarity 1 for equal stems and opposites, else (cosine - UNRELATED) / (1 - UNRELATED), at
    least 0. The value lies between 0 and 1. `cosines` has shape (first, second).
    """
    both = [
        *_reversals(first, second, cosines),
        *_reversals(second, first, cosines.T),
    ]
    return max(both, key=lambda found: found[0], default=(0.0, "", ""))


def _reversals(
    here: Sequence[Mention], there: Sequence[Mention], cosines: Floats
) -> list[tuple[float, str, str]]:
    found = []
    for mention, row in zip(here, cosines, strict=True):
        same, other, shown, by_opposite = 0.0, 0.0, "", False
        for partner, cosine in zip(there, row, strict=True):
            likeness, sign, opposite = _compare(mention, partner, float(cosine))
            if sign == mention.sign:
                same = max(same, likeness)
            elif likeness > other:
                other, shown, by_opposite = likeness, partner.word, opposite
        if (mention.sign < 0 or by_opposite) and other > same:
            found.append((mention.weight * (other - same), mention.word, shown))
    return found


def _compare(mention: Mention, partner: Mention, cosine: float) -> tuple[float, int, bool]:
    """Return how like two words are, the partner's sign towards the first, and if by opposites."""
    if are_opposite(mention.word, partner.word):
        return 1.0, -partner.sign, True
    if stem(mention.word) == stem(partner.word):
        turned = {mention.stance, partner.stance} == {"for", "against"}
        return 1.0, -partner.sign if turned else partner.sign, turned
    return float(np.clip((cosine - UNRELATED) / (1 - UNRELATED), 0, 1)), partner.sign, False
