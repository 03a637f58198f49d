"""Chat templates that must not change a prompt from day to day."""

# Given to templates that print a date where the caller names none, so that no day changes a prompt.
DATE = "01 Jan 2026"


def prints_today(template: str) -> bool:
    """Say whether a chat template prints today's date, whatever date it is given."""
    return "strftime_now" in template and "date_string" not in template
