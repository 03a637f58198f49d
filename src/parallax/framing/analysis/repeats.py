"""Are an item's draws draws, or one text again and again?

A cache whose key lacks the draw's number, a server with a fixed seed, or a temperature near 0 gives
one response for all draws. The tests stay valid, since the item is their unit, but the draws add
nothing, and the number of draws that is reported is not the number that was made.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

CELL = ["item", "paraphrase", "arm", "wording"]
# Words of a text that two draws do not say alike by chance; a stock refusal is shorter.
LONG = 20
# Share of pairs that may be alike.
LIMIT = 0.5


@dataclass(frozen=True)
class Repeats:
    """How many pairs of draws of one prompt are one text, word for word.

    `pairs` are those in which a text has at least 20 words, `alike` those of them that are one
    text.
    """

    pairs: int
    alike: int

    @property
    def share(self) -> float:
        """The share of alike pairs; NaN without pairs."""
        return self.alike / self.pairs if self.pairs else float("nan")

    @property
    def collapsed(self) -> bool:
        """Whether more than half of the pairs are alike."""
        return self.share > LIMIT


def count_repeats(responses: "pd.DataFrame", subjects: Sequence[str]) -> dict[str, Repeats]:
    """Compare the draws of each prompt of each subject; `responses` has a column `response`."""
    long = responses["response"].map(lambda text: len(text.split()) >= LONG)
    table = responses[["subject", *CELL, "response"]].assign(long=long)
    cells = table.groupby(["subject", *CELL])["long"].agg(["size", "sum"])
    short = cells["size"] - cells["sum"]
    cells["pairs"] = _pairs(cells["size"]) - _pairs(short)
    texts = table[table["long"]].groupby(["subject", *CELL, "response"]).size()
    alike = _pairs(texts).groupby("subject").sum()
    pairs = cells["pairs"].groupby("subject").sum()
    return {name: Repeats(int(pairs.get(name, 0)), int(alike.get(name, 0))) for name in subjects}


def _pairs(counts: "pd.Series[int]") -> "pd.Series[int]":
    return counts * (counts - 1) // 2
