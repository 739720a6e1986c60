"""Changes of producers that are not durable yet: what was there before each of them."""

from __future__ import annotations

from collections.abc import Reversible
from typing import NamedTuple

from wal.transactions import NO_OFFSET


class Change(NamedTuple):
    """The data to undo one change: the state before it, and the marker that was appended, if it was one."""

    stream_id: int
    producer_id: int
    before: bytes | None
    marker_offset: int = NO_OFFSET


def undone_in(
    stream_ids: frozenset[int], changes: Reversible[Change]
) -> tuple[dict[int, dict[int, bytes | None]], dict[int, int]]:
    """Return the states that changed producers of some streams had before, and the first marker of each.

    Both are by stream; a state of None: the producer was not known.
    """
    states: dict[int, dict[int, bytes | None]] = {}
    markers: dict[int, int] = {}
    for change in reversed(changes):
        if change.stream_id not in stream_ids:
            continue
        states.setdefault(change.stream_id, {})[change.producer_id] = change.before
        if change.marker_offset != NO_OFFSET:
            markers[change.stream_id] = change.marker_offset
    return states, markers
