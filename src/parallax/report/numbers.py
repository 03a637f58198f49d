"""Numbers as the report prints them; an undefined one is an en dash."""

import math

UNDEFINED = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


def fraction(value: float, digits: int = 2) -> str:
    """Return a fraction as ".41" is meant to be read: 0.41."""
    return UNDEFINED if math.isnan(value) else f"{value:.{digits}f}"


def change(value: float, digits: int = 2) -> str:
    """Return a signed difference of fractions, with a true minus: −0.56, +0.02, 0.00."""
    if math.isnan(value):
        return UNDEFINED
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return text
    return f"{MINUS if value < 0 else '+'}{text}"


def percent(value: float) -> str:
    """Return a fraction as whole per cent, with a no-break space: 41 %."""
    return UNDEFINED if math.isnan(value) else f"{100 * value:.0f}\u00a0%"


def points(value: float) -> str:
    """Return a difference of fractions as unsigned whole percentage points: 15 points."""
    if math.isnan(value):
        return f"{UNDEFINED} points"
    whole = f"{100 * abs(value):.0f}"
    return f"{whole}\u00a0point{'' if whole == '1' else 's'}"


def limit_points(value: float) -> str:
    """Return a limit in percentage points, with decimals if it has any: 10 points, 2.5 points."""
    shown = f"{100 * value:.3g}"
    return f"{shown}\u00a0point{'' if shown == '1' else 's'}"


def signed_points(value: float) -> str:
    """Return a difference of fractions as signed whole percentage points: −1 point."""
    sign = MINUS if _whole(value).startswith(MINUS) else ""
    return f"{sign}{points(value)}"


def signed_tenths(value: float) -> str:
    """Return a difference of fractions in signed percentage points, to a tenth: +11.8, 0.0."""
    return change(100 * value, 1)


def tenths(value: float) -> str:
    """Return a fraction in percentage points without sign, to a tenth: 2.5."""
    return UNDEFINED if math.isnan(value) else f"{100 * abs(value):.1f}"


def probability(value: float) -> str:
    """Return a p-value: 0.0070, 0.46, or < 0.0001."""
    if math.isnan(value):
        return UNDEFINED
    if value < 1e-4:
        return "<\u00a00.0001"
    return f"{value:.4f}" if value < 0.1 else f"{value:.2f}"


def span(low: float, high: float, digits: int) -> str:
    """Return an interval of signed numbers: −1.2 to +3.4."""
    if math.isnan(low) or math.isnan(high):
        return UNDEFINED
    return f"{change(low, digits)} to {change(high, digits)}"


def interval(low: float, high: float) -> str:
    """Return an interval of differences in signed whole percentage points: −3 to 55."""
    if math.isnan(low) or math.isnan(high):
        return "no interval"
    return f"{_whole(low)} to {_whole(high)}"


def _whole(value: float) -> str:
    text = f"{100 * abs(value):.0f}"
    return f"{MINUS}{text}" if value < 0 and text != "0" else text


def people(count: int) -> str:
    """Return a count of people: 1 person, 9 people."""
    return f"{count}\u00a0{'person' if count == 1 else 'people'}"
