"""Time travel, replay and snapshots: another view between two bounds, at a pace, or beginning with its state.

A window wraps a view of any other kind (an alias, a query, a database).  Its bounds are its log start and its
end; a time is looked up once there are records at or after it.  Pace: broker/view_topics/view_pacing.py; the
state with which readers begin: broker/view_topics/view_snapshots.py.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from broker.config.view_bounds import Bound, parse_bound, parse_speed
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Offload, WaitingSteps, all_here, in_thread, run_here
from broker.storage.partition import Counted
from broker.storage.timestamps import first_steps, newest_of
from broker.view_topics.view_compaction import CompactedSource
from broker.view_topics.view_pacing import Anchor, Pacing
from broker.view_topics.view_partition import ViewPartition, ViewRead
from broker.view_topics.view_snapshots import ReaderSnapshots
from protocol.record_reader import iter_records
from protocol.record_writer import encode_batch
from protocol.records import BatchHeader, iter_batches, read_batch_header
from wal.lookup import TimeHit
from wal.segment import FileRange

if TYPE_CHECKING:
    from collections.abc import Generator

    from broker.catalogue.topics import Topic
    from broker.loop.slices import Until
    from broker.view_topics.member_view import MemberView
    from broker.view_topics.view_host import ViewHost
    from broker.view_topics.view_slices import SliceBudget
    from protocol.record_reader import Record
    from wal.lookup import StreamExtent

NOT_CHECKED: Final = -1

PACED_BYTES: Final = 64 << 10
"""Bytes that one fetch of a replay reads, most of which will not be due."""


class WindowPartition(ViewPartition):
    """One partition of a view, seen through bounds or at a pace."""

    __slots__ = (
        "_checked", "_checked_replacements", "_compacted", "_end", "_first", "_floor", "_from", "_pacing",
        "_replacements", "_snapshots", "_to", "_was_to_come", "inner",
    )  # fmt: skip

    def __init__(
        self, host: ViewHost, topic: Topic, index: int, inner: ViewPartition, pacing: Pacing | None
    ) -> None:
        super().__init__(host, topic, index, vnode=inner.vnode, stream_id=inner.stream_id)
        # Fetches that wait for the window are woken by the inner view.
        self._wait_key = inner.wait_key
        self.inner = inner
        self._pacing = pacing
        self._snapshots = host.shared(ReaderSnapshots) if self.definition.snapshot else None
        self._from = parse_bound(self.definition.start) if self.definition.start else None
        self._to = parse_bound(self.definition.end) if self.definition.end else None
        # Whether readers may have been told of offsets before the first that is shown: where the log ended
        # then is not known after a restart.
        self._was_to_come = (
            self._from is not None and not self._from.is_offset and self._from.value > topic.created_ms
        )
        # The offsets of the bounds, as soon as they are known.
        self._first: int | None = None
        self._end: int | None = None
        # If no record has reached `_from` yet: all records of the first look are before it.
        self._floor = 0
        # The end of the source at the last look for the bounds, and how often records had been replaced.
        self._checked = NOT_CHECKED
        self._compacted = CompactedSource(inner.vnode, inner.stream_id)
        self._replacements = self._checked_replacements = 0

    def close(self) -> None:
        """Free the memory of the inner view, and of snapshots."""
        if self._snapshots is not None:
            self._snapshots.forget_all(self)
        self.inner.close()

    # --- bounds ----------------------------------------------------------------------------------------

    def settle(self) -> WaitingSteps:
        """Look the bounds up, a slice at a time and in threads: a time may lie in any batch, or in none.

        Raises: RequestError, as a lookup by time.
        """
        yield from self.inner.settle()
        yield from self._look_up(self.host.loop.scheduler.offload)

    def _check_bounds(self) -> None:
        """Look the bounds up now, if those that could wait have not."""
        if not self._are_bounds_known():
            all_here(self._look_up(run_here))

    @property
    def is_settled(self) -> bool:
        """Whether its bounds are known, and the end of what it shows."""
        return self.inner.is_settled and self._are_bounds_known()

    def _are_bounds_known(self) -> bool:
        """Whether nothing has come since the last look at the times that no record had reached before.

        Compaction may have removed the record that a time had led to: all times are looked up again.
        """
        if self._from is None and self._to is None:
            return True
        self._replacements += self._compacted.is_replaced()
        return self._checked == self.inner.high_watermark and self._checked_replacements == self._replacements

    def _look_up(self, offload: Offload) -> WaitingSteps:
        if self._are_bounds_known():
            return
        checked, replacements = self.inner.high_watermark, self._replacements
        is_replaced = replacements != self._checked_replacements
        first, end = self._first, self._end
        if first is None or is_replaced:
            first = yield from self._offset_of(self._from, offload)
        if end is None or is_replaced:
            end = yield from self._offset_of(self._to, offload)
        self._first, self._end = first, end
        if self._checked == NOT_CHECKED:
            self._floor = checked
        self._checked, self._checked_replacements = checked, replacements

    def _offset_of(self, bound: Bound | None, offload: Offload) -> Generator[Until | None, None, int | None]:
        """Return the offset of a bound; None if it is not known, or there is no bound."""
        if bound is None:
            return None
        if bound.is_offset:
            return bound.value
        _, offset = yield from first_steps(self.inner, bound.value, offload)
        return offset if offset >= 0 else None

    @property
    def log_start(self) -> int:
        """The first offset that can be fetched.

        That is the source's own if the window was opened before its time: no reader that has waited since
        then is told that its offset is out of range, with which those that read the latest lose records.
        """
        begin = self.begin
        if self._from is None or self._from.is_offset:
            return begin
        return self.inner.log_start if self._was_to_come else min(begin, self._floor)

    @property
    def begin(self) -> int:
        """The first offset that is shown; the end while it is not known."""
        if self._from is None:
            return self.inner.log_start
        self._check_bounds()
        return max(self.inner.log_start, self._floor if self._first is None else self._first)

    @property
    def high_watermark(self) -> int:
        """The offset after the last one that can be fetched."""
        end = self.inner.high_watermark
        if self._from is None and self._to is None:
            return end
        self._check_bounds()
        if self._from is not None and self._first is None:
            end = self._floor
        if self._end is not None:
            end = min(end, self._end)
        return max(end, self.log_start)

    @property
    def is_complete(self) -> bool:
        """Whether nothing will ever be added at the end."""
        if self._to is None:
            return False
        self._check_bounds()
        return self._end is not None and self.inner.high_watermark >= self._end

    def time_steps(
        self, timestamp_ms: int, *, from_offset: int, offload: Offload
    ) -> Generator[Until | None, None, TimeHit | None]:
        """Return the first batch from an offset on with a shown record at or after the time."""
        from_offset = max(from_offset, self.begin)
        while True:
            hit = yield from self.inner.time_steps(timestamp_ms, from_offset=from_offset, offload=offload)
            if hit is None or hit.base_offset >= self.high_watermark:
                return None
            shown = yield from self._shown_of(hit)
            if shown is not None and shown.max_timestamp >= timestamp_ms:
                return shown
            from_offset = hit.next_offset
            yield None

    def _shown_of(self, hit: TimeHit) -> Generator[Until | None, None, TimeHit | None]:
        """Return the part of a batch that lies between the bounds; a thread cuts it."""
        first, end = self.begin, self.high_watermark
        if first <= hit.base_offset and hit.next_offset <= end:
            return hit
        return (yield from in_thread(self.host.loop.scheduler.offload, lambda: _between(hit, first, end)))

    def newest_steps(self, offload: Offload) -> Generator[Until | None, None, TimeHit | None]:
        """Return the first batch with the largest timestamp between the bounds.

        Extents that lie between the bounds are compared by their metadata; only the batches at the bounds are
        opened, and over a database the newest ones.
        """
        hit = yield from self.inner.newest_steps(offload)
        first, end = self.begin, self.high_watermark
        if hit is not None and first <= hit.base_offset and hit.next_offset <= end:
            return hit
        if (hits := self.inner.hits_by_time(first, end)) is not None:
            return (yield from newest_of(hits, self._shown_of))
        newest, at_bounds = yield from self._extents_between(first, end)
        best: TimeHit | None = None
        if newest is not None:
            best = yield from self.time_steps(
                newest.max_timestamp, from_offset=newest.base_offset, offload=offload
            )
        for extent in at_bounds:
            above = -1 if best is None else best.max_timestamp + 1
            best = (yield from self._newest_in(extent, above, offload)) or best
        return best

    def _extents_between(
        self, first: int, end: int
    ) -> Generator[Until | None, None, tuple[StreamExtent | None, list[StreamExtent]]]:
        """Return the newest extent between two offsets, and those that lie partly between them."""
        newest: StreamExtent | None = None
        at_bounds: list[StreamExtent] = []
        offset = first
        # A new look for each slice: segments may come and go in between.
        while part := list(islice(self.vnode.log.extents(self.stream_id, offset), PLAIN_ITEMS_PER_STEP)):
            for extent in part:
                if extent.base_offset >= end:
                    return newest, at_bounds
                if extent.base_offset < first or extent.next_offset > end:
                    at_bounds.append(extent)
                elif newest is None or extent.max_timestamp > newest.max_timestamp:
                    newest = extent
            offset = part[-1].next_offset
            yield None
        return newest, at_bounds

    def _newest_in(
        self, extent: StreamExtent, timestamp_ms: int, offload: Offload
    ) -> Generator[Until | None, None, TimeHit | None]:
        """Return the newest of an extent's batches with a record at or after the time."""
        best, from_offset = None, extent.base_offset
        while True:
            hit = yield from self.time_steps(timestamp_ms, from_offset=from_offset, offload=offload)
            if hit is None or hit.base_offset >= extent.next_offset:
                return best
            best, timestamp_ms, from_offset = hit, hit.max_timestamp + 1, hit.next_offset

    def records_between(self, start: int, end: int, *, ranges_max: int) -> Counted:
        """Count what the inner view shows between two offsets."""
        return self.inner.records_between(start, end, ranges_max=ranges_max)

    # --- reading ---------------------------------------------------------------------------------------

    def steps(self, read: ViewRead) -> WaitingSteps:
        """Show the records that lie between the bounds and are due."""
        end = self.high_watermark
        if read.position >= end:
            return
        begin = self.begin
        read.position = max(read.position, min(begin, end))
        if read.position == end:
            return
        max_bytes = read.max_bytes
        if self._pacing is not None:
            read.max_bytes = min(max_bytes, PACED_BYTES)
        shown: ViewPartition | MemberView = self.inner
        if self._snapshots is not None:
            shown = self._snapshots.view_of(self, self.inner, read, begin)
        yield from shown.steps(read)
        read.max_bytes = max_bytes
        if read.position > end:
            _cut(read, end)
        if self._pacing is not None:
            self._pace(read, self._pacing)

    def _pace(self, read: ViewRead, pacing: Pacing) -> None:
        """Remove the records that are not due."""
        anchor = pacing.anchor(read.reader)
        anchor.begin(self.index, read.offset)
        offset = read.offset
        for batch in _batches_of(read):
            header = read_batch_header(batch)
            found = _first_not_due(batch, header, offset, anchor, pacing.speed, read.now_ms)
            if found is not None:
                record, read.due_ms = found
                _cut(read, record.offset)
                break
        anchor.ended(self.index, offset, read.position)

    # --- waiting ---------------------------------------------------------------------------------------

    def began_waiting(self, position: int, now_ms: int) -> None:
        """Watch the source for a fetch that waits at the end; one that waits for a moment is not woken."""
        if position >= self.high_watermark:
            if not self.is_complete:
                self.inner.began_waiting(max(position, self.inner.high_watermark), now_ms)
        elif self._pacing is None:
            self.inner.began_waiting(position, now_ms)

    def catch_up(self, budget: SliceBudget) -> WaitingSteps:
        """Let the inner view catch up; it is the one that is called."""
        yield from self.inner.catch_up(budget)

    def has_news(self, read: ViewRead) -> bool:
        """Whether the reader should learn of its progress at once."""
        return read.due_ms is None and self.inner.has_news(read)


