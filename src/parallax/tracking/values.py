"""What MLflow accepts as names and values, and how nested results become flat ones."""

import json
import posixpath
import re
from collections.abc import Mapping

from parallax.errors import ParallaxError

Scalar = str | int | float | bool | None

_NAME_LIMIT = 250
_NAME = re.compile(r"[\w\-. :/]+", re.ASCII)


def check_name(name: str) -> None:
    """Refuse a metric, parameter or artifact name that MLflow would refuse.

    Raises:
        ParallaxError: the name has another character than letters, digits and `_ - . : /` or
            space, is longer than 250 characters, or is no normal relative path.
    """
    if not _NAME.fullmatch(name) or len(name) > _NAME_LIMIT:
        raise ParallaxError(
            f"tracking name {name!r}: use 1 to {_NAME_LIMIT} of letters, digits, spaces and"
            " _ - . : / (MLflow refuses @ = ( ) %); rename it"
        )
    if posixpath.normpath(name) != name or name.startswith(("/", "..")) or name == ".":
        raise ParallaxError(
            f"tracking name {name!r}: '/' separates non-empty parts, e.g. 'loss/forget_image'"
        )


def param_text(value: Scalar) -> str:
    """Return a parameter's text; equal numbers have equal texts (1 and 1.0 are both "1")."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def param_texts(params: Mapping[str, Scalar]) -> dict[str, str]:
    """Return parameters as texts.

    Raises:
        ParallaxError: a name is one that MLflow refuses.
    """
    for name in params:
        check_name(name)
    return {name: param_text(value) for name, value in params.items()}


def flatten(values: Mapping[str, object], prefix: str = "") -> dict[str, Scalar]:
    """Return nested mappings as one, keys joined by dots; a list becomes its JSON text."""
    flat: dict[str, Scalar] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{key}."))
        elif isinstance(value, str | int | float | None):
            flat[f"{prefix}{key}"] = value
        else:
            flat[f"{prefix}{key}"] = json.dumps(value)
    return flat


def numbers(values: Mapping[str, object]) -> dict[str, float]:
    """Return the numbers of nested results under their flat names; NaN stands for null."""
    return {
        key: float("nan") if value is None else float(value)
        for key, value in flatten(values).items()
        if not isinstance(value, bool | str)
    }
