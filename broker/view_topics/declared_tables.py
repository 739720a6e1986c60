"""Sub-tables that declare themselves: changes that a view WITH META derives from the records of a topic.

Of a topic with `kawal.tables.declare=auto` each record with a key tells of a sub-table.  A change has no
version of its own: it comes with the record that makes it, as TDengine sends the table that an insert makes
together with its rows (METADATA).

    record                                          WITH META                     ONLY META
    the first of its key, or after a tombstone      header kawal.table: change    change: "create table"
    with other tags than the record before          header kawal.table: change    change: "alter table"
    a tombstone of a known key                      header kawal.table: change    change: "drop table"
    any other of a key                              header kawal.table: its tags  nothing
    without a key in UTF-8, or that does not fit    header kawal.table: null      nothing

    JSON: {"type", "topic", "id", "partition", "time", "table", "tags": {…}} of a change, {"table", "tags"} of
    other records

So a reader that begins in the middle has the tags of every record.  What a record changes follows from the
records that the view shows before it (views/table_history.py) and from its tags (table_tags.py).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from broker.catalogue.catalogue_changes import KIND_HEADER
from broker.config.kawal_topic_keys import COLUMNS_KEY
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Pace, Steps, Until
from broker.view_topics.table_tags import NO_TAGS, TableTags
from protocol.compression import Readable
from protocol.errors import Malformed
from protocol.record_headers import encoded_header
from protocol.record_reader import Record, iter_records, records_in
from protocol.record_writer import VARINTS, encode_in_steps
from protocol.records import read_batch_header
from views.columns import tags_in
from views.table_history import BatchTables, Change, TableHistories, TableHistory, name_of, stream_name

if TYPE_CHECKING:
    from broker.catalogue.declaring import DeclaringTopics
    from broker.catalogue.topics import Topic
    from broker.storage.vnode import Vnode
    from broker.view_topics.stream_owners import Owner, StreamOwners
    from broker.view_topics.view_host import ViewHost
    from broker.view_topics.view_slices import SliceBudget
    from views.opening import Opened
    from wal.versions import VersionedEntry

TABLE_HEADER: Final = "kawal.table"
_NULL_HEADER: Final = encoded_header(TABLE_HEADER, b"")[:-1] + VARINTS[-1]

RECORDS_PER_STEP: Final = 125
"""Records judged between two looks at the time: about 0.5 ms."""


class Told(NamedTuple):
    """A record's time, and what it tells of its sub-table."""

    timestamp_ms: int
    is_change: bool
    text: bytes
    """JSON."""


class DeclaredTables:
    """The sub-tables of the topics that one partition of a view shows."""

    def __init__(self, host: ViewHost, vnode: Vnode, owners: StreamOwners, only: Topic | None) -> None:
        """`owners` has the streams that the view shows: of all topics of a database, or of `only` one."""
        self._host = host
        self._log = vnode.log
        self._owners = owners
        self._only = only
        self._histories = TableHistories(room=host.key_room)
        # What was told follows the topics up to this change of theirs, and the streams below this one.
        self._changes = self._declaring.changes
        self._next_stream = host.metadata.catalogue.next_stream
        self._streams: dict[int, TableTags] = {}
        self._first = self._log.first_version

    # --- which topics ----------------------------------------------------------------------------------

    @property
    def _declaring(self) -> DeclaringTopics:
        return self._host.metadata.catalogue.declaring

    def follow(self) -> bool:
        """Follow changes of the topics; return whether what was found before may be wrong now.

        It is not when topics were created or deleted since.
        """
        declaring, since = self._declaring, self._changes
        if self._only is not None:
            is_wrong = declaring.has_topic_changed(self._only, since)
        else:
            is_wrong = declaring.has_changed(self._owners.database, since, next_stream=self._next_stream)
        self._changes, self._next_stream = declaring.changes, self._host.metadata.catalogue.next_stream
        if is_wrong:
            self.forget()
        return is_wrong

    @property
    def has_topics(self) -> bool:
        """Whether a topic declares its tables now."""
        if self._only is not None:
            return self._only.topic_id in self._declaring
        return self._declaring.count(self._owners.database) > 0

    def declares(self, owner: Owner) -> bool:
        """Whether a topic-partition's records tell of sub-tables."""
        return owner.topic.topic_id in self._declaring

    # --- what is known ---------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        """A number that changes when what was told of before may be wrong now."""
        return self._histories.revision

    def at(self, version: int, log_start: int) -> tuple[TableHistory, int]:
        """Return the history for looking at a version, and where looking has to begin for that."""
        return self._histories.at(version, log_start)

    def forget(self) -> None:
        """Learn everything again, as other records are shown now, or other tags."""
        self._histories.forget()
        self._streams.clear()

    def truncated(self, since: int) -> None:
        """Note what may have been deleted after so many deletions in the log."""
        streams, first = self._log.deleted_since(since), self._log.first_version
        if streams is None:
            # Of so many it is not known where they were.
            self._host.loop.scheduler.add_work(self._pruned())
        elif not (self._has_lost(streams) or first != self._first):
            return
        self._first = first
        self._histories.truncated(first, self._start_of)

    def _has_lost(self, streams: Iterable[int]) -> bool:
        """Whether these are streams whose records tell of sub-tables; forget those of deleted topics."""
        has_lost = False
        for stream_id in streams:
            topic = self._owners.topic_of(stream_id)
            if topic is None:
                self._streams.pop(stream_id, None)
            else:
                has_lost = has_lost or topic.topic_id in self._declaring
        return has_lost

    def _pruned(self) -> Steps:
        """Forget the tags of streams whose topics were deleted."""
        pace = Pace(PLAIN_ITEMS_PER_STEP)
        for stream_id in list(self._streams):
            if not self._owners.owns(stream_id):
                self._streams.pop(stream_id, None)
            if pace.due():
                yield

    def _start_of(self, stream: bytes) -> int:
        return self._log.log_start(int.from_bytes(stream, "big"))

    # --- what records tell -----------------------------------------------------------------------------

    def steps(
        self,
        entry: VersionedEntry,
        owner: Owner,
        shown: Readable,
        history: TableHistory,
        budget: SliceBudget,
        content: Opened | None,
    ) -> Generator[Until | None, None, dict[int, Told]]:
        """Return what the records of a batch tell, by their offsets, and have the history learn it.

        `shown`: what the view shows of the batch, at its offsets; `content`: its records, if it is open.
        Raises: Malformed, OffsetOutOfRange, WalError, DiskError.
        """
        while history.is_busy(entry.version):
            yield None  # another fetch is taking the batch in, and yields in turn
        if not self.declares(owner):
            return {}  # it was deleted, or altered, meanwhile
        is_new, revision = entry.version >= history.end, self.revision
        history.is_learning = history.is_learning or is_new
        try:
            tags = yield from self._tags_of(entry.stream_id, owner).steps(entry, budget)
            tables = BatchTables(history, entry.version)
            told = yield from _told(entry, owner, _records_of(shown, content), tags, tables)
            if revision == self.revision:
                yield from tables.commit(entry.version + entry.record_count)
        finally:
            if is_new:
                history.is_learning = False
        return told

    def _tags_of(self, stream_id: int, owner: Owner) -> TableTags:
        found = self._streams.get(stream_id)
        if found is None:
            tags = tags_in(owner.topic.configs.get(COLUMNS_KEY.name, ""))
            found = self._streams[stream_id] = TableTags(self._host, owner.topic, owner.index, tags)
        return found


