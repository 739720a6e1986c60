"""A log that is read without opening it has what readers of the open log get, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wal.compactions import compact, every_fifth, filled, seen, stored
from tests.wal.logs import (
    DIRECTORY,
    batch,
    commit,
    maintain,
    open_log,
    read_all,
    retire,
    small_options,
    stamp,
)
from tests.wal.test_tiering import filled as tiered
from wal.disk import Disk
from wal.errors import NotUsable, OffsetOutOfRange
from wal.format import EntryKind
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.offline_log import OfflineLog, Place, open_offline
from wal.segment import segment_name
from wal.transactions import TransactionMarker


def offline(disk: Disk, *, is_running: bool) -> OfflineLog:
    return open_offline(disk, DIRECTORY, vnode_id=0, is_running=is_running)


def bytes_at(disk: Disk, place: Place) -> bytes:
    file = disk.open(f"{DIRECTORY}/{segment_name(place.base_version)}", read_only=True)
    try:
        return file.read_at(place.position, place.size_bytes)
    finally:
        file.close()


def everything(disk: Disk, log: OfflineLog, stream_id: int) -> bytes:
    begin, end = log.bounds(stream_id)
    return b"".join(bytes_at(disk, place) for place in log.places(stream_id, begin, end))


def written(disk: MemoryDisk, appends: list[tuple[int, int]], checkpoint_ns: int = 1) -> VnodeLog:
    """Return a log with a commit for each append (stream, records), a checkpoint after each."""
    log = open_log(disk, small_options(segment_bytes=4 << 10, checkpoint_ns=checkpoint_ns))
    for stream_id, records in appends:
        log.append(stream_id, batch(records, body=b"x" * 300))
        commit(log)
        maintain(log)
    return log


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), max_size=60), st.booleans())
def test_all_streams_are_read_as_the_open_log_serves_them(
    appends: list[tuple[int, int]], is_running: bool
) -> None:
    disk = MemoryDisk()
    log = written(disk, appends)
    if not is_running:
        log.close(0)
    found = offline(disk, is_running=is_running)
    for stream_id in (1, 2, 3):
        assert found.bounds(stream_id) == (0, log.high_watermark(stream_id))
        assert everything(disk, found, stream_id) == read_all(log, stream_id)


@given(st.integers(0, 60), st.integers(0, 60))
def test_a_part_is_what_holds_the_offsets_asked_for(begin: int, length: int) -> None:
    disk = MemoryDisk()
    written(disk, [(1, 3)] * 20).close(0)
    end = min(begin + length, 60)
    places = list(offline(disk, is_running=False).places(1, begin, end))
    covered = {
        offset for place in places for offset in range(max(place.base, place.since), place.next_offset)
    }
    wanted = set(range(begin, end))
    assert wanted <= covered
    assert all(place.base < end and place.next_offset > begin and place.until == end for place in places)


def test_nothing_changes_on_the_disk_of_a_stopped_log_with_a_torn_end() -> None:
    disk = MemoryDisk()
    log = written(disk, [(1, 1)] * 5, checkpoint_ns=10**18)
    whole = read_all(log, 1)
    log.append(1, batch(7))
    job = log.begin_sync(0)
    assert job is not None
    job.run()  # written, and then the process ends
    effects: list[object] = []
    disk.observe = effects.append
    found = offline(disk, is_running=False)
    assert everything(disk, found, 1).startswith(whole)
    assert (found.bounds(1), effects) == ((0, 12), [])


def test_of_a_running_log_only_what_a_checkpoint_covers_is_read() -> None:
    disk = MemoryDisk()
    log = written(disk, [(1, 1)] * 5)
    log.append(1, batch(7))
    commit(log)
    assert log.high_watermark(1) == 12
    assert offline(disk, is_running=True).bounds(1) == (0, 5)


def test_a_running_log_without_a_checkpoint_is_refused_and_one_without_records_is_empty() -> None:
    disk = MemoryDisk()
    open_log(disk)
    assert offline(disk, is_running=True).bounds(1) == (0, 0)
    log = written(disk, [(1, 1)], checkpoint_ns=10**18)
    with pytest.raises(NotUsable, match="has not written a checkpoint yet"):
        offline(disk, is_running=True)
    log.close(0)
    assert offline(disk, is_running=True).bounds(1) == (0, 1)


def test_the_end_is_before_the_first_open_transaction_and_aborted_ones_are_named() -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    log.append(1, batch(2), producer=stamp(0, 2, producer=5, transactional=True))
    log.append(1, batch(attributes=0x30), kind=EntryKind.CONTROL, producer=TransactionMarker(5, 0, 0, False))
    log.append(1, batch(1), producer=stamp(0, producer=6, transactional=True))
    commit(log)
    log.close(0)
    found = offline(disk, is_running=False)
    assert found.bounds(1) == (0, 3)
    assert [aborted[:3] for aborted in found.aborted(1, 0, 3)] == [(5, 0, 2)]
    assert found.aborted(1, 3, 4) == []


def test_below_the_clean_end_the_copies_are_read() -> None:
    disk = MemoryDisk()
    log = filled(disk)
    compact(log, 7, 20, every_fifth)
    kept = seen(log, 7)
    log.close(0)
    found = offline(disk, is_running=False)
    begin, end = found.bounds(7)
    places = list(found.places(7, begin, end))
    bases = [base for place in places for base in stored(bytes_at(disk, place)) if base >= place.since]
    assert (bases, begin, end) == (sorted(kept), 0, 40)


def test_what_retention_removed_since_the_checkpoint_is_an_error_and_no_gap() -> None:
    disk = MemoryDisk()
    log = written(disk, [(1, 3)] * 40)
    found = offline(disk, is_running=True)
    first = next(iter(found.places(1, 0, 120)))
    disk.remove(f"{DIRECTORY}/{segment_name(first.base_version)}")
    with pytest.raises(OffsetOutOfRange):
        list(offline(disk, is_running=True).places(1, 0, 120))
    assert retire(log, 0) == 0


@pytest.mark.parametrize("is_running", [True, False])
def test_what_is_in_the_object_store_alone_has_its_place_in_an_object(is_running: bool) -> None:
    node, written = tiered()
    left = node.tier()
    found = open_offline(node.disk, node.store.vnode_path("default", 0), vnode_id=0, is_running=is_running)
    begin, end = found.bounds(7)
    assert (begin, end) == (0, len(written))
    places = list(found.places(7, begin, end))
    remote = [place for place in places if place.record is not None]
    assert {place.base_version for place in remote} == set(left)
    for place in remote:
        assert place.record is not None
        stored = node.objects.objects[place.record.key].data
        assert written[place.base] in stored[place.position : place.position + place.size_bytes]
