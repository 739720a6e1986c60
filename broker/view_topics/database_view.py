"""Views over a whole database: `DATABASE name`, all records of all topics in order of arrival.

Partition i of the view shows vnode i of the database; an offset is a version of the vnode's log.  A record
keeps its key, value, timestamp and headers, and gets three more headers that name its origin: `kawal.topic`,
`kawal.partition` and `kawal.offset`.  Batches of the source stay batches, since the records of a batch have
consecutive versions.

The view shows records that are decided and not deleted, up to the newest such record
(broker/view_topics/vnode_tail.py). Records of internal topics, transaction markers and anything else that
takes a version are gaps.  WITH META also shows changes of topics, at the place where they happened; ONLY META
shows nothing else (broker/catalogue/catalogue_changes.py).  Both show the changes of sub-tables that records
make, where topics want that (broker/view_topics/declared_tables.py).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Final

from broker.catalogue.catalogue_changes import CHANGES_STREAM, change_batch
from broker.loop.slices import Until, WaitingSteps
from broker.view_topics.framed_times import FramedTimes
from broker.view_topics.learning import Learning
from broker.view_topics.opening import with_opened
from broker.view_topics.scanned_view import SCAN_BYTES, is_aborted
from broker.view_topics.stream_owners import HEADER_COUNT, StreamOwners
from broker.view_topics.view_cache import Evaluated
from broker.view_topics.vnode_tail import VnodeTail
from protocol.errors import ProtocolError
from protocol.record_headers import with_headers_steps
from protocol.record_reader import iter_records
from protocol.record_writer import encode_batch
from protocol.records import read_batch_header
from wal.errors import OffsetOutOfRange
from wal.format import LEADER_EPOCH_POSITION, EntryKind
from wal.versions import VersionedEntry, frame_entries

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.storage.vnode import Vnode
    from broker.view_topics.declared_tables import DeclaredTables
    from broker.view_topics.stream_owners import Owner
    from broker.view_topics.view_host import ViewHost
    from broker.view_topics.view_slices import SliceBudget
    from protocol.compression import Readable
    from views.opening import Opened

NO_STREAM: Final = -1

SHOWN_BYTES: Final = 256 << 10
"""The most bytes found in one go: batches that decompress to much more must not evict each other."""


class DatabasePartition(FramedTimes):
    """One partition of a view over a database: one of its vnodes."""

    __slots__ = (
        "_changes", "_clearings", "_deletions", "_only_end", "_shows_changes", "_tables", "_tail",
    )  # fmt: skip

    def __init__(self, host: ViewHost, topic: Topic, index: int, vnode: Vnode, owners: StreamOwners) -> None:
        super().__init__(host, topic, index, vnode=vnode, stream_id=NO_STREAM, source_key=vnode)
        assert topic.view is not None
        self._owners = owners
        self._shows_changes = topic.view.meta != "none"
        self._shows_records = topic.view.meta != "only"
        self._tail = VnodeTail(vnode.log, self._owners)
        self._deletions = vnode.log.deletions
        # The sub-tables, once a topic declares them; made when the catalogue is first looked at.
        self._tables: DeclaredTables | None = None
        self._changes = -1
        self._clearings = 0
        # Readers of changes alone have come so far: the end does not go back when no topic declares tables.
        self._only_end = 0

    # --- its ends --------------------------------------------------------------------------------------

    @property
    def log_start(self) -> int:
        """The first version that is stored."""
        return self.vnode.log.first_version

    @property
    def high_watermark(self) -> int:
        """The offset after the newest record or change that the view shows."""
        if not self._shows_records:
            # Any record may make a change.
            declares = self._follow_tables() and self._tables is not None and self._tables.has_topics
            self._only_end = max(self._only_end, self._tail.end() if declares else self._tail.change_end())
            return self._only_end
        return self._tail.end() if self._shows_changes else self._tail.data_end()

    @property
    def is_settled(self) -> bool:
        """Whether its end is that of all that has come."""
        return self._tail.is_current

    def settle(self) -> WaitingSteps:
        """Bring its end up to date, with pauses."""
        yield from self._tail.settle()

    # --- reading ---------------------------------------------------------------------------------------

    def forget_stale(self) -> None:
        """Forget what was found, if some of it has been deleted, or other sub-tables are declared now."""
        deletions, before = self.vnode.log.deletions, self._deletions
        if deletions != before:
            self._deletions = deletions
            self._clear()
            if self._tables is not None:
                self._tables.truncated(before)
        self._follow_tables()

    def forget(self) -> None:
        """Forget what was found."""
        self._clear()
        if self._tables is not None:
            self._tables.forget()

    @property
    def only_topic(self) -> Topic | None:
        """The topic whose records it shows; None: those of all topics of a database."""
        return None

    def _follow_tables(self) -> bool:
        """Notice topics that declare their sub-tables; return whether the view shows changes at all."""
        catalogue = self.host.metadata.catalogue
        if not self._shows_changes or catalogue.changes == self._changes:
            return self._shows_changes
        self._changes = catalogue.changes
        if self._tables is not None:
            if self._tables.follow():
                self._clear()
        elif self._has_declaring():
            from broker.view_topics.declared_tables import DeclaredTables

            self._tables = DeclaredTables(self.host, self.vnode, self._owners, self.only_topic)
            self._clear()
        return True

    def _has_declaring(self) -> bool:
        """Whether a topic that it shows declares sub-tables."""
        declaring, only = self.host.metadata.catalogue.declaring, self.only_topic
        return declaring.count(self._owners.database) > 0 if only is None else only.topic_id in declaring

    def _clear(self) -> None:
        self.ranges.clear()
        self._clearings += 1

    # --- looking ---------------------------------------------------------------------------------------

    def look(self, offset: int, budget: SliceBudget) -> WaitingSteps:
        """Look at some frames from the one with `offset` on, or before it if sub-tables are to be learned."""
        self.forget_stale()
        self.ranges.forget_before(self.log_start)
        end, read_bytes, shown_bytes = self.high_watermark, 0, 0
        learning = Learning(self._tables, self.log_start)
        offset = learning.begin(offset)
        for frame in self.vnode.log.frames(offset):
            if read_bytes >= SCAN_BYTES:
                return
            if frame.base_version >= end:
                break
            if offset < frame.base_version:
                self._nothing(offset, frame.base_version)
            data = yield from self.bytes_of(frame)
            read_bytes += frame.size_bytes
            offset = max(offset, frame.base_version)
            for entry in frame_entries(frame, data):
                if offset < entry.version + entry.record_count and entry.version < end:
                    shown_bytes += yield from self.look_at(entry, offset, budget, learning)
                    if shown_bytes >= SHOWN_BYTES or not learning.is_current:
                        return
                    offset = entry.version + entry.record_count
            if offset < min(frame.next_version, end):
                self._nothing(offset, min(frame.next_version, end))
            offset = min(frame.next_version, end)
            learning.passed(offset)
        if offset < end:
            self._nothing(offset, end)
        learning.passed(end)

    def _nothing(self, start: int, end: int) -> None:
        self.ranges.add(Evaluated(start, end, None))

    def look_at(
        self, entry: VersionedEntry, offset: int, budget: SliceBudget, learning: Learning
    ) -> Generator[Until | None, None, int]:
        """Find what the view shows of an entry, and return its size."""
        end = entry.version + entry.record_count
        start = min(offset, entry.version)
        # Topics that have begun to declare sub-tables since the look began are those of the next one.
        owner = self._declaring(entry) if learning.has_tables else None
        if self.ranges.find(max(offset, entry.version)) is not None and (
            owner is None or learning.knows(end)
        ):
            return 0
        clearings = self._clearings
        if owner is None:
            steps: Callable[[Opened | None], WaitingSteps] = partial(self.shown_steps, entry)
        else:
            steps = partial(self._with_tables, entry, owner, learning, budget)
        if entry.kind == EntryKind.DATA and (self._shows_records or owner is not None):
            batch = yield from with_opened(self.host, memoryview(entry.data), steps)
        else:
            batch = yield from steps(None)
        if clearings != self._clearings or not learning.is_current:
            # Meanwhile it was deleted, or means something else.
            return 0
        if batch is not None:
            batch[LEADER_EPOCH_POSITION : LEADER_EPOCH_POSITION + 4] = bytes(4)  # that of its own log
        self.ranges.add(Evaluated(start, end, None if batch is None else bytes(batch)))
        if budget.spend(records=entry.record_count, size_bytes=len(entry.data)):
            yield None
        return 0 if batch is None else len(batch)

    def _declaring(self, entry: VersionedEntry) -> Owner | None:
        """Return the owner of a batch whose records declare sub-tables."""
        if self._tables is None or entry.kind != EntryKind.DATA:
            return None
        owner = self._owners.find(entry.stream_id)
        return owner if owner is not None and self._tables.declares(owner) else None

    def _with_tables(
        self,
        entry: VersionedEntry,
        owner: Owner,
        learning: Learning,
        budget: SliceBudget,
        content: Opened | None,
    ) -> Generator[Until | None, None, bytearray | None]:
        """Find what the view shows of a batch whose records declare sub-tables."""
        from broker.view_topics.declared_tables import changes_batch, table_header

        self.count(scanned=entry.record_count)
        batch: bytearray | None = None
        try:
            part = self.part_of(entry)
            if part is None:
                return None
            own = content if part is entry.data else None
            told = yield from learning.told(entry, owner, part, budget, own)
            if self._shows_records:

                def headers_of(offset: int) -> bytes:
                    return owner.headers_of(offset) + table_header(told.get(offset))

                batch = yield from self._placed(part, entry, headers_of, HEADER_COUNT + 1, content)
            else:
                batch = yield from changes_batch(told, owner, entry.version - entry.base_offset)
        except ProtocolError:
            self.count(unfit=entry.record_count)
            return None
        except OffsetOutOfRange:
            # The topic's records were deleted meanwhile; versions are not: the view is looked at again.
            self.forget()
            return None
        if batch is not None:
            self.count(matched=read_batch_header(batch).record_count)
        return batch

    def shown_steps(
        self, entry: VersionedEntry, content: Opened | None
    ) -> Generator[None, None, bytearray | None]:
        """Return the part of an entry that the view shows, but for what records tell of sub-tables."""
        if entry.kind == EntryKind.META:
            is_change = self._shows_changes and entry.stream_id == CHANGES_STREAM
            return change_batch(entry, self.definition.source_id or None) if is_change else None
        owner = self._owners.find(entry.stream_id) if self._shows_records else None
        if owner is None or entry.kind != EntryKind.DATA:
            return None
        self.count(scanned=entry.record_count)
        try:
            part = self.part_of(entry)
            if part is None:
                return None
            batch = yield from self._placed(part, entry, owner.headers_of, HEADER_COUNT, content)
        except ProtocolError:
            # What cannot be given its headers is left out.
            self.count(unfit=entry.record_count)
            return None
        self.count(matched=entry.record_count)
        return batch

    def count(self, *, scanned: int = 0, matched: int = 0, unfit: int = 0) -> None:
        """Count records that were looked at."""
        counters = self.host.counters_of(self.topic)
        counters.scanned += scanned
        counters.matched += matched
        counters.unfit += unfit

    def part_of(self, entry: VersionedEntry) -> Readable | None:
        """Return what the view shows of a batch, at its offsets; None if it is aborted or deleted.

        Raises: ProtocolError.
        """
        log, stream_id = self.vnode.log, entry.stream_id
        next_offset = entry.base_offset + entry.record_count
        log_start = log.log_start(stream_id)
        if next_offset <= log_start:
            return None
        header = read_batch_header(entry.data)
        if header.is_transactional:
            aborted = log.producers(stream_id).aborted_between(entry.base_offset, next_offset)
            if is_aborted(header, aborted):
                return None
        if entry.base_offset >= log_start:
            return entry.data
        kept = [record for record in iter_records(entry.data) if record.offset >= log_start]
        if not kept:
            return None
        stamp = header.max_timestamp if header.is_append_time else None
        return encode_batch(
            kept, base_offset=entry.base_offset, last_offset=next_offset - 1, append_time_ms=stamp
        )

    @staticmethod
    def _placed(
        part: Readable,
        entry: VersionedEntry,
        headers_of: Callable[[int], bytes],
        count: int,
        content: Opened | None,
    ) -> Generator[None, None, bytearray]:
        """Return a batch of the entry's offsets at its versions, with headers.

        `content`: the records of the entry's own batch, if it is open.  Raises: ProtocolError.
        """
        version = entry.version + read_batch_header(part).base_offset - entry.base_offset
        own = content if part is entry.data else None
        return with_headers_steps(part, headers_of, count, base_offset=version, records=own)


def open_partition(host: ViewHost, topic: Topic, index: int) -> DatabasePartition:
    """Make partition `index` of a view over a database."""
    assert topic.view is not None
    owners = StreamOwners(host.metadata.catalogue, topic.view.source)
    return DatabasePartition(host, topic, index, host.vnodes.at(topic.view.source, index), owners)
