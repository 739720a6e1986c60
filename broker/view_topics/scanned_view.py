"""The common part of views that scan stored batches and remember what they found.

    steps(read)    a fetch walks over the known ranges from its offset on, and scans those not known yet
    catch_up()     the same at the end of the source, for the fetches that wait there
    look(offset)   implemented by each kind of view: finds what it shows of a stretch of its source

The first fetch to need a stretch scans it; what was found is kept in `EvaluatedRanges` for all.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable
from typing import TYPE_CHECKING, Final

from broker.loop.slices import Until, WaitingSteps
from broker.storage.partition import Counted
from broker.view_topics.framed_batches import SchemaLearning, SchemasMissing
from broker.view_topics.view_cache import Evaluated, EvaluatedRanges
from broker.view_topics.view_host import ViewHost
from broker.view_topics.view_partition import ViewPartition, ViewRead
from broker.view_topics.view_slices import SliceBudget
from protocol.records import BatchHeader
from wal.disk import DiskError
from wal.errors import OffsetOutOfRange, WalError

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.storage.vnode import Vnode
    from views.plan import Plan
    from wal.reader import ReadResult
    from wal.transactions import AbortedTransaction

SCAN_BYTES: Final = 256 << 10
"""Bytes of the source read at a time: reading them from a cold file takes a few milliseconds."""

FETCH_SLICES: Final = 24
"""Slices of work for one fetch before it is answered with its progress: about 100 ms."""

FETCH_MS: Final = 1_000
"""The time after which a fetch is answered once it has made progress: clients give up after 30 s."""

LOOKING_MAX: Final = 4
"""Fetches that scan at the same time.  More would not be quicker, and a batch may take 16 MiB."""

UNITS_OF_KNOWN: Final = 2
"""The cost of passing a known range, in the units of `SliceBudget`; 100,000 may be known."""

EXTENTS_PER_LOOK: Final = 1_000
"""Extents skipped at a time by their times and offsets alone: about 1 ms."""

EARLIEST_MS: Final = -(2**63)

NOWHERE: Final = -1


class ScannedPartition(ViewPartition):
    """One partition of a view that scans its source's batches."""

    __slots__ = ("_source", "_source_key", "ranges", "seen")

    def __init__(
        self, host: ViewHost, topic: Topic, index: int, *, vnode: Vnode, stream_id: int, source_key: Hashable
    ) -> None:
        """Make a partition; `source_key` is the stream's id, or the vnode for a view over all of it."""
        super().__init__(host, topic, index, vnode=vnode, stream_id=stream_id)
        self.ranges = EvaluatedRanges(self.wait_key, host.budget)
        # The offset up to which waiting fetches have been told of new records.
        self.seen = NOWHERE
        self._source_key = source_key
        self._source = host.join(source_key, self.wait_key)

    def close(self) -> None:
        """Free the memory of what was found."""
        self.ranges.clear()
        self.host.leave(self._source_key, self.wait_key)

    def look(self, offset: int, budget: SliceBudget) -> WaitingSteps:
        """Find what is shown of some of the source from `offset` on, at least of the range that holds it.

        Raises: OffsetOutOfRange, WalError, DiskError.
        """
        raise NotImplementedError

    def forget_stale(self) -> None:
        """Forget what was found in records that have been deleted or replaced since."""

    def stored(self, offset: int, max_bytes: int, *, minimum_one: bool = True) -> ReadResult | None:
        """Return the batches at the offset if all are shown as they are stored; None if they must be scanned.

        Raises: OffsetOutOfRange, WalError, DiskError.
        """
        return None

    def recalled(self, offset: int) -> Evaluated | None:
        """Return the range that holds the offset, if other views know that none of it is shown."""
        return None

    def is_easy(self, offset: int) -> bool:
        """Whether other views have done the hard part of looking at the offset."""
        return False

    def leaves_to_others(self, read: ViewRead) -> bool:
        """Whether the records at the read's position are about to be scanned for all waiting fetches."""
        return False

    # --- reading ---------------------------------------------------------------------------------------

    def steps(self, read: ViewRead) -> WaitingSteps:
        """Show the records from the read's offset on.

        Raises:
            OffsetOutOfRange: records below the new log start were deleted while they were being scanned.
            WalError, DiskError: the source cannot be read.
        """
        budget = SliceBudget(self.host.loop.stats.clock_ns)
        slices, end, looked_at = 0, self.high_watermark, -1
        while not read.is_full and (read.position < end or read.position < (end := self.high_watermark)):
            self.forget_stale()
            must = read.minimum_one and not read.parts
            whole = self.stored(read.position, read.max_bytes - read.size_bytes, minimum_one=must)
            if whole is not None:
                read.add_stored(whole)
                return
            entry = self.ranges.find(read.position) or self.recalled(read.position)
            if entry is None:
                if not read.scans or self.leaves_to_others(read):
                    return
                if slices >= FETCH_SLICES or (slices and self._is_long(read)):
                    read.stopped = True
                    return
                if read.position == looked_at:
                    # What was found has been evicted already, or nothing was: others have their turn first.
                    slices += 1
                    yield None
                looked_at = read.position
                try:
                    slices += yield from self._look_in_turn(read.position, budget)
                except SchemasMissing as missing:
                    if not (yield from self.host.shared(SchemaLearning).steps(missing, self.topic.name)):
                        # The fetch waits as at the end, and the next one asks again.
                        return
                    looked_at = NOWHERE
            elif not self.show(entry, read):
                return
            elif budget.spend_units(UNITS_OF_KNOWN):
                yield None

    def _look_in_turn(self, offset: int, budget: SliceBudget) -> Generator[Until | None, None, int]:
        """Call `look` when few enough others do, as each holds bytes in memory; return the slices it took."""
        host, slices = self.host, 0
        if self.is_easy(offset):
            for pause in self.look(offset, budget):
                slices += 1
                yield pause
            return slices
        while host.looking >= LOOKING_MAX:
            yield None
        host.looking += 1
        try:
            for pause in self.look(offset, budget):
                slices += 1
                yield pause
        finally:
            host.looking -= 1
        if host.loop.scheduler.pending:
            yield None
        return slices

    def _is_long(self, read: ViewRead) -> bool:
        """Whether the fetch has taken so long that it should be answered with its progress."""
        return self.host.loop.clock.turn_ms - read.now_ms > FETCH_MS

    def show(self, entry: Evaluated, read: ViewRead) -> bool:
        """Add a range to the read; return False if no more is to be added."""
        if entry.batch is None or not entry.shows_from(read.position):
            read.position = entry.end
            return True
        if not read.takes(len(entry.batch)):
            return False
        self.host.counters_of(self.topic).shown += 1
        read.add(entry.batch, len(entry.batch), entry.end)
        return True

    # --- waiting ---------------------------------------------------------------------------------------

    def began_waiting(self, position: int, now_ms: int) -> None:
        """Watch the source for a fetch that has read up to `position` and was parked."""
        is_only_one = self.host.loop.waiters.waiting_for(self.wait_key) <= 1
        self.seen = position if is_only_one else min(self.seen, position)
        self.watch()

    def watch(self) -> None:
        """Follow the source from `seen` on, as long as fetches wait."""
        self._source.watch(self)
        if self.seen < self.high_watermark:
            self.host.schedule(self)

    def catch_up(self, budget: SliceBudget) -> WaitingSteps:
        """Scan new records and wake the fetches for which enough of them are shown."""
        yield from self.settle()
        while self.seen < self.high_watermark and self.is_awaited():
            try:
                found = self._found_at(self.seen)
                if found is None:
                    yield from self.look(self.seen, budget)
                    continue
            except OffsetOutOfRange:
                self.seen = self.log_start
                continue
            except (WalError, DiskError):
                # The fetches learn of it when their time is up and they read the source themselves.
                return
            except SchemasMissing as missing:
                self.host.shared(SchemaLearning).aside(missing, self.topic.name, self.watch)
                return
            self.caught_up(*found)

    def catch_up_to(self, end: int, budget: SliceBudget) -> WaitingSteps:
        """Scan new records up to `end`, then wake the fetches once for all of them."""
        shown_bytes = 0
        try:
            while self.seen < end:
                found = self._found_at(self.seen)
                if found is None:
                    yield from self.look(self.seen, budget)
                else:
                    self.seen = found[0]
                    shown_bytes += found[1]
        except (OffsetOutOfRange, WalError, DiskError):
            # The waiting fetches find out what has become of the source.
            self.host.schedule(self)
        self.caught_up(self.seen, shown_bytes)

    def caught_up(self, end: int, size_bytes: int) -> None:
        """Note that all up to `end` was scanned for the waiting fetches, of which so many bytes are shown."""
        self.seen = end
        if size_bytes:
            self.host.loop.waiters.advanced(self.wait_key, size_bytes, self.host.now_ms)

    def _found_at(self, offset: int) -> tuple[int, int] | None:
        """Return (end, bytes shown) of the range known at the offset, or None if none is known."""
        self.forget_stale()
        whole = self.stored(offset, SCAN_BYTES)
        if whole is not None:
            return whole.next_offset, whole.size_bytes
        entry = self.ranges.find(offset) or self.recalled(offset)
        if entry is None:
            return None
        return entry.end, len(entry.batch) if entry.batch is not None and entry.shows_from(offset) else 0

    def records_between(self, start: int, end: int, *, ranges_max: int) -> Counted:
        """Count what is shown between two offsets, as far as it was found and is remembered."""
        self.forget_stale()
        shown = unknown = 0
        at = start
        for _ in range(ranges_max):
            if at >= end:
                break
            entry = self.ranges.find(at) or self.recalled(at)
            if entry is None:
                known = self.ranges.next_start(at)
                reached = end if known is None else min(known, end)
                unknown += reached - at
            else:
                shown += entry.count(at, end)
                reached = entry.end
            at = reached
        return Counted(shown, unknown + max(0, end - at))

    def has_news(self, read: ViewRead) -> bool:
        """Whether the read has passed records that are not new; a read at the end has not."""
        return read.has_progress and read.offset < self._source.settled_end(self.high_watermark, read.now_ms)


def is_aborted(header: BatchHeader, aborted: list[AbortedTransaction]) -> bool:
    """Whether the batch is part of one of these transactions."""
    return header.is_transactional and any(
        transaction.producer_id == header.producer_id
        and transaction.first_offset <= header.base_offset <= transaction.last_offset
        for transaction in aborted
    )


def passed_over(view: ScannedPartition, plan: Plan, offset: int) -> int:
    """Return the offset up to which no record can match, judged by the extents alone."""
    from views.bounds import EVERYTHING, extent_may_match

    if plan.bounds is EVERYTHING:
        return offset
    end = view.high_watermark
    for count, extent in enumerate(view.vnode.log.extents(view.stream_id, offset)):
        last = extent.next_offset - 1
        if (
            count >= EXTENTS_PER_LOOK
            or extent.next_offset > end
            or extent_may_match(
                plan, EARLIEST_MS, extent.max_timestamp, min_offset=extent.base_offset, max_offset=last
            )
        ):
            break
        offset = extent.next_offset
    return offset
