"""A partition as a group sees it that has settings of its own for reading (group configs `kawal.…`).

A member view wraps a partition of a stored topic or of a view, keeps its offsets, and leaves out

    records with the header `kawal.origin`            kawal.consume.excluded
    all but the last record of each key, below an end  kawal.snapshot.enable

and puts changes of topics that follow each other into one batch (kawal.enable.batch.meta).  Like any view it
shows committed records only, and moves its reader past what it leaves out.  What is left out is found anew by
each fetch, in slices; a batch is opened only if it may hold such a record.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import islice
from typing import TYPE_CHECKING, Final

from broker.catalogue.catalogue_changes import KIND_HEADER
from broker.loop.slices import Until, WaitingSteps
from broker.storage.message_id_headers import adds_ids, with_ids
from broker.view_topics.scanned_view import FETCH_MS, FETCH_SLICES, SCAN_BYTES, is_aborted
from broker.view_topics.view_partition import ViewPartition, ViewRead
from broker.view_topics.view_slices import SliceBudget
from protocol.errors import ProtocolError
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch
from protocol.records import BatchHeader, iter_batches, read_batch_header
from wal.segment import FileRange

if TYPE_CHECKING:
    from broker.loop.loop import Loop
    from broker.storage.partition import Partition
    from broker.view_topics.key_snapshot import KeySnapshot
    from wal.reader import Part

ORIGIN_HEADER: Final = "kawal.origin"
"""The header of records that were written by restoring them from elsewhere."""

_ORIGIN: Final = ORIGIN_HEADER.encode()
_KIND: Final = KIND_HEADER[0].encode()

RECORDS_PER_STEP: Final = 500
"""Records judged between two looks at the time."""

SPAN_MAX: Final = 100_000
"""The most offsets between the first and the last change in a batch."""

Piece = bytes | bytearray | memoryview
Shown = list[tuple[Piece, int]]
"""Batches, each with the offset after it."""


class MemberView:
    """One partition for the members of one group."""

    __slots__ = ("_loop", "excludes", "packs_changes", "partition", "snapshot")

    def __init__(self, loop: Loop, partition: Partition) -> None:
        self._loop = loop
        self.partition = partition
        self.excludes = False
        self.packs_changes = False
        self.snapshot: KeySnapshot | None = None

    @property
    def index(self) -> int:
        """The number of the partition."""
        return self.partition.index

    @property
    def high_watermark(self) -> int:
        """The end of the decided records."""
        return self.partition.last_stable_offset

    def has_news(self, read: ViewRead) -> bool:
        """Whether a read without records is answered at once with its progress."""
        if isinstance(self.partition, ViewPartition):
            return self.partition.has_news(read)
        return read.has_progress

    def began_waiting(self, position: int, now_ms: int) -> None:
        """Arrange that a parked fetch is woken; for a stored partition, its own records do that."""
        if isinstance(self.partition, ViewPartition):
            self.partition.began_waiting(position, now_ms)

    # --- reading ---------------------------------------------------------------------------------------

    def steps(self, read: ViewRead) -> WaitingSteps:
        """Show the records from the read's offset on.

        Raises: OffsetOutOfRange, WalError, DiskError.
        """
        budget = SliceBudget(self._loop.stats.clock_ns)
        if self.snapshot is not None and not self.snapshot.is_complete:
            yield from self._take_snapshot(self.snapshot, read, budget)
            if read.stopped:
                return
        for slices in range(FETCH_SLICES):
            if read.is_full or read.position >= self.high_watermark:
                return
            if slices and self._loop.clock.turn_ms - read.now_ms > FETCH_MS:
                break
            part = self._part_of(read, read.position, min(SCAN_BYTES, read.max_bytes - read.size_bytes))
            yield from self._read(part)
            for batch, next_offset in (yield from self._shown(part, budget)):
                read.add(batch, len(batch), next_offset)
            read.position = part.position
            if part.due_ms is not None or part.stopped or part.position == part.offset:
                read.stopped, read.due_ms = part.stopped, part.due_ms
                return
            yield None
        read.stopped = read.position < self.high_watermark

    def _part_of(self, read: ViewRead, offset: int, max_bytes: int) -> ViewRead:
        return ViewRead(
            offset,
            max_bytes,
            minimum_one=read.minimum_one and not read.parts,
            scans=read.scans,
            may_wait=read.may_wait,
            now_ms=read.now_ms,
            reader=read.reader,
        )

    def _read(self, part: ViewRead) -> WaitingSteps:
        """Read some of the partition, at least one batch if the part must have one."""
        if isinstance(self.partition, ViewPartition):
            yield from self.partition.steps(part)
            return
        result = self.partition.read(
            part.offset, part.max_bytes, minimum_one=part.minimum_one, end=self.high_watermark
        )
        if adds_ids(self.partition):
            # What groups leave out is judged by the records as they are shown.
            result = yield from with_ids(
                self.partition,
                result,
                part.max_bytes,
                minimum_one=part.minimum_one,
                offload=self._loop.scheduler.offload,
            )
        part.add_stored(result)
        if part.minimum_one and not result.size_bytes:
            # Nothing is stored from here on: compaction has removed it.
            part.position = self.high_watermark

    def _take_snapshot(self, snapshot: KeySnapshot, read: ViewRead, budget: SliceBudget) -> WaitingSteps:
        """Note the keys below the snapshot's end, as far as one fetch may take."""
        for slices in range(FETCH_SLICES):
            if snapshot.is_complete:
                return
            if slices and self._loop.clock.turn_ms - read.now_ms > FETCH_MS:
                break
            # All records count, whatever has room in this answer.
            part = ViewRead(snapshot.noted, SCAN_BYTES, scans=True, now_ms=read.now_ms, reader=read.reader)
            yield from self._read(part)
            yield from snapshot.note(self._batches_of(part), max(part.position, snapshot.noted), budget)
            if part.position == part.offset:
                break
            yield None
        read.stopped = not snapshot.is_complete

    def _batches_of(self, part: ViewRead) -> list[memoryview]:
        """Return the committed batches that were read, without those that end transactions."""
        data = b"".join(_bytes_of(piece) for piece in part.parts)
        batches = list(iter_batches(data))
        if isinstance(self.partition, ViewPartition):
            return batches
        aborted = self.partition.aborted_between(part.offset, max(part.position, part.offset))
        kept = []
        for batch in batches:
            header = read_batch_header(batch)
            if not (header.is_control or is_aborted(header, aborted)):
                kept.append(batch)
        return kept

    # --- leaving out -----------------------------------------------------------------------------------

    def _shown(self, part: ViewRead, budget: SliceBudget) -> Generator[Until | None, None, Shown]:
        """Return what is shown of a part, each batch with the offset after it."""
        shown: Shown = []
        for batch in self._batches_of(part):
            header = read_batch_header(batch)
            kept: Piece | None = batch
            if self._may_leave_out(batch, header):
                kept = yield from self._kept(batch, header, part.offset)
            if kept is not None:
                shown.append((kept, header.last_offset + 1))
            if budget.spend(records=header.record_count, size_bytes=header.size_bytes):
                yield None
        return _packed(shown) if self.packs_changes else shown

    def _may_leave_out(self, batch: memoryview, header: BatchHeader) -> bool:
        if self.snapshot is not None and header.base_offset < self.snapshot.end:
            return True
        return self.excludes and (bool(header.codec) or _ORIGIN in bytes(batch))

    def _kept(
        self, batch: memoryview, header: BatchHeader, offset: int
    ) -> Generator[Until | None, None, bytearray | memoryview | None]:
        """Return the batch without the records that are left out; None if none is left."""
        kept: list[Record] = []
        try:
            records = iter_records(batch)
            while step := list(islice(records, RECORDS_PER_STEP)):
                kept += (record for record in step if self._keeps(record))
                yield None
        except ProtocolError:
            # Records that cannot be read are shown as they are; the reader says so.
            return batch
        if len(kept) == header.record_count:
            return batch
        if not kept or kept[-1].offset < offset:
            return None
        return _batch_of(kept, header, header.last_offset)

    def _keeps(self, record: Record) -> bool:
        if self.snapshot is not None and not self.snapshot.shows(record):
            return False
        return not (self.excludes and any(name == ORIGIN_HEADER for name, _ in record.headers))


