"""One partition of a view: offsets of its source, records made when they are asked for.

Every kind of view subclasses `ViewPartition`.  A fetch makes a `ViewRead` and runs `steps(read)`: the view
adds the batches it shows and moves `position` over all it has looked at, in slices, because looking may take
long.

    read.position == the view's high watermark     all is read; the fetch may wait for more
    read.stopped                                   the fetch has scanned its share: answer with the progress
    read.due_ms                                    nothing more may be shown before that moment

Whoever waits is told by `ViewHub` (broker/view_topics/view_hub.py): `began_waiting` names what the view
watches.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Final

from broker.storage.partition import LEADER_EPOCH, Partition
from protocol.record_writer import empty_batch
from protocol.records import patch_last_offset, read_batch_header
from wal.reader import Part, ReadResult

if TYPE_CHECKING:
    from broker.catalogue.catalogue_records import ViewDefinition
    from broker.catalogue.topics import Topic
    from broker.storage.vnode import Vnode
    from broker.view_topics.view_host import ViewHost
    from broker.view_topics.view_slices import SliceBudget
    from wal.lookup import TimeHit
    from wal.stream_producers import ProducerDescription

DELTA_MAX: Final = 2**31 - 1
"""The largest distance between the first and the last offset of a batch."""


class ViewRead:
    """What one fetch reads of one partition of a view."""

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
        # The first batch is given even when it is larger than `max_bytes` (KIP-74).
        self.minimum_one = minimum_one
        # False: only what is known already, as for a fetch that is woken.
        self.scans = scans
        # What is not found now may be found while the fetch is parked.
        self.may_wait = may_wait
        self.now_ms = now_ms
        # Who reads: the fetch session, or else the connection and its client id.
        self.reader = reader
        self.parts: list[Part] = []
        self.size_bytes = 0
        # Behind the last offset that was looked at.
        self.position = offset
        # The last part is one batch, and not a run of batches as they are stored.
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
        """Whether something was looked at and nothing of it is to be shown."""
        return not self.parts and self.position > self.offset

    def finished(self, *, takes_empty: bool) -> tuple[list[Part], int]:
        """The batches and their size; the last one carries the reader over what was left out behind it.

        `takes_empty`: the client moves on over a batch without records, the only one in the answer.
        Source: KAFKA-5443 (clients go on behind lastOffsetDelta), clients-wire.md finding 7.
        """
        if self.has_progress and takes_empty:
            last = min(self.position - 1, self.offset + DELTA_MAX)
            empty = empty_batch(self.offset, last, leader_epoch=LEADER_EPOCH)
            return [empty], len(empty)
        if self.ends_in_batch and isinstance(self.parts[-1], bytes | bytearray | memoryview):
            self.parts[-1] = _stretched(self.parts[-1], self.position - 1)
        return self.parts, self.size_bytes


def _stretched(batch: bytes | bytearray | memoryview, last_offset: int) -> bytes | bytearray | memoryview:
    """The batch, ending at `last_offset`; only a copy is changed, because readers share what is evaluated."""
    header = read_batch_header(batch)
    if header.last_offset >= last_offset:
        return batch
    copy = bytearray(batch)
    patch_last_offset(copy, min(last_offset, header.base_offset + DELTA_MAX))
    return copy


class ViewPartition(Partition):
    """What all kinds of views have in common; offsets and times are those of the source's stream."""

    __slots__ = ("_wait_key", "definition", "host")

    def __init__(self, host: ViewHost, topic: Topic, index: int, *, vnode: Vnode, stream_id: int) -> None:
        """`stream_id` is the source's stream where the view has one."""
        assert topic.view is not None
        self.host = host
        self.definition: ViewDefinition = topic.view
        self.topic = topic
        self.index = index
        self.vnode = vnode
        self.stream_id = stream_id
        self._wait_key = host.loop.waiters.new_key()

    @property
    def wait_key(self) -> int:
        """A number of its own: what the view shows is counted, not what its source gets."""
        return self._wait_key

    @property
    def high_watermark(self) -> int:
        """Where decided records end: a view shows committed data only, to all readers."""
        log, stream_id = self.vnode.log, self.stream_id
        producers = log.producers(stream_id)
        return producers.last_stable_offset(log.high_watermark(stream_id), log.log_start(stream_id))

    @property
    def last_stable_offset(self) -> int:
        """The same as the high watermark: a view has no transactions of its own."""
        return self.high_watermark

    @property
    def log_end(self) -> int:
        """The same as the high watermark: nothing is on its way into a view."""
        return self.high_watermark

    @property
    def size_bytes(self) -> int:
        """A view stores nothing."""
        return 0

    def producers(self) -> list[ProducerDescription]:
        """Nobody can write to a view."""
        return []

    def hits_by_time(self, first: int, end: int) -> Iterator[tuple[int, TimeHit]] | None:
        """For views over several streams: what is shown between two offsets, the newest first."""
        return None

    def began_waiting(self, position: int, now_ms: int) -> None:
        """A fetch that has read up to `position` was parked: see to it that it is woken by what comes."""
        raise NotImplementedError

    def catch_up(self, budget: SliceBudget) -> Iterator[None]:
        """Look at what is new for the fetches that wait; yields whenever the budget says so."""
        raise NotImplementedError

    def is_awaited(self) -> bool:
        """Whether a fetch waits for it."""
        return self.host.loop.waiters.waits_for(self.wait_key)

    def has_news(self, read: ViewRead) -> bool:
        """Whether a reader who gets no record should learn at once how far it came, and not after its wait.

        To be answered by the views for what has been there for some time; else readers at the end of a busy
        source would be answered all the time.
        """
        raise NotImplementedError

    def steps(self, read: ViewRead) -> Iterator[None]:
        """Fill the read, yielding whenever a slice of work is done."""
        raise NotImplementedError
