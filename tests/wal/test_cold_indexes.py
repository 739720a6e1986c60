"""Reads that leave it to a thread to read indexes from the disk: another client would wait for that, too."""

from __future__ import annotations

import errno

import pytest

from tests.wal.logs import batch, commit, content, maintain, open_log, small_options
from wal.disk_errors import disk_error
from wal.errors import IndexNotLoaded
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.segment import Segment

COUNT = 60


def reopened(disk: MemoryDisk) -> tuple[VnodeLog, bytes]:
    """Return a log of many segments as it is after a start, and what its stream 1 has."""
    options = small_options(segment_bytes=4 << 10)
    log, sent = open_log(disk, options), b""
    for number in range(COUNT):
        data = batch(body=bytes([number]) * 300)
        log.append(1, data)
        log.append(2 + number % 3, batch(body=b"another" * 60))
        commit(log)
        sent += bytes(data)
    maintain(log)
    log.close(0)
    return open_log(disk, options), sent


def in_memory(log: VnodeLog) -> int:
    return sum(segment.index is not None for segment in log._state.segments.all)


def test_a_read_that_must_not_wait_names_what_a_thread_has_to_read_and_then_finds_it() -> None:
    log, sent = reopened(MemoryDisk())
    read, offset, loads = b"", 0, 0
    while offset < COUNT:
        before = in_memory(log)
        try:
            result = log.read(1, offset, 1 << 20, may_wait=False)
        except IndexNotLoaded as cold:
            assert in_memory(log) == before
            missing = cold
        else:
            assert in_memory(log) == before, "what is on the disk was not looked at"
            assert result.next_offset > offset
            read += content(result)
            offset = result.next_offset
            continue
        missing.load()
        assert in_memory(log) == before, "threads change nothing that the event loop looks at"
        assert missing.adopt()
        loads += 1
    assert read == sent
    assert loads > 5


def test_what_is_in_memory_is_read_as_ever() -> None:
    log, sent = reopened(MemoryDisk())
    offset = 0
    while offset < COUNT:
        offset = log.read(1, offset, 1 << 20).next_offset
    assert content(log.read(1, 0, 1 << 20, may_wait=False)) == sent


def test_an_index_that_cannot_be_loaded_is_left_to_a_read_that_may_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log, _ = reopened(MemoryDisk())
    with pytest.raises(IndexNotLoaded) as caught:
        log.read(1, 0, 1 << 20, may_wait=False)

    def broken(segment: Segment, _disk: object) -> None:
        raise disk_error("read from", segment.index_path, errno.EIO)

    with monkeypatch.context() as patched:
        patched.setattr(Segment, "read_index", broken)
        caught.value.load()
    assert not caught.value.adopt()
    assert log.read(1, 0, 1 << 20).size_bytes


def test_an_index_that_another_read_has_loaded_meanwhile_is_kept() -> None:
    log, _ = reopened(MemoryDisk())
    with pytest.raises(IndexNotLoaded) as caught:
        log.read(1, 0, 1 << 20, may_wait=False)
    caught.value.load()
    log.read(1, 0, 1 << 20)
    before = [segment.index for segment in log._state.segments.all]
    assert caught.value.adopt()
    assert [segment.index for segment in log._state.segments.all] == before


def test_a_read_that_may_wait_does_so_after_one_that_must_not() -> None:
    log, _ = reopened(MemoryDisk())
    with pytest.raises(IndexNotLoaded):
        log.read(1, 0, 1 << 20, may_wait=False)
    assert log.find_timestamp(1, 0) is not None
    assert log.read(1, 0, 1 << 20).size_bytes
