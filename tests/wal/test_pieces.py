"""The pieces of extents that a read hands out."""

from __future__ import annotations

from tests.wal.logs import batch, commit, open_log
from wal.checking import ExtentRef
from wal.index import ActiveIndex
from wal.memory_disk import MemoryDisk
from wal.pieces import Piece, run_end, stored_elsewhere
from wal.segment import FileRange, Segment
from wal.stream import Stream

SEGMENT = Segment("s.wal", base_version=0, base_sequence=0, salt=1)


def piece(position: int, size: int, *, data: bytes | None = None, start: int = 0) -> Piece:
    """Return a piece that begins `start` bytes after the beginning of its extent."""
    extent = ExtentRef(SEGMENT, ActiveIndex(), 0, Stream(7))
    return Piece(SEGMENT, position, size, position - start, extent, False, data)


def test_pieces_are_contiguous_when_one_begins_where_the_other_ends() -> None:
    assert run_end([piece(100, 50), piece(150, 10)], 0) == 2
    assert run_end([piece(100, 50), piece(151, 10)], 0) == 1


def test_of_an_extent_in_the_object_store_only_the_piece_is_given() -> None:
    assert bytes(stored_elsewhere(piece(110, 3, data=b"0123456789abcdef", start=10))) == b"abc"


def test_batches_in_memory_are_given_as_they_arrived() -> None:
    log = open_log(MemoryDisk())
    data = batch(body=b"x" * 100)
    log.append(7, data)
    commit(log)
    assert [bytes(part) for part in log.read(7, 0, 1_000).parts if not isinstance(part, FileRange)] == [data]