def _between(hit: TimeHit, first: int, end: int) -> TimeHit | None:
    """Return the part of a batch that lies between two offsets."""
    kept = [record for record in iter_records(hit.batch) if first <= record.offset < end]
    if not kept:
        return None
    header = read_batch_header(hit.batch)
    batch = _batch_of(kept, header, min(hit.next_offset, end) - 1)
    largest = read_batch_header(batch).max_timestamp
    return TimeHit(hit.base_offset, min(hit.next_offset, end), largest, memoryview(batch))


def _batches_of(read: ViewRead) -> list[memoryview]:
    data = b"".join(part.read() if isinstance(part, FileRange) else part for part in read.parts)
    return list(iter_batches(data))


def _cut(read: ViewRead, end: int) -> None:
    """Keep the records below `end`, splitting a batch if need be.

    A batch that has no more records for the reader is removed whole: librdkafka takes an answer with only
    records it did not ask for as a sign of a batch that was too large.
    """
    parts: list[bytes | memoryview | bytearray] = []
    for batch in _batches_of(read):
        header = read_batch_header(batch)
        if header.base_offset >= end:
            break
        if header.last_offset < end:
            parts.append(batch)
            continue
        kept = [record for record in iter_records(batch) if read.offset <= record.offset < end]
        if kept:
            parts.append(_batch_of(kept, header, end - 1))
    read.parts = list(parts)
    read.ends_in_batch = bool(parts)
    read.size_bytes = sum(map(len, parts))
    read.position = max(end, read.offset)


