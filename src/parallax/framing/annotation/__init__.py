"""People's answers on whether two versions of a request ask the same: sheets, checks, verdicts."""
