"""The parameters of the run as both halves list them."""

from collections.abc import Mapping


def list_entries(values: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    """Return nested parameters as (dotted key, value) pairs in their order."""
    entries: list[tuple[str, str]] = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            entries += list_entries(value, f"{prefix}{key}.")
        else:
            entries.append((f"{prefix}{key}", _show(value)))
    return entries


def _show(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "null" if value is None else str(value)
