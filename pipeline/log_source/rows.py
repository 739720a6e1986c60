"""A task of `kawal.wal`: bytes of one segment become Arrow batches, in the order in which they lie there.

The segment is a file, or objects of a store.

Neighbouring pieces are read at once. Each batch is compared with its CRC; markers and records of aborted
transactions are left out, as for a consumer of committed records.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from operator import itemgetter
from typing import Any, NamedTuple

import numpy
import pyarrow

from pipeline.errors import SourceError
from pipeline.log_source.plan import Aborted, Piece, Split
from protocol.errors import ProtocolError
from protocol.record_columns import RecordColumns, read_columns
from protocol.records import BatchHeader, check_crc, iter_batches, read_batch_header
from wal.disk import Disk, DiskError, File
from wal.errors import WalError
from wal.objects import ObjectReads, ObjectStoreError
from wal.remote.copy_disk import CopyFile


class Reach(NamedTuple):
    """The bytes that are read with one call."""

    gap_bytes: int
    """Pieces at most this far apart are read together."""
    span_bytes: int
    """The most that is read at once, but for one larger piece."""


LOCAL = Reach(64 << 10, 2 << 20)
REMOTE = Reach(1 << 20, 8 << 20)
"""A request takes as long as a megabyte, or ten."""

_first_offset = itemgetter(0)

ROWS = 20_000
"""The rows of an Arrow batch, at least; fewer make Spark slower."""

ROWS_BYTES = 32 << 20
"""The bytes of keys and values that are not passed by more than a batch of records, however few the rows are:
a task holds them twice, and an Arrow column of them must stay below 2 GiB."""

DECOMPRESSED_MAX = 1 << 30
"""The most bytes that one batch may open to."""

HEADERS = pyarrow.list_(
    pyarrow.struct([pyarrow.field("key", pyarrow.string(), False), ("value", pyarrow.binary())])
)
FIELDS = (
    pyarrow.field("key", pyarrow.binary()),
    pyarrow.field("value", pyarrow.binary()),
    pyarrow.field("topic", pyarrow.string()),
    pyarrow.field("partition", pyarrow.int32()),
    pyarrow.field("offset", pyarrow.int64()),
    pyarrow.field("timestamp", pyarrow.timestamp("us", tz="UTC")),
    pyarrow.field("timestampType", pyarrow.int32()),
)


def arrow_batches(
    disk: Disk, split: Split, store: ObjectReads | None = None, *, with_headers: bool
) -> Iterator[Any]:
    """Yield the rows of a task as record batches.  Raises: SourceError.

    A split of objects is read from the store, the bytes that come next while the rows of others are made.
    """
    rows = _Rows(with_headers=with_headers)
    try:
        with _opened(disk, split, store) as (file, reach):
            for piece, data in _read(file, split.pieces, reach):
                for _ in _added(rows, split, piece, data):
                    if rows.is_enough:
                        yield rows.taken()
    except (DiskError, WalError, ObjectStoreError) as error:
        raise SourceError(
            f"{split.path} cannot be read; if a gateway removes old records there, begin later: {error}"
        ) from error
    if rows.count:
        yield rows.taken()


@contextmanager
def _opened(disk: Disk, split: Split, store: ObjectReads | None) -> Iterator[tuple[File, Reach]]:
    """Open the bytes of a task.  Raises: DiskError."""
    if split.parts:
        assert store is not None, "the plan of a read that has objects knows their store"
        yield CopyFile(split.path, store, split.parts, ahead_bytes=0), REMOTE
        return
    file = disk.open(split.path, read_only=True)
    try:
        yield file, LOCAL
    finally:
        file.close()


def _spans(pieces: list[Piece], reach: Reach) -> Iterator[list[Piece]]:
    """Yield the pieces that are read with one call, in the order of their positions."""
    at = 0
    while at < len(pieces):
        begin, end, last = pieces[at].position, pieces[at].position + pieces[at].size_bytes, at + 1
        while last < len(pieces) and pieces[last].position - end <= reach.gap_bytes:
            if pieces[last].position + pieces[last].size_bytes - begin > reach.span_bytes:
                break
            end = pieces[last].position + pieces[last].size_bytes
            last += 1
        yield pieces[at:last]
        at = last


def _span_bytes(file: File, span: list[Piece]) -> bytes:
    begin = span[0].position
    return file.read_at(begin, span[-1].position + span[-1].size_bytes - begin)


def _read(file: File, pieces: list[Piece], reach: Reach) -> Iterator[tuple[Piece, memoryview]]:
    """Yield the pieces, which are in the order of their positions, with their bytes."""
    spans = list(_spans(pieces, reach))
    with ThreadPoolExecutor(1, thread_name_prefix="ahead") as thread:
        ahead = thread.submit(_span_bytes, file, spans[0]) if spans else None
        for span, following in zip(spans, [*spans[1:], None], strict=True):
            assert ahead is not None
            data = memoryview(ahead.result())
            ahead = thread.submit(_span_bytes, file, following) if following is not None else None
            begin = span[0].position
            for piece in span:
                yield piece, data[piece.position - begin : piece.position - begin + piece.size_bytes]


def _added(rows: _Rows, split: Split, piece: Piece, data: memoryview) -> Iterator[None]:
    """Add the records of a piece, and yield after each of its batches.

    Raises: SourceError when its bytes are not those that were written.
    """
    good_bytes, due = 0, piece.base
    aborted = split.aborted[piece.topic, piece.partition]
    for batch in iter_batches(data):
        header = read_batch_header(batch)
        # A batch's CRC does not cover its offset; in a piece there is no room for another one.
        if not (due <= header.base_offset and header.last_offset < piece.next_offset and check_crc(batch)):
            break
        good_bytes, due = good_bytes + len(batch), header.last_offset + 1
        if header.base_offset >= piece.until:
            return
        if header.is_control or header.last_offset < piece.since or _is_aborted(header, aborted):
            continue
        try:
            columns = read_columns(batch, DECOMPRESSED_MAX)
        except ProtocolError as error:
            raise SourceError(
                f"{piece.topic}-{piece.partition}: the batch at offset {header.base_offset} cannot be "
                f"opened: {error}"
            ) from error
        rows.add(piece, header, _within(columns, piece))
        yield
    if good_bytes != piece.size_bytes:
        raise SourceError(
            f"{split.path}: bytes from {piece.position + good_bytes} on are damaged ({piece.topic}-"
            f"{piece.partition}): run 'kawal wal verify'"
        )


def _is_aborted(header: BatchHeader, aborted: Aborted) -> bool:
    if not header.is_transactional:
        return False
    own = aborted.get(header.producer_id, [])
    before = bisect_right(own, header.base_offset, key=_first_offset)
    return before > 0 and header.base_offset <= own[before - 1][1]


def _within(columns: RecordColumns, piece: Piece) -> RecordColumns:
    """Return the records of a batch that count."""
    offsets = columns.offsets
    if not offsets or (offsets[0] >= piece.since and offsets[-1] < piece.until):
        return columns
    first = next((row for row, offset in enumerate(offsets) if offset >= piece.since), len(offsets))
    end = next((row for row, offset in enumerate(offsets) if offset >= piece.until), len(offsets))
    return columns[first : max(first, end)]


class _Rows:
    """Rows that wait to become an Arrow batch."""

    def __init__(self, *, with_headers: bool) -> None:
        self._with_headers = with_headers
        self._clear()

    def _clear(self) -> None:
        self._columns = RecordColumns()
        self._size_bytes = 0
        self._topics: list[str] = []
        self._runs: list[tuple[int, int, int, int]] = []
        """Topic, partition, timestamp type and number of rows."""

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self._columns)

    @property
    def is_enough(self) -> bool:
        """Whether they should become an Arrow batch now."""
        return self.count >= ROWS or self._size_bytes >= ROWS_BYTES

    def add(self, piece: Piece, header: BatchHeader, columns: RecordColumns) -> None:
        """Add the records of a batch."""
        if piece.topic not in self._topics:
            self._topics.append(piece.topic)
        topic = self._topics.index(piece.topic)
        self._runs.append((topic, piece.partition, header.timestamp_type, len(columns)))
        self._columns.extend(columns)
        self._size_bytes += _size_of(columns) if header.codec else header.size_bytes

    def taken(self) -> Any:
        """Return the rows as a record batch, and begin anew."""
        columns = self._columns
        topics, partitions, kinds, counts = numpy.array(self._runs, dtype=numpy.int32).T
        names = pyarrow.DictionaryArray.from_arrays(
            pyarrow.array(numpy.repeat(topics, counts)), pyarrow.array(self._topics)
        )
        times = numpy.array(columns.timestamps, dtype=numpy.int64) * 1_000
        arrays = [
            pyarrow.array(columns.keys, pyarrow.binary()),
            pyarrow.array(columns.values, pyarrow.binary()),
            names.cast(pyarrow.string()),
            pyarrow.array(numpy.repeat(partitions, counts)),
            pyarrow.array(columns.offsets, pyarrow.int64()),
            pyarrow.array(times).cast(pyarrow.timestamp("us", tz="UTC")),
            pyarrow.array(numpy.repeat(kinds, counts)),
        ]
        fields = list(FIELDS)
        if self._with_headers:
            arrays.append(_headers(columns))
            fields.append(pyarrow.field("headers", HEADERS))
        self._clear()
        return pyarrow.RecordBatch.from_arrays(arrays, schema=pyarrow.schema(fields))


def _size_of(columns: RecordColumns) -> int:
    """Return the bytes of keys, values and headers."""
    size_bytes = sum(map(len, filter(None, columns.keys))) + sum(map(len, filter(None, columns.values)))
    for headers in columns.headers or ():
        size_bytes += sum(len(key) + len(value or b"") for key, value in headers)
    return size_bytes


def _headers(columns: RecordColumns) -> Any:
    """Return the headers of each record; null where there are none, as Spark's Kafka source has it."""
    if columns.headers is None:
        return pyarrow.nulls(len(columns), HEADERS)
    rows = [
        [
            {"key": key.encode(errors="surrogateescape").decode(errors="replace"), "value": value}
            for key, value in headers
        ]
        or None
        for headers in columns.headers
    ]
    return pyarrow.array(rows, HEADERS)
