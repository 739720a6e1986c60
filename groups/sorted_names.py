"""The names of the topics that a member wants, sorted and encoded before the group hears of them.

A member may name 20,000: a thread sorts them when it has decoded the request, and makes the bytes in which
they stand in the member's record, which together took 12 ms of the event loop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from protocol.parts import sorted_names_of
from protocol.primitives import ReadyStrings

READY_NAMES_MIN: Final = 500
"""Fewer are sorted and encoded in no time."""


class SortedNames(tuple[str, ...]):
    """Names in order, each once; their bytes are there until they are written for the first time.

    What is asked of all of them again and again is known, too: to visit 19,000 that no cache has takes 3 ms.
    """

    ready: ReadyStrings | None = None
    chars = 0
    """The characters of all names."""
    known_hash = 0

    def __hash__(self) -> int:
        """Return the hash that a tuple of these names has."""
        return self.known_hash


def sorted_names(names: Collection[str]) -> tuple[str, ...]:
    """Return the names in order, each once; of many with their bytes."""
    if isinstance(names, SortedNames):
        return names
    if len(names) < READY_NAMES_MIN:
        # A set would lose the order of names that are sorted already.
        return tuple(sorted(dict.fromkeys(names)))
    found = SortedNames(sorted_names_of(dict.fromkeys(names)))
    found.ready = ReadyStrings(found)
    found.chars = sum(map(len, found))
    found.known_hash = tuple.__hash__(found)
    return found


def chars_of(names: Collection[str]) -> int:
    """Return the number of characters in all names."""
    return names.chars if isinstance(names, SortedNames) else sum(map(len, names))


def to_write(names: Iterable[str]) -> list[str]:
    """Return the names for a record, those of `sorted_names` with their bytes, which are kept no longer."""
    if isinstance(names, SortedNames) and names.ready is not None:
        ready, names.ready = names.ready, None
        return ready
    return list(names)
