"""A log's facts about its streams: none before they are synced, and the same after a restart."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.wal.logs import batch, commit, maintain, open_log, small_options
from wal.errors import OffsetOutOfRange
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.producers import NEW, ProducerStamp


def facts(log: VnodeLog, stream_id: int) -> object:
    """Return all that the log says of a stream, without its batches."""
    newest = log.max_timestamp(stream_id)
    return (
        log.log_start(stream_id), log.high_watermark(stream_id), log.next_offset(stream_id),
        log.stream_size_bytes(stream_id), log.leader_epoch(stream_id), log.leader_epochs(stream_id),
        newest[:3] if newest is not None else None,
        [extent.max_timestamp for extent in log.extents(stream_id)],
    )  # fmt: skip


def test_of_an_unknown_stream_there_is_nothing_to_tell() -> None:
    log = open_log(MemoryDisk())
    log.append(1, batch())
    commit(log)

    assert facts(log, 2) == (0, 0, 0, 0, 0, [(0, 0)], None, [])
    assert log.find_timestamp(2, 0) is None
    assert log.producers(2).check(ProducerStamp(7, 0, 50, 1)) == NEW
    assert list(log.streams()) == [1]


def test_what_is_appended_moves_the_log_end_and_nothing_else() -> None:
    log = open_log(MemoryDisk())
    before = facts(log, 1)

    log.append(1, batch(4, timestamp=9))
    log.append_meta(1, b"note")

    assert log.next_offset(1) == 4
    assert (log.high_watermark(1), log.stream_size_bytes(1), log.max_timestamp(1)) == (0, 0, None)
    assert (log.next_version, log.read_versions(0, 1_000)) == (0, [])
    commit(log)
    assert log.high_watermark(1) == 4
    assert log.next_version == 5
    assert facts(log, 1) != before


def test_the_streams_of_the_last_deletions_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wal.state.DELETIONS_KEPT", 3)
    log = open_log(MemoryDisk())
    for stream_id in range(1, 6):
        log.append(stream_id, batch(4))
    commit(log)
    assert log.deleted_since(0) == []
    for stream_id in range(1, 4):
        log.set_log_start(stream_id, 2)
        assert log.deletions == stream_id - 1, "it is not durable yet"
        commit(log)
    assert (log.deleted_since(0), log.deleted_since(2), log.deleted_since(3)) == ([3, 2, 1], [3], [])
    log.drop_stream(4)
    commit(log)
    assert (log.deletions, log.deleted_since(1), log.deleted_since(0)) == (4, [4, 3, 2], None)


@pytest.mark.parametrize("offset", [-1, 1, 2**63 - 1])
def test_reading_outside_names_the_bounds_of_the_stream(offset: int) -> None:
    log = open_log(MemoryDisk())

    with pytest.raises(OffsetOutOfRange) as raised:
        log.read(9, offset, 100)

    error = raised.value
    assert (error.stream_id, error.offset, error.log_start, error.high_watermark) == (9, offset, 0, 0)


def test_the_first_version_is_that_of_the_oldest_segment_kept() -> None:
    log = open_log(MemoryDisk(), small_options(segment_bytes=4 << 10))
    assert log.first_version == 0
    for _ in range(12):
        log.append(1, batch(2, body=bytes(900)))
        commit(log)
    for _ in range(2):
        log._maintenance.checkpoint_wanted = True
        maintain(log)

    log.retire_below(log._state.segments.all[2].base_version)
    commit(log)
    maintain(log)

    assert log.first_version == log._state.segments.all[0].base_version > 0


def busy(log: VnodeLog, seed: int) -> None:
    chance = random.Random(seed)
    changes: list[Callable[[int], object]] = [
        lambda stream_id: log.append(
            stream_id, batch(chance.randrange(1, 5), timestamp=chance.randrange(100))
        ),
        lambda stream_id: log.append(
            stream_id, batch(body=bytes(chance.randrange(2_000)), timestamp=chance.randrange(100))
        ),
        lambda stream_id: log.set_log_start(stream_id, chance.randrange(log.high_watermark(stream_id) + 1)),
        lambda stream_id: log.set_leader_epoch(stream_id, log.leader_epoch(stream_id) + 1),
    ]
    for number in range(120):
        chance.choices(changes, (6, 4, 1, 1))[0](chance.randrange(4))
        if number % 5 == 0:
            commit(log)
    commit(log)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("stop", ["killed", "checkpointed", "closed"])
def test_a_restart_changes_nothing_that_a_log_tells(seed: int, stop: str) -> None:
    disk = MemoryDisk()
    log = open_log(disk)
    busy(log, seed)
    told = [facts(log, stream_id) for stream_id in range(5)]
    versions = log.first_version, log.next_version
    if stop == "closed":
        log.close(0)
    elif stop == "checkpointed":
        log._maintenance.checkpoint_wanted = True
        maintain(log)

    again = open_log(disk)

    assert [facts(again, stream_id) for stream_id in range(5)] == told
    assert (again.first_version, again.next_version) == versions
    assert sorted(again.streams()) == sorted(log.streams())


def test_the_usage_of_the_disk_is_what_was_written() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options())
    assert log.usage() == (0, 0)
    log.append(1, batch())
    commit(log)
    count, size_bytes = log.usage()
    assert count == 1
    assert 0 < size_bytes < small_options().segment_bytes
    for _ in range(5):
        log.append(1, batch(body=b"x" * 5_000))
        commit(log)
    more, larger_bytes = log.usage()
    assert more > 1
    assert larger_bytes > size_bytes
