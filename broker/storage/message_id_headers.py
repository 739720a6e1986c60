"""Ids of messages as headers of the records that a fetch gives (`kawal.message.id.header`).

What is stored stays as it is: batches are written anew on their way to the client. They keep offsets, leader
epoch, producer, sequence, timestamps, codec and transaction, so that readers of all isolation levels, and
clients that go on inside a batch, see what they would see otherwise.  A record's own header of this name
gives way.  Batches without records, those that cannot be opened, and those whose numbers were lost in a
repair are given as they are stored.

The number of a batch is that of the batch before it plus one, or that of a mark (wal/ledgers.py).  Where a
reader goes on the number is known; elsewhere it is counted from a mark, once.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Final

from broker.config.message_keys import is_nonpartitioned
from broker.errors import RequestError
from broker.loop.slices import Offload, Pace, Until, in_thread
from broker.storage.counted_partition import CountedPartition
from broker.storage.message_ids import NO_INDEX, NO_PARTITION, ordinal_at
from broker.storage.parts import joined_in_thread
from protocol.added_header import with_header
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError
from protocol.records import BatchHeader, iter_batches, read_batch_header
from wal.entries import entry_weight
from wal.ledgers import Flags, Ledgers
from wal.reader import ReadResult

if TYPE_CHECKING:
    from broker.storage.partition import Partition
    from wal.reader import Part

HEADER_NAME: Final = "kawal-message-id"

READ_BYTES: Final = 256 << 10
"""The most bytes of a partition that are written anew for one answer, but for one batch: about 5 ms."""

IN_THREAD_BYTES: Final = 64 << 10
"""Batches of this size are written anew in a thread."""

RECORDS_PER_STEP: Final = 500
"""Records of smaller ones that are written anew between two looks at the time, in 1 ms."""

Steps = Generator[Until | None, None, ReadResult]


def adds_ids(partition: Partition) -> bool:
    """Whether records of the partition are given with their ids."""
    return isinstance(partition, CountedPartition) and partition.shows_ids


def with_ids(
    partition: Partition, result: ReadResult, max_bytes: int, *, minimum_one: bool, offload: Offload
) -> Steps:
    """Return what was read of a partition with ids in the records, as far as `max_bytes` has room for it.

    Raises: WalError, DiskError, RequestError(KAFKA_STORAGE_ERROR).
    """
    assert isinstance(partition, CountedPartition)
    numbering, pace = _Numbering(partition, offload), Pace(RECORDS_PER_STEP)
    data = yield from joined_in_thread(result.parts, offload)
    parts: list[Part] = []
    size_bytes, next_offset = 0, -1
    for batch in iter_batches(data):
        header = read_batch_header(batch)
        prefix = yield from numbering.prefix_of(header)
        given: bytearray | memoryview | None = None
        if prefix is not None and header.record_count > 0 and not header.is_control:
            if len(batch) >= IN_THREAD_BYTES:
                given = yield from in_thread(
                    offload,
                    lambda batch=batch, prefix=prefix: _identified(batch, prefix),  # type: ignore[misc]
                )
            else:
                given = _identified(batch, prefix)
                if pace.due(header.record_count):
                    yield None
        given = batch if given is None else given
        if size_bytes + len(given) > max_bytes and not (minimum_one and not parts):
            break
        parts.append(given)
        size_bytes += len(given)
        next_offset = header.last_offset + 1
        numbering.pass_over(header)
    numbering.keep()
    return ReadResult(parts, size_bytes, next_offset if parts else result.next_offset, result.piece_count)


class _Numbering:
    """The numbers of batches that follow each other."""

    def __init__(self, partition: CountedPartition, offload: Offload) -> None:
        self._partition = partition
        self._offload = offload
        # A topic that was deleted has none.
        self._ledgers = partition.vnode.log.ledgers(partition.stream_id) or Ledgers()
        self._shown = NO_PARTITION if is_nonpartitioned(partition.topic.configs) else partition.index
        self._ordinal: int | None = None
        # The batch after the last one that was given, and its number.
        self._next: tuple[int, int | None] = -1, None

    def prefix_of(self, header: BatchHeader) -> Generator[Until | None, None, str | None]:
        """Return what stands before the batch index in the batch's ids; None if it is not known."""
        offset = header.base_offset
        ordinal = yield from self._ordinal_of(offset)
        self._ordinal = ordinal
        ledger = self._ledgers.ledger_at(offset)
        if ordinal is None or ledger is None or ledger.flags & Flags.UNNUMBERED:
            return None
        return f"{ledger.ledger_id}:{ordinal - ledger.ordinal}:{self._shown}:"

    def _ordinal_of(self, offset: int) -> Generator[Until | None, None, int | None]:
        marks = self._ledgers.around_offset(offset, self._partition.high_watermark)
        if marks is not None and marks.offset == offset:
            return marks.ordinal
        if self._next[0] == offset:
            return self._next[1]
        if (known := self._partition.number_at(offset)) is not None:
            return known
        if self._partition.vnode.log.ledgers(self._partition.stream_id) is None:
            return None  # the topic was deleted meanwhile
        try:
            return (yield from ordinal_at(self._partition, offset, self._offload))
        except RequestError as error:
            if error.code == ErrorCode.KAFKA_STORAGE_ERROR:
                raise
            return None  # compaction has replaced the batches again and again

    def pass_over(self, header: BatchHeader) -> None:
        """Learn that the batch is given."""
        number = self._ordinal
        if number is not None:
            number += entry_weight(header.producer_id, header.base_sequence, header.record_count)
        self._next = header.last_offset + 1, number

    def keep(self) -> None:
        """Keep the number of the batch at which the reader goes on."""
        offset, number = self._next
        if number is not None:
            self._partition.note_number(offset, number)


def _identified(batch: memoryview, before: str) -> bytearray | None:
    """Return the batch with an id in each record; None if it cannot be opened."""
    header = read_batch_header(batch)
    prefix = before.encode()
    alone = prefix + str(NO_INDEX).encode()
    is_alone = header.last_offset_delta == 0
    try:
        return with_header(batch, HEADER_NAME, lambda delta: alone if is_alone else b"%s%d" % (prefix, delta))
    except ProtocolError:
        return None
