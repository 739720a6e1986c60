"""The extents of a stream with and without copies, and the stream under which each was written."""

from __future__ import annotations

from itertools import pairwise

from tests.wal.compactions import compact, every_fifth, filled
from wal.extents import extent_ref, extents_from, slots_from
from wal.memory_disk import MemoryDisk


def test_extents_of_a_stream_follow_each_other_from_the_one_with_the_offset_on() -> None:
    log = filled(MemoryDisk())
    state = log._state
    stream = state.streams[7]
    found = [(index.base[row], index.count[row]) for _, index, row, _ in extents_from(state, stream, 13)]
    assert found[0][0] <= 13 < sum(found[0])
    assert all(sum(before) == after[0] for before, after in pairwise(found))


def test_copies_come_first_and_belong_to_a_stream_of_their_own() -> None:
    log = filled(MemoryDisk())
    compact(log, 7, 30, every_fifth)
    state = log._state
    stream = state.streams[7]
    owners = [
        extent_ref(state, stream, slots, row).stream.stream_id
        for slots in slots_from(state, stream, 0)
        for row in slots.rows[slots.place :]
    ]
    assert owners == sorted(owners, reverse=True)
    assert set(owners) == {stream.copies_id, 7}
