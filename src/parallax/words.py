"""Whole-word comparison of texts, without case and accents."""

import functools
import re
import unicodedata

ALIKE_PERCENT = 85.0
"""Similarity (rapidfuzz ratio of the folded words, percent) above which options are too near.

One or two letters more in a long word lie above it (Austria, Australia: 90), two values that people
do tell apart lie below it (North Korea, South Korea: 84.6).
"""

# Words inside names that no name is known by; they are ordinary words or initials elsewhere.
_PARTICLES = frozenset(
    (
        *("al", "bin", "bint", "da", "dal", "de", "del", "della", "den", "der", "di", "do"),
        *("dos", "du", "el", "ibn", "jr", "la", "le", "san", "sr", "st", "van", "von"),
    )
)
_WORD = re.compile(r"[^\W_]+")


@functools.cache
def fold_words(text: str) -> str:
    """Return the words of a text, folded, each with a space before and after: " anna of lyon "."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(c for c in decomposed if not unicodedata.combining(c))
    return f" {' '.join(_WORD.findall(plain))} "


def contains_words(text: str, phrase: str) -> bool:
    """Say whether the words of `phrase` stand in `text`, whole and in a row."""
    return fold_words(phrase) in fold_words(text)


@functools.cache
def name_parts(name: str) -> tuple[str, ...]:
    """Return the folded words of a name that point to its bearer: no initials, no particles."""
    return tuple(
        word for word in fold_words(name).split() if len(word) > 1 and word not in _PARTICLES
    )


def find_name_part(text: str, name: str) -> str | None:
    """Return the first part of `name` that is a whole word of `text`, or None."""
    folded = fold_words(text)
    return next((part for part in name_parts(name) if f" {part} " in folded), None)


def find_spelt_part(text: str, name: str) -> str | None:
    """Return the first part of `name` that is a word of `text` without a small initial, or None.

    In texts of others "will" and "rose" are rarely Will and Rose.
    """
    words = _WORD.findall(unicodedata.normalize("NFC", text))
    spelt = {fold_words(word).strip() for word in words if not word[0].islower()}
    return next((part for part in name_parts(name) if part in spelt), None)
