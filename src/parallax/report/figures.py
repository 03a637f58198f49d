"""A JSON object whose every missing or strange value is an error that names its place."""

import math
from collections.abc import Mapping
from typing import Any

from parallax.errors import DataError


class Figures:
    """The values of a JSON object by their keys, from the outermost on; null is undefined.

    `source` is the file, and the keys that led here.

    Raises:
        DataError: in every method, where a value is missing or of another kind.
    """

    def __init__(self, values: Any, source: str) -> None:
        if not isinstance(values, Mapping):
            raise DataError(f"{source}: {type(values).__name__}: want a JSON object")
        self._values = values
        self._source = source

    @property
    def names(self) -> tuple[str, ...]:
        """The keys, in the file's order."""
        return tuple(self._values)

    def has(self, *keys: str) -> bool:
        """Tell whether there is a value that is not null."""
        here: Any = self._values
        for key in keys:
            here = here.get(key) if isinstance(here, Mapping) else None
        return here is not None

    def part(self, *keys: str) -> "Figures":
        """Return an object."""
        return Figures(self._at(keys), self._place(keys))

    def parts(self, *keys: str) -> "dict[str, Figures]":
        """Return the objects that an object holds, by key."""
        found = self.part(*keys)
        return {name: found.part(name) for name in found.names}

    def number(self, *keys: str) -> float:
        """Return a number; null is NaN."""
        value = self._at(keys)
        return math.nan if value is None else float(self._require(keys, value, int | float))

    def numbers(self, *keys: str) -> dict[str, float]:
        """Return the numbers that an object holds, by key; null is NaN."""
        found = self.part(*keys) if keys else self
        return {name: found.number(name) for name in found.names}

    def count(self, *keys: str) -> int:
        """Return a whole number."""
        return int(self._require(keys, self._at(keys), int))

    def text(self, *keys: str) -> str:
        """Return a text; null is the empty one."""
        value = self._at(keys)
        return "" if value is None else str(self._require(keys, value, str))

    def flag(self, *keys: str) -> bool:
        """Return true or false."""
        value = self._at(keys)
        if not isinstance(value, bool):
            raise self._wrong(keys, value)
        return value

    def list(self, *keys: str) -> tuple[Any, ...]:
        """Return the entries of a list."""
        return tuple(self._require(keys, self._at(keys), list))

    def _at(self, keys: tuple[str, ...]) -> Any:
        here: Any = self._values
        for depth, key in enumerate(keys):
            if not isinstance(here, Mapping) or key not in here:
                place = self._place(keys[: depth + 1])
                raise DataError(f"{place}: is missing; run `dvc repro` again")
            here = here[key]
        return here

    def _require(self, keys: tuple[str, ...], value: Any, kind: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, kind):
            raise self._wrong(keys, value)
        return value

    def _wrong(self, keys: tuple[str, ...], value: Any) -> DataError:
        return DataError(
            f"{self._place(keys)}: {value!r} is of another kind; run `dvc repro` again"
        )

    def _place(self, keys: tuple[str, ...]) -> str:
        return ": ".join((self._source, ".".join(keys))) if keys else self._source