def _batch_of(records: list[Record], header: BatchHeader, last_offset: int) -> bytearray:
    """Return a batch of some of the records of another one."""
    stamp = header.max_timestamp if header.is_append_time else None
    return encode_batch(
        records,
        base_offset=header.base_offset,
        last_offset=last_offset,
        leader_epoch=header.leader_epoch,
        append_time_ms=stamp,
    )


def _first_not_due(
    batch: memoryview, header: BatchHeader, offset: int, anchor: Anchor, speed: float, now_ms: int
) -> tuple[Record, int] | None:
    """Return the first record from `offset` on that is not due, with the moment when it will be."""
    if header.is_control or not header.record_count:
        return None
    if anchor.is_running(now_ms) and anchor.due_ms(header.max_timestamp, speed, now_ms) <= now_ms:
        return None
    for record in iter_records(batch):
        if record.offset >= offset:
            due_ms = anchor.due_ms(record.timestamp_ms, speed, now_ms)
            if due_ms > now_ms:
                return record, due_ms
    return None


def windowed(host: ViewHost, topic: Topic, index: int, inner: ViewPartition) -> ViewPartition:
    """Return the partition with the bounds and pace of its view's definition."""
    assert topic.view is not None
    definition = topic.view
    pacing = None
    if definition.speed:
        pacing = host.pacings.setdefault(topic.topic_id, Pacing(parse_speed(definition.speed)))
    return WindowPartition(host, topic, index, inner, pacing)
