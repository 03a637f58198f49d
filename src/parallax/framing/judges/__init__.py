"""Judges: one a file, behind one interface, each measured before it is believed."""

from parallax.framing.judges import endpoint, ensemble, guard, lexical, prototype, rubric
from parallax.framing.judges.judge import JUDGES, Case, Judge, Outcome, Setup, Verdict, indicator

__all__ = [
    "JUDGES",
    "Case",
    "Judge",
    "Outcome",
    "Setup",
    "Verdict",
    "endpoint",
    "ensemble",
    "guard",
    "indicator",
    "lexical",
    "prototype",
    "rubric",
]
