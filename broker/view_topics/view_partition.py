"""One partition of a view: offsets of its source, and records that are made on request.

Every kind of view subclasses `ViewPartition`.  A fetch makes a `ViewRead` and runs `steps(read)`: the view
adds the batches it shows and moves `position` past all it has scanned, in slices, because that may take long.

    read.position == the view's high watermark     all is read; the fetch may wait for more
    read.stopped                                   the fetch has scanned its share; answer with its progress
    read.due_ms                                    nothing more may be shown before that moment

Waiting fetches are woken through `ViewHub` (broker/view_topics/view_hub.py); `began_waiting` makes the view
watch its source.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Final

from broker.loop.slices import WaitingSteps
from broker.storage.partition import NO_EPOCHS, Partition
from protocol.record_writer import empty_batch
from protocol.records import iter_batches, patch_last_offset, read_batch_header
from wal.reader import Part, ReadResult
from wal.segment import FileRange

if TYPE_CHECKING:
    from broker.catalogue.catalogue_records import ViewDefinition
    from broker.catalogue.topics import Topic
    from broker.storage.timestamps import Hits
    from broker.storage.vnode import Vnode
    from broker.view_topics.view_host import ViewHost
    from broker.view_topics.view_slices import SliceBudget
    from wal.stream_producers import ProducerDescription

DELTA_MAX: Final = 2**31 - 1
"""The largest distance between the first and the last offset of a batch."""


class ViewRead:
    """The read of one partition of a view by one fetch."""

    __slots__ = (
        "due_ms",
        "ends_in_batch",
        "max_bytes",
        "may_wait",
        "minimum_one",
        "now_ms",
        "offset",
        "parts",
        "position",
        "reader",
        "scans",
        "size_bytes",
        "stopped",
    )

    def __init__(
        self,
        offset: int,
        max_bytes: int,
        *,
        minimum_one: bool = True,
        scans: bool = True,
        may_wait: bool = False,
        now_ms: int = 0,
        reader: Hashable = None,
    ) -> None:
        self.offset = offset
        self.max_bytes = max_bytes
        # The first batch is given even if it is larger than `max_bytes` (KIP-74).
        self.minimum_one = minimum_one
        # False: only what is already known, as for a fetch that is woken.
        self.scans = scans
        # Records not found now may be found while the fetch is parked.
        self.may_wait = may_wait
        self.now_ms = now_ms
        # The reader: the fetch session, or else the connection and its client id.
        self.reader = reader
        self.parts: list[Part] = []
        self.size_bytes = 0
        # The offset after the last one that was scanned.
        self.position = offset
        # The last part is one batch, not a run of batches as they are stored.
        self.ends_in_batch = False
        self.stopped = False
        self.due_ms: int | None = None

    @property
    def is_full(self) -> bool:
        """Whether no further batch may be added."""
        return self.size_bytes >= self.max_bytes

    def takes(self, size_bytes: int) -> bool:
        """Whether a batch of that size may be added."""
        must = self.minimum_one and not self.parts
        return must or self.size_bytes + size_bytes <= self.max_bytes

    def add(self, batch: Part, size_bytes: int, next_offset: int) -> None:
        """Add a batch that covers everything up to `next_offset`."""
        self.parts.append(batch)
        self.ends_in_batch = True
        self.size_bytes += size_bytes
        self.position = next_offset

    def add_stored(self, result: ReadResult) -> None:
        """Add batches as they are stored."""
        self.parts += result.parts
        self.ends_in_batch = False
        self.size_bytes += result.size_bytes
        self.position = result.next_offset

    @property
    def has_progress(self) -> bool:
        """Whether something was scanned but none of it is shown."""
        return not self.parts and self.position > self.offset

    def rows(self) -> int:
        """Return how many records were added; of runs as they are stored, the offsets that they cover."""
        if any(isinstance(part, FileRange) for part in self.parts):
            return self.position - self.offset
        return sum(
            read_batch_header(batch).record_count
            for part in self.parts
            if not isinstance(part, FileRange)
            for batch in iter_batches(part)
        )

    def finished(self, *, takes_empty: bool) -> tuple[list[Part], int]:
        """Return the batches and their size; the last one covers the offsets left out after it.

        `takes_empty`: the client moves past a batch without records, the only one in the answer.
        Source: KAFKA-5443 (clients continue after lastOffsetDelta).
        """
        if self.has_progress and takes_empty:
            last = min(self.position - 1, self.offset + DELTA_MAX)
            empty = empty_batch(self.offset, last, leader_epoch=0)
            return [empty], len(empty)
        if self.ends_in_batch and isinstance(self.parts[-1], bytes | bytearray | memoryview):
            self.parts[-1] = _stretched(self.parts[-1], self.position - 1)
        return self.parts, self.size_bytes


def _stretched(batch: bytes | bytearray | memoryview, last_offset: int) -> bytes | bytearray | memoryview:
    """Return the batch, ending at `last_offset`; change a copy, as readers share evaluated batches."""
    header = read_batch_header(batch)
    if header.last_offset >= last_offset:
        return batch
    copy = bytearray(batch)
    patch_last_offset(copy, min(last_offset, header.base_offset + DELTA_MAX))
    return copy


class Unsettled(Exception):
    """It takes a while to find out where a view begins and ends."""

    def __init__(self, view: ViewPartition) -> None:
        super().__init__(view)
        self.view = view


class ViewPartition(Partition):
    """The base of all kinds of views; offsets and times are those of the source's stream."""

    __slots__ = ("_wait_key", "definition", "host")

    def __init__(self, host: ViewHost, topic: Topic, index: int, *, vnode: Vnode, stream_id: int) -> None:
        """Make a partition; `stream_id` is the source's stream, if the view has just one."""
        assert topic.view is not None
        self.host = host
        self.definition: ViewDefinition = topic.view
        self.topic = topic
        self.index = index
        self.vnode = vnode
        self.stream_id = stream_id
        self.least_epoch = NO_EPOCHS
        self._wait_key = host.loop.waiters.new_key()

    @property
    def wait_key(self) -> int:
        """A key of its own: fetches wait for records that the view shows, not for those its source gets."""
        return self._wait_key

    def leader_epoch(self, server_epoch: int) -> int:
        """Return the source's leader epoch, which its batches carry."""
        return max(server_epoch, self.vnode.log.own_epoch(self.stream_id))

    @property
    def high_watermark(self) -> int:
        """The end of the decided records: a view shows only committed data, to all readers."""
        log, stream_id = self.vnode.log, self.stream_id
        producers = log.producers(stream_id)
        return producers.last_stable_offset(log.high_watermark(stream_id), log.log_start(stream_id))

    @property
    def counted_end(self) -> int:
        """The same: what is not shown yet has no offsets that a view could promise."""
        return self.high_watermark

    @property
    def last_stable_offset(self) -> int:
        """The same as the high watermark: a view has no transactions of its own."""
        return self.high_watermark

    @property
    def log_end(self) -> int:
        """The same as the high watermark: no record is ever pending in a view."""
        return self.high_watermark

    @property
    def size_bytes(self) -> int:
        """Always 0: a view stores nothing."""
        return 0

    def producer_count(self) -> int:
        """Return 0: a view cannot be written to."""
        return 0

    def producers(self) -> Iterator[ProducerDescription]:
        """Return no producers."""
        return iter(())

    @property
    def is_settled(self) -> bool:
        """Whether it is known at once where the view begins and ends."""
        return True

    def settle(self) -> WaitingSteps:
        """Find that out, with pauses.  Raises: RequestError."""
        yield from ()

    def hits_by_time(self, first: int, end: int) -> Hits | None:
        """Return the batches between two offsets, newest first; only for views over several streams."""
        return None

    def began_waiting(self, position: int, now_ms: int) -> None:
        """Arrange that a fetch that has read up to `position` and was parked is woken by new records."""
        raise NotImplementedError

    def catch_up(self, budget: SliceBudget) -> WaitingSteps:
        """Evaluate new records for the fetches that wait, yielding when the budget says so."""
        raise NotImplementedError

    def is_awaited(self) -> bool:
        """Whether a fetch waits for the view."""
        return self.host.loop.waiters.waits_for(self.wait_key)

    def has_news(self, read: ViewRead) -> bool:
        """Whether a read without records is answered with its progress at once, not after its wait.

        Only for records that are not new: otherwise readers at the end of a busy source would be answered all
        the time.
        """
        raise NotImplementedError

    def steps(self, read: ViewRead) -> WaitingSteps:
        """Fill the read, yielding after each slice of work."""
        raise NotImplementedError