def _bytes_of(piece: Part) -> Piece:
    return piece.read() if isinstance(piece, FileRange) else piece


def _batch_of(records: list[Record], header: BatchHeader, last_offset: int) -> bytearray:
    return encode_batch(
        records,
        base_offset=header.base_offset,
        last_offset=last_offset,
        leader_epoch=header.leader_epoch,
        append_time_ms=header.max_timestamp if header.is_append_time else None,
    )


def _packed(shown: Shown) -> Shown:
    """Put changes of topics that follow each other into one batch."""
    runs: list[tuple[list[Record], Piece, int]] = []
    for batch, next_offset in shown:
        changes = _changes_in(batch)
        if changes and runs and runs[-1][0] and next_offset - runs[-1][0][0].offset <= SPAN_MAX:
            changes = runs.pop()[0] + changes
        runs.append((changes, batch, next_offset))
    return [
        (encode_batch(changes, last_offset=end - 1, leader_epoch=0) if len(changes) > 1 else batch, end)
        for changes, batch, end in runs
    ]


def _changes_in(batch: Piece) -> list[Record]:
    """Return the record of a batch of one change; nothing for any other batch."""
    if read_batch_header(batch).record_count != 1 or _KIND not in bytes(batch):
        return []
    try:
        (record,) = iter_records(batch)
    except ProtocolError:
        return []
    return [record] if KIND_HEADER in record.headers else []
