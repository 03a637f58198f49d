"""Which outputs give no answer: empty ones and refusals."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from rapidfuzz import fuzz, process

from parallax.errors import DataError

# Openings that no answer to a question about a person has; normalised as outputs are.
_OPENINGS = (
    "i am not able",
    "i am not sure",
    "i am sorry",
    "i am unable",
    "i am unsure",
    "i can not",
    "i cannot",
    "i cant",
    "i could not",
    "i couldnt",
    "i do not have",
    "i do not know",
    "i dont have",
    "i dont know",
    "i have no",
    "im not able",
    "im not sure",
    "im sorry",
    "im unable",
    "im unsure",
    "no idea",
    "no information",
    "sorry",
)

# Similarity (per cent of `fuzz.ratio`) from which an output is a listed refusal with a slip in it.
_NEAR = 90.0


def abstention_rule(refusals: Sequence[str]) -> Callable[[str], bool]:
    """Return a test of whether an output abstains.

    It does when, lower-cased and reduced to letters and digits, the output is empty, begins with a
    refusing opening or with one of `refusals`, or is at least 90 % similar to one of `refusals`
    (`fuzz.ratio`, so that a small model's slip of a word still counts).
    """
    known = sorted({_normalise(refusal) for refusal in refusals} - {""})
    openings = tuple(f"{opening} " for opening in (*_OPENINGS, *known))

    def abstains(output: str) -> bool:
        text = _normalise(output)
        return (
            not text
            or f"{text} ".startswith(openings)
            or process.extractOne(text, known, scorer=fuzz.ratio, score_cutoff=_NEAR) is not None
        )

    return abstains


def read_refusals(path: Path, at_least: int = 1) -> list[str]:
    """Read refusing answers, one a line; blank lines don't count.

    Raises:
        DataError: the file is missing or not UTF-8, a line occurs twice, or there are fewer than
            `at_least`.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; want one refusing answer a line") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start} is not UTF-8: save it as UTF-8") from None
    refusals = [line.strip() for line in lines if line.strip()]
    seen: set[str] = set()
    for line in refusals:
        if line.casefold() in seen:
            raise DataError(f"{path}: {line!r} occurs twice: remove one")
        seen.add(line.casefold())
    if len(refusals) < at_least:
        raise DataError(f"{path}: {len(refusals)} refusals; want {at_least} or more")
    return refusals


def _normalise(text: str) -> str:
    return " ".join(re.sub(r"[\W_]+", " ", re.sub("['\u2019]", "", text.casefold())).split())
