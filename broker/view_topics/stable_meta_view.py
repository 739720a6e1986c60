"""Views over one topic with its changes: `STABLE topic WITH META` and `ONLY META`.

A change of the topic takes a version of the vnode but no offset of the topic, so the offsets of such a view
are versions, like those of a view over a database; a record's own offset is in its header `kawal.offset`.
Partition i of the view shows partition i of the topic, among the changes recorded on its vnode. The ordinary
view over the topic finds what is shown of a batch.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING
from uuid import UUID

from broker.loop.slices import Until, WaitingSteps
from broker.view_topics.database_view import DatabasePartition
from broker.view_topics.query_view import QueryPartition
from broker.view_topics.stream_owners import StreamOwners
from broker.view_topics.view_compaction import CompactedSource
from broker.view_topics.view_slices import SliceBudget
from protocol.record_reader import iter_records
from protocol.record_writer import encode_batch
from protocol.records import BatchHeader, read_batch_header
from wal.format import EntryKind

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.view_topics.learning import Learning
    from broker.view_topics.view_cache import Evaluated
    from broker.view_topics.view_host import ViewHost
    from protocol.compression import Readable
    from wal.versions import VersionedEntry


class StableMetaPartition(DatabasePartition):
    """One partition of a topic, with the topic's changes."""

    __slots__ = ("_compacted", "_records", "_source_topic")

    def __init__(self, host: ViewHost, topic: Topic, index: int, source: Topic) -> None:
        self._source_topic = source
        # The ordinary view, which shows the topic's records at their offsets.
        self._records = QueryPartition(host, topic, index, source)
        owners = StreamOwners(host.metadata.catalogue, source.database).only(self._records.stream_id)
        super().__init__(host, topic, index, self._records.vnode, owners)
        self._compacted = CompactedSource(self._records.vnode, self._records.stream_id)

    def close(self) -> None:
        """Free the memory of what was found."""
        super().close()
        self._records.close()

    def forget_stale(self) -> None:
        """Forget what was found, if some of it has been deleted or replaced."""
        super().forget_stale()
        if self._compacted.is_replaced():
            self.forget()

    def forget(self) -> None:
        """Forget what was found."""
        super().forget()
        self._records.ranges.clear()

    @property
    def only_topic(self) -> Topic:
        """The topic whose records it shows."""
        return self._source_topic

    def look_at(
        self, entry: VersionedEntry, offset: int, budget: SliceBudget, learning: Learning
    ) -> Generator[Until | None, None, int]:
        """Find what the view shows of an entry, and return its size."""
        is_record = entry.kind == EntryKind.DATA and entry.stream_id == self._records.stream_id
        if is_record and (self._shows_records or self._declaring(entry) is not None):
            yield from self._look_into(entry, budget)
        return (yield from super().look_at(entry, offset, budget, learning))

    def prepare(self, entry: VersionedEntry) -> WaitingSteps:
        """Have the ordinary view look into a batch: for a lookup by time it may not know it yet."""
        yield from self._look_into(entry, SliceBudget())

    def _look_into(self, entry: VersionedEntry, budget: SliceBudget) -> WaitingSteps:
        while self._is_stored(entry) and self._known(entry) is None:
            yield from self._records.look(self._first_of(entry), budget)

    def _first_of(self, entry: VersionedEntry) -> int:
        return max(entry.base_offset, self._records.log_start)

    def _is_stored(self, entry: VersionedEntry) -> bool:
        return entry.base_offset + entry.record_count > self._records.log_start

    def _known(self, entry: VersionedEntry) -> Evaluated | None:
        self._records.forget_stale()
        return self._records.ranges.find(self._first_of(entry))

    def count(self, *, scanned: int = 0, matched: int = 0, unfit: int = 0) -> None:
        """Count what is left out here; the ordinary view has counted the others."""
        super().count(unfit=unfit)

    def part_of(self, entry: VersionedEntry) -> Readable | None:
        """Return what the ordinary view shows of a batch, at its offsets.  Raises: ProtocolError."""
        for pause in self._look_into(entry, SliceBudget()):
            # Usually known already, except when memory is short.
            if pause is not None and pause.here is not None:
                pause.here()
        found = self._known(entry) if self._is_stored(entry) else None
        if found is None or found.batch is None:
            return None
        shown = read_batch_header(found.batch)
        if not entry.base_offset <= shown.base_offset < entry.base_offset + entry.record_count:
            # Compaction has left nothing of this batch; the range goes on to the next one that it left.
            return None
        return self._not_deleted(found.batch, shown)

    def _not_deleted(self, batch: bytes, header: BatchHeader) -> bytes | bytearray | None:
        """Return the part of a batch that is not deleted, None if all of it is.

        A reader of the topic leaves out what lies below its offset; here that is a version, not an offset.
        """
        log_start = self._records.log_start
        if header.base_offset >= log_start:
            return batch
        kept = [record for record in iter_records(batch) if record.offset >= log_start]
        if not kept:
            return None
        return encode_batch(
            kept,
            base_offset=header.base_offset,
            last_offset=header.last_offset,
            append_time_ms=header.max_timestamp if header.is_append_time else None,
        )


def open_partition(host: ViewHost, topic: Topic, index: int) -> StableMetaPartition:
    """Make partition `index` of a view over a topic and its changes."""
    assert topic.view is not None
    return StableMetaPartition(
        host, topic, index, host.metadata.catalogue.by_id[UUID(hex=topic.view.source_id)]
    )
