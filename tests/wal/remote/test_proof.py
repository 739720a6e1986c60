"""The proof that an object has a segment's bytes."""

from __future__ import annotations

import pytest
from crc32c import crc32c

from wal.memory_objects import MemoryObjects, ObjectFault
from wal.objects import StoreAway
from wal.remote.formats import RemoteSegment
from wal.remote.proof import PIECE_BYTES, ProofReads, has_its_bytes


def stored(data: bytes) -> tuple[MemoryObjects, RemoteSegment]:
    """Return a store with these bytes, and the segment that they are."""
    objects = MemoryObjects()
    objects.create("a", data)
    return objects, RemoteSegment("a", 0, 1, 5, len(data), crc32c(data))


@pytest.mark.parametrize("size", [1, 1_000, PIECE_BYTES, PIECE_BYTES + 1])
def test_an_object_with_the_bytes_that_were_uploaded_is_the_segment(size: int) -> None:
    objects, segment = stored(b"x" * size)
    assert has_its_bytes(objects, "a", segment)


@pytest.mark.parametrize("fault", [ObjectFault.DAMAGED, ObjectFault.SHORT])
def test_an_object_with_other_bytes_is_not(fault: ObjectFault) -> None:
    objects, segment = stored(b"x" * 1_000)
    objects.hook = lambda _: fault
    assert not has_its_bytes(objects, "a", segment)


def test_an_object_that_is_missing_is_not() -> None:
    objects, segment = stored(b"x")
    objects.remove("a")
    assert not has_its_bytes(objects, "a", segment)


def test_what_was_read_is_counted_also_when_the_store_gave_no_answer() -> None:
    objects, segment = stored(b"x" * 1_000)
    reads = ProofReads(objects, 1_500)
    assert (reads.prove("a", segment), reads.are_over) == (True, False)
    objects.hook = lambda _: ObjectFault.AWAY
    assert (reads.prove("a", segment), reads.are_over, reads.read_bytes) == (None, True, 2_000)


def test_a_store_that_is_away_proves_nothing_either_way() -> None:
    objects, segment = stored(b"x")
    objects.hook = lambda _: ObjectFault.AWAY
    with pytest.raises(StoreAway):
        has_its_bytes(objects, "a", segment)