def _records_of(shown: Readable, content: Opened | None) -> Iterable[Record]:
    if content is None:
        return iter_records(shown)
    if isinstance(content, Malformed):
        raise content.with_traceback(None)
    return records_in(read_batch_header(shown), content)


def _told(
    entry: VersionedEntry,
    owner: Owner,
    records: Iterable[Record],
    tags: Mapping[int, bytes] | None,
    tables: BatchTables,
) -> Generator[Until | None, None, dict[int, Told]]:
    told: dict[int, Told] = {}
    stream, shift = stream_name(entry.stream_id), entry.version - entry.base_offset
    origin = {"topic": owner.topic.name, "id": owner.topic.topic_id.hex, "partition": owner.index}
    place_text = msgspec.json.encode(origin)[1:-1]
    for number, record in enumerate(records, 1):
        if not number % RECORDS_PER_STEP:
            yield None
        table = None if record.key is None else _text(record.key)
        if record.key is None or table is None:
            continue
        name, place = name_of(stream, record.key), (record.offset + shift, record.offset)
        own = NO_TAGS if tags is None else tags.get(record.offset)
        if record.value is None:
            change, content = tables.dropped(name, place), b'"table":%b}' % table
        elif own is not None:
            change, content = tables.shown(name, own, place), b'"table":%b,"tags":%b}' % (table, own)
        else:
            continue
        is_change = change is not Change.NONE
        head = b'{"type":"%b",%b,"time":%d,' if is_change else b"{"
        if is_change:
            head %= (change.value.encode(), place_text, record.timestamp_ms)
        told[record.offset] = Told(record.timestamp_ms, is_change, head + content)
    return told


def _text(key: bytes) -> bytes | None:
    """Return a key as a JSON string, None if it is not UTF-8."""
    try:
        return msgspec.json.encode(str(key, "utf-8"))
    except UnicodeDecodeError:
        return None


def table_header(told: Told | None) -> bytes:
    """Return the encoded header `kawal.table` of a record."""
    return _NULL_HEADER if told is None else encoded_header(TABLE_HEADER, told.text)


def changes_batch(
    told: Mapping[int, Told], owner: Owner, shift: int
) -> Generator[None, None, bytearray | None]:
    """Return the changes alone, each at the version of its record; None if there are none."""
    name, changes = owner.topic.name.encode(), []
    for number, (offset, item) in enumerate(told.items(), 1):
        if item.is_change:
            changes.append(Record(offset + shift, item.timestamp_ms, name, item.text, (KIND_HEADER,)))
        if not number % RECORDS_PER_STEP:
            yield
    return (yield from encode_in_steps(changes, leader_epoch=0)) if changes else None
