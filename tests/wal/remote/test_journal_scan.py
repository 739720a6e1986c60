"""Reading a journal, and ending it: a FENCE and a chunk want the same key, and one of them gets it."""

from __future__ import annotations

import pytest

from tests.wal.remote.journals import mark
from wal.memory_objects import MemoryObjects, ObjectCall, ObjectFault
from wal.objects import Fenced, StoreAway, put_once
from wal.remote.formats import JournalMark, RemoteDamaged
from wal.remote.journal_format import JournalHeader, encode_journal, journal_key
from wal.remote.journal_scan import chunks, fence, read_journal

Journal = MemoryObjects


def put(objects: Journal, epoch: int, number: int) -> None:
    """Store a chunk as its writer does.  Raises: Fenced."""
    header = JournalHeader(epoch=epoch, number=number, incarnation=f"writer-{epoch}")
    put_once(objects, journal_key("c", epoch, number), encode_journal(header))


def stored(*places: tuple[int, int]) -> Journal:
    """Return a store with these chunks."""
    objects = MemoryObjects()
    for epoch, number in places:
        put(objects, epoch, number)
    return objects


def found(objects: Journal, since: JournalMark, epoch: int) -> list[JournalMark]:
    """Return the places of the chunks that count."""
    return [place for place, _ in chunks(objects, "c", since, epoch=epoch)]


def ended(objects: Journal, since: JournalMark, epoch: int) -> list[JournalMark]:
    """Return the places of the chunks before the FENCE that is made."""
    return [place for place, _ in fence(objects, "c", since, epoch=epoch, incarnation=f"by-{epoch}")]


def test_chunks_are_those_from_the_mark_to_the_first_missing_number_of_each_epoch() -> None:
    objects = stored((1, 0), (1, 1), (1, 3), (2, 0), (3, 0))
    assert found(objects, mark(1, 1), 2) == [mark(1, 1), mark(2, 0)]
    assert found(objects, mark(1, 2), 1) == []


def test_what_lies_beyond_a_fence_does_not_count() -> None:
    objects = stored((1, 0))
    assert ended(objects, mark(1, 0), 2) == [mark(1, 0)]
    put(objects, 1, 2)
    assert found(objects, mark(1, 0), 2) == [mark(1, 0)]


def test_after_a_fence_the_writer_adds_nothing_in_its_place() -> None:
    objects = stored((1, 0))
    ended(objects, mark(1, 0), 2)
    with pytest.raises(Fenced):
        put(objects, 1, 1)


def test_a_chunk_that_is_quicker_than_the_fence_counts_and_the_fence_comes_after_it() -> None:
    objects = stored((1, 0))
    quick = True

    def hook(call: ObjectCall) -> None:
        nonlocal quick
        if call.kind == "create" and quick:
            quick = False
            put(objects, 1, 1)

    objects.hook = hook
    assert ended(objects, mark(1, 0), 2) == [mark(1, 0), mark(1, 1)]
    last = read_journal(objects, "c", mark(1, 2))
    assert last is not None
    assert last.is_fence


def test_each_older_epoch_is_ended_also_one_without_a_chunk() -> None:
    objects = stored((1, 0))
    assert ended(objects, mark(1, 1), 4) == []
    assert sorted(objects.objects)[1:] == [
        journal_key("c", epoch, number) for epoch, number in [(1, 1), (2, 0), (3, 0)]
    ]
    before = dict(objects.objects)
    assert ended(objects, mark(1, 1), 4) == []
    assert objects.objects == before, "once is enough"


@pytest.mark.parametrize(
    "fault", [ObjectFault.AWAY, ObjectFault.LOST, ObjectFault.LATE, ObjectFault.CONFLICT]
)
def test_a_fence_that_is_made_again_after_any_fault_ends_the_epoch_in_one_place(fault: ObjectFault) -> None:
    objects = stored((1, 0))
    faults = [fault]
    objects.hook = lambda call: faults.pop() if faults and call.kind == "create" else None
    try:
        ended(objects, mark(1, 0), 2)
    except StoreAway:
        assert ended(objects, mark(1, 0), 2) == [mark(1, 0)]
    objects.land_late()
    with pytest.raises(Fenced):
        put(objects, 1, 1)
    assert len(objects.objects) == 2


def test_a_late_fence_that_a_chunk_was_quicker_than_changes_nothing() -> None:
    objects = stored((1, 0))
    objects.hook = lambda call: ObjectFault.LATE if call.kind == "create" else None
    with pytest.raises(StoreAway):
        ended(objects, mark(1, 0), 2)
    objects.hook = None
    put(objects, 1, 1)
    objects.land_late()
    assert found(objects, mark(1, 0), 1) == [mark(1, 0), mark(1, 1)]


def test_a_damaged_chunk_is_an_error_that_names_it_and_no_end() -> None:
    objects = stored((1, 0), (1, 1))
    objects.hook = lambda call: ObjectFault.DAMAGED if call.key.endswith("1") else None
    with pytest.raises(RemoteDamaged, match=r"memory/c/journal/0000000001/0+1: "):
        found(objects, mark(1, 0), 1)
    with pytest.raises(RemoteDamaged):
        ended(objects, mark(1, 0), 2)
