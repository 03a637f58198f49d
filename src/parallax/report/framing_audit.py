"""The semantic audit as the page shows it: what the proxy can tell, and what it doubts."""

import dataclasses
from typing import TYPE_CHECKING

from parallax.report.figures import Figures

if TYPE_CHECKING:
    import pandas as pd

_RULES = {
    "cosine": "cosine of sentence embeddings alone",
    "second": "the other signals alone",
    "both": "both",
}
KINDS = {
    "negation": "negation",
    "changed_target": "changed target",
    "changed_difficulty": "changed difficulty",
}


@dataclasses.dataclass(frozen=True)
class Rate:
    """A share of labelled pairs with its 95 % interval; NaN without pairs."""

    right: int
    pairs: int
    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class RuleRow:
    """What one rule does on the labelled test pairs; `kinds` in the order of `KINDS`."""

    name: str
    judges: bool
    sensitivity: Rate
    specificity: Rate
    kinds: tuple[Rate, ...]


@dataclasses.dataclass(frozen=True)
class AuditedItem:
    """The two versions of an item, their cosine, and what the audit says of them."""

    item: str
    a: str
    b: str
    cosine: float
    equivalent: bool
    reason: str


@dataclasses.dataclass(frozen=True)
class AuditView:
    """The audit; `source` says who answered, and people's answers are never a proxy's."""

    source: str
    rules: tuple[RuleRow, ...]
    least_sensitivity: float
    least_specificity: float
    passed: bool
    items: tuple[AuditedItem, ...]

    @property
    def judging(self) -> RuleRow:
        """The rule that the items were judged by."""
        return next(rule for rule in self.rules if rule.judges)

    @property
    def doubted(self) -> tuple[AuditedItem, ...]:
        """The items whose versions may ask for different things."""
        return tuple(item for item in self.items if not item.equivalent)


def build_audit(audit: Figures, audited: "pd.DataFrame", pairs: "pd.DataFrame") -> AuditView:
    """Return the audit of the items; `pairs` has their texts.

    Raises:
        DataError: a figure is missing, or the gate is on a rule that was not tested.
    """
    judging = audit.text("gate", "rule")
    audit.part("test", judging)
    table = audited.merge(pairs, on="item", how="left").sort_values("item")
    columns = ("item", "a", "b", "cosine", "equivalent", "reason")
    return AuditView(
        source=audit.text("source"),
        rules=tuple(
            _rule(name, name == judging, found) for name, found in _ordered(audit.parts("test"))
        ),
        least_sensitivity=audit.number("gate", "least_sensitivity"),
        least_specificity=audit.number("gate", "least_specificity"),
        passed=audit.flag("gate", "passed"),
        items=tuple(
            AuditedItem(*row)
            for row in zip(*(table[name].tolist() for name in columns), strict=True)
        ),
    )


def _ordered(rules: dict[str, Figures]) -> list[tuple[str, Figures]]:
    known = list(_RULES)
    return sorted(rules.items(), key=lambda rule: known.index(rule[0]))


def _rule(name: str, judges: bool, found: Figures) -> RuleRow:
    return RuleRow(
        _RULES[name],
        judges,
        _rate(found.part("sensitivity")),
        _rate(found.part("specificity")),
        tuple(_rate(found.part("by_kind", kind)) for kind in KINDS),
    )


def _rate(entry: Figures) -> Rate:
    return Rate(
        entry.count("right"),
        entry.count("pairs"),
        *(entry.number(key) for key in ("value", "low", "high")),
    )
