"""How far a judge may be believed on each preregistered contrast."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from parallax.errors import DataError
from parallax.stats.labels import PRIMARY_FAMILY, FamilyMember


@dataclass(frozen=True)
class Gate:
    """How far the judge, if it saw the frame labels, would move a contrast (fraction of 1).

    `reliable`: the judge's card vouches for the contrast's outcome. `passed`: it does, and the bias
    is known and within a quarter of the smallest effect of interest.
    """

    bias: float | None
    limit: float
    reliable: bool
    passed: bool

    @property
    def reason(self) -> str:
        """Why the gate did not pass; "" where it did."""
        if self.passed:
            return ""
        if not self.reliable:
            return "the judge's agreement on that category is below its gate"
        if self.bias is None:
            return "how the judge reacts to the frame labels is not known"
        return (
            "the judge reacts to the frame labels: they alone move its verdicts by"
            f" {100 * self.bias:+.1f} points, more than {100 * self.limit:.1f}"
        )


def read_gates(
    sensitivity: Any, subject: str, judge: str, reliable: Collection[str], source: str
) -> tuple[Gate, ...]:
    """Return the gate of each preregistered contrast from the control's report.

    `reliable` are the outcomes that the judge's card vouches for.

    Raises:
        DataError: the report lacks the subject, the judge or one of the numbers.
    """
    try:
        control = sensitivity[subject]["judges"][judge]
        limit = float(control["gate"]["limit"])
        return tuple(_gate(control["bias"], member, limit, reliable) for member in PRIMARY_FAMILY)
    except (KeyError, TypeError, ValueError):
        raise DataError(
            f"{source}: no frame-sensitivity control of judge {judge!r} on subject {subject!r};"
            " judge the responses again"
        ) from None


def _gate(biases: Any, member: FamilyMember, limit: float, reliable: Collection[str]) -> Gate:
    # A judge that cannot tell the category has no bias in it to report.
    bias = biases.get(member.category, {}).get(f"{member.first}-{member.second}")
    known = member.category in reliable
    return Gate(bias, limit, known, known and bias is not None and abs(bias) <= limit)
