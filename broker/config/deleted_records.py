"""Single records that were deleted for share groups (`kawal.share.deleted` of a topic).

entry := partition ":" offset | partition ":" first "-" last
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

ENTRIES_MAX: Final = 1_000
"""The most entries of a topic: each fetch of a share group compares what it delivers with them."""

_ENTRY: Final = re.compile(r"(\d{1,9}):(\d{1,18})(?:-(\d{1,18}))?\Z")

Ranges = list[tuple[int, int]]


def problem_of(entries: Sequence[str]) -> str | None:
    """Return what is wrong with the entries; None if nothing is."""
    if len(entries) > ENTRIES_MAX:
        return f"{len(entries)} entries; {ENTRIES_MAX} are the most: delete older records with DeleteRecords"
    for number, entry in enumerate(entries, start=1):
        found = _ENTRY.match(entry)
        if found is None or (found[3] is not None and int(found[3]) < int(found[2])):
            return f"entry {number}, {entry!r}, is not PARTITION:OFFSET or PARTITION:FIRST-LAST"
    return None


@lru_cache(maxsize=1_000)
def deleted_in(entries: tuple[str, ...], partition: int) -> Ranges:
    """Return the deleted ranges of offsets in a partition, in order and apart from each other."""
    found: Ranges = []
    for entry in entries:
        match = _ENTRY.match(entry)
        assert match is not None, entry
        if int(match[1]) == partition:
            found.append((int(match[2]), int(match[3] or match[2])))
    merged: Ranges = []
    for first, last in sorted(found):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def without(ranges: Sequence[tuple[int, int]], deleted: Ranges) -> Ranges:
    """Return what is left of ranges of offsets; both are in order and apart from each other."""
    left: Ranges = []
    number = 0
    for first, last in ranges:
        while number < len(deleted) and deleted[number][1] < first:
            number += 1
        # A deleted range may go on in the next one.
        for at in range(number, len(deleted)):
            low, high = deleted[at]
            if low > last:
                break
            if first < low:
                left.append((first, low - 1))
            first = high + 1
        if first <= last:
            left.append((first, last))
    return left
