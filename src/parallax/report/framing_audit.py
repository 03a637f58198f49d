"""The semantic audit as the page shows it: who answered, how far to believe it, what is doubted."""

import dataclasses
from typing import TYPE_CHECKING

from parallax.report.figures import Figures
from parallax.report.framing_people import PeopleView, build_people

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
    """The two versions of an item, their cosine, and what proxy and audit say of them."""

    item: str
    a: str
    b: str
    cosine: float
    proxy_equivalent: bool
    equivalent: bool
    reason: str


@dataclasses.dataclass(frozen=True)
class AuditView:
    """The audit; `people` is None where a proxy answered, and its word is never called theirs.

    `rules`, the proxy's, and their gate are there in any case; `passed` is that of who answered.
    """

    people: PeopleView | None
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

    @property
    def auditor(self) -> str:
        """Who answered, in words."""
        return "annotators" if self.people else "proxy"

    @property
    def status(self) -> str:
        """Who says that the versions ask for the same, as a sentence."""
        alike = f"{len(self.items) - len(self.doubted)} of {len(self.items)}"
        by = f"{self.people.annotators} annotators" if self.people else "a proxy, not by people"
        gate = "" if self.passed else "; that audit failed its gate"
        return f"The two versions of a request ask for the same in {alike} items by {by}{gate}."


def build_audit(audit: Figures, audited: "pd.DataFrame", pairs: "pd.DataFrame") -> AuditView:
    """Return the audit of the items; `pairs` has their texts.

    Raises:
        DataError: a figure is missing, or the gate is on a rule that was not tested.
    """
    judging = audit.text("gate", "rule")
    audit.part("test", judging)
    table = audited.merge(pairs, on="item", how="left").sort_values("item")
    columns = ("item", "a", "b", "cosine", "proxy_equivalent", "equivalent", "reason")
    return AuditView(
        people=build_people(audit.part("human")) if audit.text("source") == "human" else None,
        rules=tuple(
            _rule(name, name == judging, found) for name, found in _ordered(audit.parts("test"))
        ),
        least_sensitivity=audit.number("gate", "least_sensitivity"),
        least_specificity=audit.number("gate", "least_specificity"),
        passed=audit.flag("passed"),
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
