"""A name-to-object table that refuses doubles and suggests near names."""

import difflib
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from parallax.errors import ParamsError

T = TypeVar("T")


class Registry(Generic[T]):
    """Objects of one kind by name, in the order in which they were registered."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._entries: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that stores its object under `name`.

        Raises:
            ValueError: the name is taken.
        """

        def store(entry: T) -> T:
            if name in self._entries:
                raise ValueError(f"{self._kind} {name!r} is registered twice")
            self._entries[name] = entry
            return entry

        return store

    def __getitem__(self, name: str) -> T:
        """Return the object stored under `name`.

        Raises:
            ParamsError: no such name; the message lists the names and the nearest one.
        """
        try:
            return self._entries[name]
        except KeyError:
            near = difflib.get_close_matches(name, self._entries, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            names = ", ".join(self._entries)
            raise ParamsError(
                f"unknown {self._kind} {name!r}: choose one of {names}{hint}"
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)
