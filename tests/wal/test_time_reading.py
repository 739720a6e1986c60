"""The search for an extent by its time, from segment to segment."""

from __future__ import annotations

import pytest

from tests.wal.logs import batch, commit, maintain, open_log, small_options
from wal.errors import IndexNotLoaded
from wal.log import VnodeLog
from wal.lookup import StreamExtent
from wal.memory_disk import MemoryDisk

COUNT = 40


def written(disk: MemoryDisk) -> VnodeLog:
    log = open_log(disk, small_options(segment_bytes=4 << 10))
    for number in range(COUNT):
        log.append(1, batch(timestamp=number % 7, body=b"x" * 300))
        log.append(2, batch(timestamp=1_000, body=b"y" * 300))
        commit(log)
    maintain(log)
    return log


@pytest.mark.parametrize("time", range(8))
def test_the_extents_found_are_those_of_the_batches_found(time: int) -> None:
    log = written(MemoryDisk())
    offset, asked = 0, 0
    while True:
        found = log.next_extent_since(1, time, from_offset=offset)
        hit = log.find_timestamp(1, time, from_offset=offset)
        asked += 1
        if isinstance(found, int):
            assert found > offset
            assert hit is None or hit.base_offset >= found
            offset = found
            continue
        if found is None:
            assert hit is None
            break
        assert hit is not None
        assert found.base_offset <= hit.base_offset < found.next_offset
        offset = hit.next_offset
    assert asked >= (COUNT // 7 if time < 7 else 2)


def test_an_unknown_or_empty_stream_has_none() -> None:
    log = written(MemoryDisk())
    assert log.next_extent_since(99, 0, from_offset=0) is None
    assert log.newest_time(99) is None
    assert log.next_extent_since(1, 0, from_offset=COUNT) is None


def test_a_search_that_must_not_wait_goes_on_where_a_segment_ended() -> None:
    disk = MemoryDisk()
    written(disk).close(0)
    log = open_log(disk, small_options(segment_bytes=4 << 10))
    offset = loads = 0
    while True:
        try:
            found = log.next_extent_since(1, 500, from_offset=offset, may_wait=False)
        except IndexNotLoaded as cold:
            missing = cold
        else:
            assert not isinstance(found, StreamExtent)
            if found is None:
                break
            offset = found
            continue
        missing.load()
        assert missing.adopt()
        loads += 1
    assert (offset, loads > 5) == (COUNT, True)
    assert log._state.must_not_wait is False
