"""Retention of a stream: logical segments, cut and deleted as in Apache Kafka 4.3, give its new log start.

A vnode's files hold many streams, so a stream has no files of its own to delete. A topic's `segment.bytes`,
`segment.ms`, `retention.ms` and `retention.bytes` are observed by cutting the stream into the segments that
Kafka would have made, and moving its log start over whole ones.

    a batch begins a new segment     when it no longer fits into segment.bytes, or
                                     when its timestamp is more than segment.ms after that of the segment's
                                     first batch (if that has none, the times of append are compared), or
                                     when its offset is more than 2^31 - 1 above the segment's first
    oldest segments go, in turn      while they lie below the log start,
                                     then while the rest without them is still retention.bytes or more,
                                     then while their largest timestamp is older than retention.ms
    none goes                        that reaches above the high watermark; the newest may go too

Times are milliseconds of the wall clock, as in records; a limit of -1 means none. Not followed:
segment.jitter.ms, and rolling because an index file is full. `wal.maintenance` finds the files that no stream
needs any more.
Source: UnifiedLog.deleteOldSegments, LogSegment.shouldRoll, LogSegment.timeWaitedForRoll.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

NO_TIME = -1

# A segment's index holds offsets relative to its first as int32.
_RELATIVE_OFFSET_MAX = 2**31 - 1


class Run(NamedTuple):
    """One batch of the stream, or several that were appended together, in offset order.

    `appended_ms` counts only where timestamps are negative, in place of the times of Kafka's files; without
    it, such records are never too old.
    """

    base_offset: int
    next_offset: int
    size_bytes: int
    max_timestamp: int
    appended_ms: int = NO_TIME


class RollPolicy(NamedTuple):
    """The limits of a segment: `segment.bytes` and `segment.ms` of the topic."""

    segment_bytes: int
    segment_ms: int


class RetentionPolicy(NamedTuple):
    """The limits of retention: `retention.bytes` and `retention.ms` of a topic that deletes; -1: no limit."""

    retention_bytes: int
    retention_ms: int


class LogicalSegment:
    """A segment for which Kafka would have a file."""

    __slots__ = (
        "appended_ms",
        "base_offset",
        "created_ms",
        "first_timestamp",
        "max_timestamp",
        "next_offset",
        "size_bytes",
    )

    def __init__(self, first: Run) -> None:
        self.base_offset = first.base_offset
        self.next_offset = first.next_offset
        self.size_bytes = first.size_bytes
        self.first_timestamp = first.max_timestamp
        self.max_timestamp = first.max_timestamp
        self.created_ms = first.appended_ms
        self.appended_ms = first.appended_ms

    def add(self, run: Run) -> None:
        """Add the segment's newest run."""
        self.next_offset = run.next_offset
        self.size_bytes += run.size_bytes
        self.max_timestamp = max(self.max_timestamp, run.max_timestamp)
        self.appended_ms = run.appended_ms

    def rolls_before(self, run: Run, policy: RollPolicy) -> bool:
        """Return whether the run, taken as one batch, begins a new segment."""
        if self.size_bytes + run.size_bytes > policy.segment_bytes:
            return True
        if run.next_offset - 1 - self.base_offset > _RELATIVE_OFFSET_MAX:
            return True
        if self.first_timestamp >= 0:
            return run.max_timestamp - self.first_timestamp > policy.segment_ms
        return run.appended_ms - self.created_ms > policy.segment_ms

    @property
    def newest_ms(self) -> int:
        """The time from which the segment's age counts; NO_TIME when it is unknown."""
        return self.max_timestamp if self.max_timestamp >= 0 else self.appended_ms


class LogicalSegments:
    """The segments of one stream, oldest first.

    Made anew from the stream's extents, or kept and extended: a later change of the roll policy then leaves
    the old segments as they are, as in Kafka.
    """

    __slots__ = ("segments",)

    def __init__(self) -> None:
        self.segments: list[LogicalSegment] = []

    def add(self, run: Run, policy: RollPolicy) -> None:
        """Add the stream's next batch, or a run that `takes_whole`."""
        if self.segments and not self.segments[-1].rolls_before(run, policy):
            self.segments[-1].add(run)
        else:
            self.segments.append(LogicalSegment(run))

    def takes_whole(self, run: Run, policy: RollPolicy) -> bool:
        """Return whether no batch of the run begins a new segment, so that the run need not be opened."""
        return bool(self.segments) and not self.segments[-1].rolls_before(run, policy)

    def add_all(
        self, runs: Iterable[Run], policy: RollPolicy, *, batches_of: Callable[[Run], Iterable[Run]]
    ) -> None:
        """Add runs, using `batches_of` to open those in which a segment may begin."""
        for run in runs:
            if self.takes_whole(run, policy):
                self.segments[-1].add(run)
            else:
                for batch in batches_of(run):
                    self.add(batch, policy)

    def delete_old(
        self, policy: RetentionPolicy, *, log_start: int, log_end: int, high_watermark: int, now_ms: int
    ) -> int:
        """Drop the segments that are due for deletion, and return the stream's new log start.

        `log_end` is the offset of the next record. If the log start then cannot be moved, this object is
        no longer valid.
        """
        if not self.segments:
            return log_start
        ends = [segment.base_offset for segment in self.segments[1:]] + [log_end]
        visible = sum(end <= high_watermark for end in ends)
        gone = 0
        while gone < min(visible, len(ends) - 1) and ends[gone] <= log_start:
            gone += 1
        gone = self._over_size(policy.retention_bytes, gone, visible)
        gone = self._over_age(policy.retention_ms, gone, visible, now_ms)
        if gone:
            log_start = max(log_start, ends[gone - 1])
            del self.segments[:gone]
        return log_start

    def _over_size(self, retention_bytes: int, gone: int, visible: int) -> int:
        if retention_bytes < 0:
            return gone
        excess = sum(segment.size_bytes for segment in self.segments[gone:]) - retention_bytes
        while gone < visible and excess >= self.segments[gone].size_bytes:
            excess -= self.segments[gone].size_bytes
            gone += 1
        return gone

    def _over_age(self, retention_ms: int, gone: int, visible: int, now_ms: int) -> int:
        if retention_ms < 0:
            return gone
        while gone < visible:
            newest_ms = self.segments[gone].newest_ms
            if newest_ms < 0 or now_ms - newest_ms <= retention_ms:
                break
            gone += 1
        return gone
