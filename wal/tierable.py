"""The search for closed segments that may leave the disk, because none of their streams wants them there.

A segment holds batches of many topics. It may go when each stream with live records in it

    is of a topic whose records may be in the object store alone, and
    has none there younger than its local.retention.ms, or has local.retention.bytes in later local segments

and when no start can need its file: the older of the two checkpoints covers it. Whether the object store has
it is not looked at here. What a segment holds does not change any more: its index is opened once for that.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple

from wal.index import SegmentIndex
from wal.locate import index_of
from wal.segment import Segment
from wal.state import LogState

INDEXES_PER_STEP = 8
"""Indexes that are opened between two pauses: 1 to 2 ms each for 64 MiB of small batches."""


class LocalPolicy(NamedTuple):
    """The limits of what a topic keeps on the disk; -1: none, so that this limit lets nothing go."""

    retention_ms: int
    retention_bytes: int


PolicyOf = Callable[[int], LocalPolicy | None]
"""The policy of a stream; None if its records must stay on the disk."""


class Part(NamedTuple):
    """One stream's records in a segment."""

    stream_id: int
    end_offset: int
    size_bytes: int
    newest_ms: int
    """The largest timestamp; negative without any."""


def may_leave(state: LogState, segment: Segment) -> bool:
    """Return whether a segment could leave the disk, whatever its streams want."""
    return (
        segment.sealed
        and segment is not state.active
        and segment.remote is None
        and not segment.retired
        and segment.base_version not in state.retired_bases
        and segment.base_version not in state.retiring_bases
        and segment.damage is None
        and segment.index_stored
        and segment not in state.to_rebuild
        and state.refusal() is None
    )


class TierSearch:
    """The search in one log."""

    def __init__(self, state: LogState) -> None:
        self._state = state
        self._parts: dict[int, list[Part]] = {}
        """What closed local segments hold, by base version."""
        self.waits_for_mark = False
        """Whether the last search found a segment that only a checkpoint holds back."""

    def steps(
        self, policy_of: PolicyOf, *, wall_ms: int, mark_sequence: int
    ) -> Generator[None, None, list[int]]:
        """Return the base versions of the segments that may go, oldest first; pause after some indexes.

        `mark_sequence`: the first frame that the older checkpoint does not cover.
        Raises: DiskError, WalError.
        """
        state, later_bytes, found = self._state, dict[int, int](), list[int]()
        local = [segment for segment in state.segments.all if segment.remote is None]
        opened, self.waits_for_mark = 0, False
        for segment in reversed(local):
            if segment.base_version not in self._parts and segment.index is None:
                opened += 1
                if not opened % INDEXES_PER_STEP:
                    yield
            parts = self._parts_of(segment)
            if may_leave(state, segment) and all(
                self._lets_go(part, policy_of, later_bytes, wall_ms) for part in parts
            ):
                if segment.next_sequence <= mark_sequence:
                    found.append(segment.base_version)
                else:
                    self.waits_for_mark = True
            for part in parts:
                later_bytes[part.stream_id] = later_bytes.get(part.stream_id, 0) + part.size_bytes
        self._parts = {
            segment.base_version: self._parts[segment.base_version]
            for segment in local
            if segment.base_version in self._parts
        }
        return found[::-1]

    def _parts_of(self, segment: Segment) -> list[Part]:
        known = self._parts.get(segment.base_version)
        if known is None:
            known = parts_in(index_of(self._state, segment))
            if segment.sealed:
                self._parts[segment.base_version] = known
        return known

    def _lets_go(self, part: Part, policy_of: PolicyOf, later_bytes: dict[int, int], wall_ms: int) -> bool:
        stream = self._state.streams.get(part.stream_id)
        if stream is None or stream.data_start >= part.end_offset:
            return True  # nothing of it is read there any more
        policy = policy_of(part.stream_id)
        if policy is None:
            return False
        is_old = policy.retention_ms >= 0 and 0 <= part.newest_ms < wall_ms - policy.retention_ms
        return is_old or 0 <= policy.retention_bytes <= later_bytes.get(part.stream_id, 0)


def parts_in(index: SegmentIndex) -> list[Part]:
    """Return what a segment has of each stream."""
    found = []
    for stream_id in index.stream_ids():
        slots = index.slots(stream_id)
        if slots:
            end = index.base[slots[-1]] + index.count[slots[-1]]
            newest_ms, _ = index.newest_from(stream_id, 0)
            found.append(Part(stream_id, end, index.bytes_of(slots), newest_ms))
    return found
