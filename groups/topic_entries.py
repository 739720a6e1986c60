"""Arrays of topics with partitions in records of groups, in bytes.

A member may have 20,000 topics, and most of them have the same partitions: each kind of list is encoded once.

    array := length + 1, entries        entry := topic id [16], partitions [length + 1, int32 each], no tags
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable
from itertools import chain
from operator import attrgetter
from typing import Final
from uuid import UUID

from groups.assignment import Assignment
from protocol.parts import joined_parts
from protocol.primitives import write_uvarint

NO_TAGS: Final = b"\0"
_ID_BYTES: Final = 16
_SHORT: Final = [bytes((size + 1,)) for size in range(0x7F)]
"""The lengths of short names, as they stand before them."""


def topic_entries(assignment: Assignment) -> bytes:
    """Return the array of the topics, each with its partitions in order."""
    made = {indexes: partitions_entry(indexes) for indexes in set(assignment.values())}
    rests = map(made.__getitem__, assignment.values())
    return array_of(len(assignment), chain.from_iterable(zip(ids_of(assignment), rests, strict=True)))


def array_of(count: int, parts: Iterable[bytes]) -> bytes:
    """Return an array of so many entries, which are in these parts."""
    head = bytearray()
    write_uvarint(head, count + 1)
    return bytes(head) + joined_parts(parts)


def ids_of(topics: Iterable[UUID]) -> list[bytes]:
    """Return the bytes of the ids."""
    return [number.to_bytes(_ID_BYTES, "big") for number in map(attrgetter("int"), topics)]


def partitions_entry(indexes: Collection[int]) -> bytes:
    """Return the partitions in order, and the end of their entry."""
    return array_of(len(indexes), (struct.pack(f">{len(indexes)}i", *sorted(indexes)), NO_TAGS))


def name_entry(name: str) -> bytes:
    """Return the name of a topic."""
    data = name.encode()
    return _SHORT[len(data)] + data if len(data) < len(_SHORT) else array_of(len(data), (data,))
