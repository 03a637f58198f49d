"""From verdicts to claims: contrasts between frames at the item level, and the checks on them."""
