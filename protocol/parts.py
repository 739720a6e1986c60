"""Long lists, a part at a time, for threads beside the event loop.

A call of compiled code over 20,000 names (`sorted`, `list(map(...))`) keeps the interpreter's lock for up to
20 ms. The loop gives the lock away with each system call, and may wait so long each time. Between two calls
it has its turn; a part of a thousand takes about a millisecond.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, TypeVar

T = TypeVar("T")

PART: Final = 1_000
"""The items of a part."""


def parts_of(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield the items in lists of at most `PART`, in their order."""
    left = iter(items)
    while part := list(islice(left, PART)):
        yield part


def joined_parts(pieces: Iterable[bytes]) -> bytes:
    """Return all pieces as one."""
    found = bytearray()
    for part in parts_of(pieces):
        found += b"".join(part)
    return bytes(found)


def sorted_names_of(names: Iterable[str]) -> list[str]:
    """Return the names sorted; the last call only merges what is in order, in a fourth of the time."""
    found: list[str] = []
    for part in parts_of(names):
        found += sorted(part)
    found.sort()
    return found
