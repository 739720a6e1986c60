"""Parts of a partition in memory, a piece at a time, as share groups and their dead letters read them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final, NamedTuple

from broker.loop.slices import Offload, Until, in_thread
from broker.storage.message_id_headers import adds_ids, with_ids
from broker.storage.partition import Partition
from broker.storage.remote_waits import when_fetched
from broker.view_topics.view_partition import ViewPartition, ViewRead
from protocol.records import BatchHeader
from wal.reader import Part, ReadResult
from wal.segment import FileRange
from wal.transactions import AbortedTransaction

PIECE_BYTES: Final = 48 << 10
"""The bytes read at a time: few batches are then read in vain, and small ones are read from memory."""

NO_LIMIT: Final = 1 << 62


class Piece(NamedTuple):
    """A part of a partition as it was read."""

    data: memoryview
    first: int
    """The offset from which it was read."""
    end: int
    """The offset before which everything was read."""


def no_others() -> None:
    """Ask for nothing else."""


def read_piece(
    partition: Partition,
    read: ViewRead,
    end: int,
    offload: Offload,
    before_wait: Callable[[], None] = no_others,
) -> Generator[Until | None, None, Piece]:
    """Read a part of a partition, stored or a view, up to an offset.

    `before_wait()` is called before a wait for the object store: what it asks for comes meanwhile.
    Raises: OffsetOutOfRange, WalError, DiskError.
    """
    parts: list[Part]
    if isinstance(partition, ViewPartition):
        yield from partition.steps(read)
        parts, reached = read.parts, read.position
    else:
        result = yield from when_fetched(
            lambda: partition.read(read.offset, read.max_bytes, minimum_one=read.minimum_one, end=end),
            before_wait,
        )
        parts, reached = result.parts, result.next_offset
    if any(isinstance(part, FileRange) for part in parts):
        data = yield from in_thread(offload, lambda: _joined(parts))
    else:
        data = _joined(parts)
    return Piece(memoryview(data), read.offset, reached)


def read_shown_piece(
    partition: Partition,
    read: ViewRead,
    end: int,
    offload: Offload,
    before_wait: Callable[[], None] = no_others,
) -> Generator[Until | None, None, Piece]:
    """Read a part of a partition in the same way, with ids in the records if its topic asks for that.

    Raises: OffsetOutOfRange, WalError, DiskError.
    """
    piece = yield from read_piece(partition, read, end, offload, before_wait)
    if not adds_ids(partition):
        return piece
    stored = ReadResult([piece.data], len(piece.data), piece.end)
    given = yield from with_ids(partition, stored, NO_LIMIT, minimum_one=True, offload=offload)
    return piece._replace(data=memoryview(_joined(given.parts)))


def _joined(parts: list[Part]) -> bytes | bytearray | memoryview:
    buffers = [part.read() if isinstance(part, FileRange) else part for part in parts]
    return buffers[0] if len(buffers) == 1 else b"".join(buffers)


def is_aborted(header: BatchHeader, aborted: list[AbortedTransaction]) -> bool:
    """Whether a batch is part of one of these transactions."""
    return header.is_transactional and any(
        entry.producer_id == header.producer_id
        and entry.first_offset <= header.base_offset <= entry.last_offset
        for entry in aborted
    )
