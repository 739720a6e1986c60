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

A walk goes from the log start to the first record that keeps its segment whatever follows, and the next walk
continues there. So each extent is looked at about once in its life, when it is about to expire.

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

    Kept and extended, they do not change with a later change of the roll policy, as in Kafka.
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


class Oldest:
    """The logical segment at a stream's log start, as far as it has been walked; walks continue from there.

    The log start may move on inside it: the segment still counts whole, as a file of Kafka's does.
    """

    __slots__ = ("end_offset", "hidden_bytes", "policy", "segment")

    def __init__(self, policy: RollPolicy) -> None:
        self.policy = policy
        self.segment: LogicalSegment | None = None
        self.end_offset: int | None = None
        """The base offset of the segment after it; None while it may still grow."""
        self.hidden_bytes = 0
        """The part of its first extent that belongs to the segment before it."""

    def holds(self, log_start: int) -> bool:
        """Return whether the log start lies in what was walked, so that a walk can continue."""
        segment = self.segment
        if segment is None:
            return False
        end = segment.next_offset if self.end_offset is None else self.end_offset
        return segment.base_offset <= log_start < end

    @property
    def next_offset(self) -> int | None:
        """The offset at which to continue; None before the first extent."""
        if self.end_offset is not None:
            return self.end_offset
        return self.segment.next_offset if self.segment is not None else None


class Walk:
    """One walk over the oldest segments of a stream, an extent at a time."""

    def __init__(
        self,
        oldest: Oldest,
        policy: RetentionPolicy,
        *,
        log_start: int,
        size_bytes: int,
        now_ms: int,
        limit: Callable[[], int],
        batches_of: Callable[[Run], Iterable[Run]],
    ) -> None:
        """Walk on from `oldest`, which keeps the result.

        `size_bytes` is the stream's size from the beginning of the oldest segment, `limit` the offset above
        which records are kept for another reason; it is asked for when something is due.
        """
        self._oldest = oldest
        self._policy = policy
        self._excess = size_bytes - policy.retention_bytes if policy.retention_bytes >= 0 else -1
        self._now_ms = now_ms
        self._limit = limit
        self._batches_of = batches_of
        self.log_start = log_start
        self.is_over = False
        """Whether nothing further may go now, so that no further extent need be looked at."""
        self.is_held = False
        """Whether more would have gone without the limit."""
        self._judge()

    def take(self, runs: Iterable[Run]) -> int:
        """Walk over the stream's next extents, no more than are needed; return their number."""
        taken = 0
        for run in runs:
            taken += 1
            segment = self._oldest.segment
            if segment is None or segment.rolls_before(run, self._oldest.policy):
                self._open(run)
            else:
                segment.add(run)
            self._judge()
            if self.is_over:
                break
        return taken

    def end(self, *, log_end: int, high_watermark: int) -> None:
        """End the walk at the end of the data: the newest segment may go unless something follows it."""
        segment = self._oldest.segment
        if self.is_over or segment is None:
            return
        self.is_over = True
        if log_end == high_watermark and self._goes(segment) and self._release(log_end):
            self._oldest.segment = None

    def due_ms(self) -> int | None:
        """Return the earliest time of day at which the oldest segment may be too old.

        None when it has no time yet: nothing expires before something is appended.
        """
        segment, retention_ms = self._oldest.segment, self._policy.retention_ms
        if segment is None or retention_ms < 0 or segment.newest_ms < 0:
            return None
        return segment.newest_ms + retention_ms + 1

    def _open(self, run: Run) -> None:
        """Walk over the batches of an extent in which a segment may begin."""
        oldest = self._oldest
        batches = list(self._batches_of(run))
        rest = sum(batch.size_bytes for batch in batches)
        for batch in batches:
            segment = oldest.segment
            if segment is None or segment.rolls_before(batch, oldest.policy):
                if segment is not None:
                    oldest.end_offset = batch.base_offset
                    self._judge()
                    if self.is_over:
                        return
                oldest.segment, oldest.end_offset = LogicalSegment(batch), None
                oldest.hidden_bytes = run.size_bytes - rest
            else:
                segment.add(batch)
            rest -= batch.size_bytes

    def _judge(self) -> None:
        """Let the oldest segment go if it is whole and due; end the walk if it stays whatever follows."""
        oldest, segment = self._oldest, self._oldest.segment
        if segment is None:
            return
        if oldest.end_offset is None:
            may_age = segment.newest_ms < 0 and self._policy.retention_ms >= 0
            self.is_over = not (self._goes(segment) or may_age)
        elif self._goes(segment) and self._release(oldest.end_offset):
            oldest.segment = oldest.end_offset = None
            self._excess -= segment.size_bytes
        else:
            self.is_over = True

    def _goes(self, segment: LogicalSegment) -> bool:
        if self._excess >= segment.size_bytes:
            return True
        retention_ms, newest_ms = self._policy.retention_ms, segment.newest_ms
        return 0 <= retention_ms < self._now_ms - newest_ms and newest_ms >= 0

    def _release(self, end_offset: int) -> bool:
        """Move the log start up to there, as far as the limit allows; return whether it does."""
        limit = self._limit()
        self.log_start = max(self.log_start, min(end_offset, limit))
        self.is_held = limit < end_offset
        return not self.is_held
