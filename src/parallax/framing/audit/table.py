"""Verdicts on the items' pairs as a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from parallax.framing.audit.rule import DIGITS, Rule, judge
from parallax.framing.audit.signals import Encoder, measure
from parallax.framing.prompt_table import ItemPair

if TYPE_CHECKING:
    import pandas as pd

SIGNAL_COLUMNS = ("difference", "polarity", "difficulty", "depth")
AUDIT_COLUMNS = (
    "item",
    "cosine",
    *SIGNAL_COLUMNS,
    "probability",
    "proxy_equivalent",
    "equivalent",
    "reason",
    "source",
)


def tabulate_audit(pairs: Sequence[ItemPair], rule: Rule, encoder: Encoder) -> "pd.DataFrame":
    """Judge each item's two versions; one row each, in the order given (`AUDIT_COLUMNS`).

    `probability` is that of a difference, by the rule, and `proxy_equivalent` what it says of the
    pair; `source` says whose word `equivalent` and `reason` are.
    """
    import pandas as pd

    rows = []
    for pair, found in zip(pairs, measure([(p.a, p.b) for p in pairs], encoder), strict=True):
        verdict = judge(rule, found)
        rows.append(
            (
                pair.item,
                round(1 - found["distance"].value, DIGITS),
                *(round(found[name].value, DIGITS) for name in SIGNAL_COLUMNS),
                verdict.probability,
                verdict.equivalent,
                verdict.equivalent,
                verdict.reason,
                verdict.source,
            )
        )
    return pd.DataFrame(rows, columns=list(AUDIT_COLUMNS))
