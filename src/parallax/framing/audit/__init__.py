"""Do two versions of a request ask for the same? A proxy answer, calibrated on labelled pairs.

A proxy never stands in for people's answers: every verdict and report names its `source`, and
"proxy" is the only one that this package gives. Another signal (an entailment model, a language
model) is one more entry of `SIGNALS` and of a rule; answers of annotators are another source.
"""

from parallax.framing.audit.calibration import (
    Calibration,
    calibrate,
    calibration_values,
    require_passed,
)
from parallax.framing.audit.rule import RULES, Rule, Verdict, fit_rule, judge
from parallax.framing.audit.signals import SIGNALS, Encoder, Finding, measure
from parallax.framing.audit.table import AUDIT_COLUMNS, tabulate_audit

__all__ = [
    "AUDIT_COLUMNS",
    "RULES",
    "SIGNALS",
    "Calibration",
    "Encoder",
    "Finding",
    "Rule",
    "Verdict",
    "calibrate",
    "calibration_values",
    "fit_rule",
    "judge",
    "measure",
    "require_passed",
    "tabulate_audit",
]
