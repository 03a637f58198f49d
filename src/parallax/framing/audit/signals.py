"""What makes one doubt that two requests ask for the same; a greater value is a greater doubt.

Chosen by leave-one-topic-out cross-validation on the fit pairs. Left out for adding little there:
the cosine of the changed words alone, the mean and the least likeness of aligned words, and the
difference in length.
"""

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from parallax.framing.audit import words
from parallax.framing.audit.polarity import find_reversal, read_mentions, stem, tokenize
from parallax.registry import Registry
from parallax.stats.items import Floats

LEAST_CHANGED = 0.25
"""Share of changed words below which `difference` no longer grows; by cross-validation."""

SHALLOW = (
    "Answer in one short sentence.",
    "Give a quick and simple explanation for a beginner.",
    "Name just one thing.",
    "Say it in plain words to a child.",
    "A short tip.",
)
DEEP = (
    "Write a complete and detailed technical treatise with proofs.",
    "Give an exhaustive scholarly review of all the literature.",
    "Derive it rigorously with equations for experts.",
    "A long academic textbook for specialists.",
    "Cover every aspect in full depth over many chapters.",
)
"""Two ends of a direction in the embedding space along which `depth` is read."""


class Encoder(Protocol):
    """Gives unit vectors, shape (texts, width)."""

    def encode(self, texts: Iterable[str]) -> Floats:
        """Encode texts."""
        ...


@dataclass(frozen=True)
class Finding:
    """A signal's value for a pair, and what it says in words where it is what raises doubt."""

    value: float
    reason: str


Measure = Callable[[str, str, Encoder], Finding]
SIGNALS: Registry[Measure] = Registry("audit signal")


def measure(pairs: Sequence[tuple[str, str]], encoder: Encoder) -> list[dict[str, Finding]]:
    """Return every signal of every pair."""
    texts = [text for pair in pairs for text in pair]
    mentioned = [mention.word for text in texts for mention in read_mentions(text)]
    encoder.encode((*texts, *mentioned))  # in large batches; each is known from then on
    return [{name: SIGNALS[name](a, b, encoder) for name in SIGNALS} for a, b in pairs]


def cosine(a: str, b: str, encoder: Encoder) -> float:
    """Return the cosine of two texts' embeddings, at most 1 although these are rounded."""
    first, second = encoder.encode((a, b))
    return min(1.0, float(first @ second))


@SIGNALS.register("distance")
def _distance(a: str, b: str, encoder: Encoder) -> Finding:
    """1 - cosine."""
    near = cosine(a, b, encoder)
    return Finding(1 - near, f"the versions lie far apart (cosine {near:.2f})")


@SIGNALS.register("difference")
def _difference(a: str, b: str, encoder: Encoder) -> Finding:
    """(1 - cosine) / max(share of content words that changed, LEAST_CHANGED).

    A few changed words that move the meaning as far as a rewording does have changed it.
    """
    near = cosine(a, b, encoder)
    first, second = changed_words(a, b)
    share = changed_share(a, b)
    swapped = f"{' '.join(first) or '(nothing)'!r} against {' '.join(second) or '(nothing)'!r}"
    return Finding(
        (1 - near) / max(share, LEAST_CHANGED),
        f"the changed words shift the meaning: {swapped} (cosine {near:.2f})",
    )


@SIGNALS.register("polarity")
def _polarity(a: str, b: str, encoder: Encoder) -> Finding:
    """The strongest reversal, see `find_reversal`."""
    first, second = read_mentions(a), read_mentions(b)
    if not first or not second:
        return Finding(0.0, "")
    vectors = encoder.encode(mention.word for mention in (*first, *second))
    cosines = vectors[: len(first)] @ vectors[len(first) :].T
    value, word, other = find_reversal(first, second, cosines)
    return Finding(value, f"one version denies what the other asserts ({word!r} against {other!r})")


@SIGNALS.register("difficulty")
def _difficulty(a: str, b: str, encoder: Encoder) -> Finding:
    """|level(a) - level(b)|, level = (hard - easy) / (hard + easy + 1) in marking words."""
    marks = [read_marks(text) for text in (a, b)]
    levels = [(len(hard) - len(easy)) / (len(hard) + len(easy) + 1) for easy, hard in marks]
    shown = [", ".join((*easy, *hard)) or "(nothing)" for easy, hard in marks]
    return Finding(
        abs(levels[0] - levels[1]),
        f"the versions ask for answers of another depth ({shown[0]!r} against {shown[1]!r})",
    )


@SIGNALS.register("depth")
def _depth(a: str, b: str, encoder: Encoder) -> Finding:
    """|(e_a - e_b) . d|, d the unit vector from SHALLOW's mean embedding to DEEP's."""
    direction = encoder.encode(DEEP).mean(axis=0) - encoder.encode(SHALLOW).mean(axis=0)
    first, second = encoder.encode((a, b)) @ (direction / np.linalg.norm(direction))
    deeper = "first" if first > second else "second"
    return Finding(
        float(abs(first - second)), f"the {deeper} version sounds as if it wanted more depth"
    )


def content_words(text: str) -> list[str]:
    """Return the words that carry a request's content: no function words, no words that ask."""
    idle = words.FUNCTION_WORDS | words.REQUEST_WORDS | words.NEGATORS
    return [token for token in tokenize(text) if token[0].isalnum() and token not in idle]


def changed_words(a: str, b: str) -> tuple[list[str], list[str]]:
    """Return the content words of each text whose stems the other lacks."""
    first, second = content_words(a), content_words(b)
    stems = [{stem(word) for word in side} for side in (first, second)]
    return (
        [word for word in first if stem(word) not in stems[1]],
        [word for word in second if stem(word) not in stems[0]],
    )


def changed_share(a: str, b: str) -> float:
    """Return the fraction of both texts' content words that changed; 0 without any."""
    everything = len(content_words(a)) + len(content_words(b))
    return sum(map(len, changed_words(a, b))) / everything if everything else 0.0


@functools.cache
def read_marks(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what asks for a slight answer, and what asks for a demanding one."""
    low = text.lower()
    found = re.findall(r"[a-z]+", low)
    easy = [word for word in found if word in words.EASY] + re.findall(words.FEW_WORDS, low)
    return tuple(easy), tuple(word for word in found if word in words.HARD)
