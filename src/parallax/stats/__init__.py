"""Item-level statistics: tests, intervals, multiplicity, agreement, power."""
