"""A vnode in the order of its versions: every batch and meta entry of all streams, as they arrived."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.wal.logs import DIRECTORY, batch, commit, maintain, open_log, small_options
from wal.errors import LogDamaged
from wal.format import EntryKind
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.versions import FrameRef, VersionedEntry, frame_entries

Arrived = tuple[int, int, bytes]
"""Version, stream id, bytes."""


def busy_log(disk: MemoryDisk, seed: int) -> tuple[VnodeLog, list[Arrived]]:
    """Return a log of several segments, and what was appended, in order."""
    chance = random.Random(seed)
    log = open_log(disk, small_options(index_cache_bytes=1))
    arrived: list[Arrived] = []
    for number in range(80):
        stream_id = chance.randrange(4)
        if chance.random() < 0.2:
            payload = b"note %d" % number
            arrived.append((log.append_meta(stream_id, payload), stream_id, b"\0" + payload))
        else:
            data = batch(chance.randrange(1, 6), body=bytes([number]) * chance.randrange(900))
            at = log.append(stream_id, data)
            arrived.append((at.version, stream_id, bytes(data)))
        if chance.random() < 0.3:
            commit(log)
    commit(log)
    maintain(log)
    return log, arrived


def first_frame(
    log: VnodeLog, wanted: Callable[[int], bool], timestamp_ms: int, from_version: int
) -> FrameRef | None:
    steps = log.first_frame_since(wanted, timestamp_ms, from_version)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: FrameRef | None = end.value
            return found


def plain(entries: list[VersionedEntry]) -> list[Arrived]:
    return [(entry.version, entry.stream_id, bytes(entry.data)) for entry in entries]


def test_nothing_is_read_above_the_last_version() -> None:
    log = open_log(MemoryDisk())
    assert log.read_versions(0, 1_000) == []
    log.append(1, batch(3))
    commit(log)

    assert log.read_versions(3, 1_000) == []
    assert log.read_versions(99, 1_000) == []


def test_what_is_not_synced_is_not_read() -> None:
    log = open_log(MemoryDisk())
    log.append(1, batch(2))
    commit(log)
    log.append(1, batch(2))

    assert [entry.version for entry in log.read_versions(0, 1_000)] == [0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("reopened", [False, True])
@pytest.mark.parametrize("max_bytes", [1, 3_000, 1 << 20])
def test_entries_come_as_they_arrived(seed: int, max_bytes: int, *, reopened: bool) -> None:
    disk = MemoryDisk()
    log, arrived = busy_log(disk, seed)
    if reopened:
        log = open_log(disk)
    found: list[Arrived] = []
    version = 0
    while entries := log.read_versions(version, max_bytes):
        found += plain(entries)
        version = entries[-1].version + entries[-1].record_count

    assert found == arrived
    assert version == log.next_version


def test_reading_on_from_inside_a_batch_gives_that_batch_whole() -> None:
    log = open_log(MemoryDisk())
    first, second = batch(4), batch(2)
    log.append(1, first)
    log.append(2, second)
    commit(log)

    for version in (0, 1, 3):
        assert plain(log.read_versions(version, 1)) == [(0, 1, bytes(first)), (4, 2, bytes(second))]
    for version in (4, 5):
        assert plain(log.read_versions(version, 1)) == [(4, 2, bytes(second))]


def test_whole_frames_are_given_until_there_is_enough() -> None:
    log = open_log(MemoryDisk())
    for _ in range(5):
        log.append(1, batch(body=bytes(100)))
        log.append(1, batch(body=bytes(100)))
        commit(log)
    frame_bytes = 64 + 2 * (48 + 161)

    for max_bytes, frames in ((0, 1), (1, 1), (frame_bytes, 1), (frame_bytes + 1, 2), (4 * frame_bytes, 4)):
        assert len(log.read_versions(0, max_bytes)) == 2 * frames


def test_only_the_callers_own_entries_have_opaque_bytes() -> None:
    log = open_log(MemoryDisk())
    log.append(1, batch(2))
    log.append_meta(7, b"mine")
    commit(log)
    log.set_log_start(1, 1)
    log.drop_stream(1)
    commit(log)

    entries = log.read_versions(0, 1 << 20)

    assert [entry.kind for entry in entries] == [EntryKind.DATA, *[EntryKind.META] * 3]
    opaque = [entry.opaque for entry in entries]
    assert [bytes(data) if data is not None else None for data in opaque] == [None, b"mine", None, None]


def test_below_the_oldest_segment_reading_begins_with_it() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(segment_bytes=4 << 10))
    for _ in range(12):
        log.append(1, batch(body=bytes(900)))
        commit(log)
    for _ in range(2):
        log._maintenance.checkpoint_wanted = True
        maintain(log)
    log.set_log_start(1, 8)
    commit(log)
    log.retire_segments()
    commit(log)
    maintain(log)

    entries = log.read_versions(0, 1 << 20)

    assert log.first_version > 0
    assert entries[0].version == log.first_version


def test_frames_of_a_segment_that_is_deleted_while_a_reader_rests_are_passed_over() -> None:
    disk = MemoryDisk()
    log = open_log(disk, small_options(segment_bytes=4 << 10, index_cache_bytes=1))
    for _ in range(12):
        log.append(1, batch(body=bytes(900)))
        commit(log)
    frames = log.frames(0)
    next(frames)
    for _ in range(2):
        log._maintenance.checkpoint_wanted = True
        maintain(log)
    log.set_log_start(1, 8)
    commit(log)
    log.retire_segments()
    commit(log)
    maintain(log)

    assert not disk.exists(f"{DIRECTORY}/{4:020}.wal")
    found = [frame.base_version for frame in frames]

    assert found == [frame.base_version for frame in log.frames(0)]
    assert found[0] == log.first_version > 3, "the segment was deleted in which the reader rested"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("reopened", [False, True])
def test_frames_hold_what_arrived_and_know_what_follows(seed: int, *, reopened: bool) -> None:
    disk = MemoryDisk()
    log, arrived = busy_log(disk, seed)
    if reopened:
        log = open_log(disk)
    frames = list(log.frames(0))
    ends = [*(frame.base_version for frame in frames[1:]), log.next_version]
    assert [frame.next_version for frame in frames] == ends
    found = [entry for frame in frames for entry in plain(frame_entries(frame, frame.read()))]
    assert found == arrived
    assert frames[3].read_if_cached() in (None, frames[3].read())
    for frame in frames:
        for version in range(frame.base_version, frame.next_version):
            assert next(log.frames(version)).position == frame.position


@pytest.mark.parametrize("seed", range(4))
def test_the_version_of_an_extent_is_at_or_before_that_of_each_of_its_records(seed: int) -> None:
    log, arrived = busy_log(MemoryDisk(), seed)
    log.append(7, batch(2))
    log.append(8, batch(1))
    log.append(7, batch(3))
    commit(log)
    for stream_id in {stream_id for _, stream_id, _ in arrived}:
        for offset in range(log.high_watermark(stream_id)):
            version, at_most = log.extent_version(stream_id, offset), log.version_of(stream_id, offset)
            assert version is not None
            assert at_most is not None
            assert version <= at_most
    assert log.extent_version(7, 0) == log.version_of(7, 0)
    assert log.extent_version(7, 5) is None
    assert log.extent_version(99, 0) is None


def test_to_find_the_newest_frame_of_a_log_of_many_streams_one_is_asked_about() -> None:
    log = open_log(MemoryDisk())
    for stream_id in range(500):
        log.append(stream_id, batch(1))
    commit(log)
    asked: list[int] = []

    def wanted(stream_id: int) -> bool:
        asked.append(stream_id)
        return True

    assert log.end_of_frames_with(wanted) == log.next_version
    assert len(asked) == 1


@pytest.mark.parametrize("seed", range(4))
def test_the_newest_frame_with_a_stream_is_found_and_every_records_version(seed: int) -> None:
    log, _ = busy_log(MemoryDisk(), seed)
    entries = log.read_versions(0, 1 << 30)
    ends = {version: frame.next_version for frame in log.frames(0) for version in range(*frame[4:6])}
    for wanted in ({0}, {1, 3}, {0, 1, 2, 3}):
        newest = [entry for entry in entries if entry.kind == EntryKind.DATA and entry.stream_id in wanted][
            -1
        ]
        assert log.end_of_frames_with(wanted.__contains__) == ends[newest.version]
    assert log.end_of_frames_with(lambda _: False) == log.first_version
    for entry in entries:
        if entry.kind == EntryKind.DATA:
            for number in range(entry.record_count):
                assert log.version_of(entry.stream_id, entry.base_offset + number) == entry.version + number
    assert log.version_of(0, log.next_offset(0)) is None
    assert log.version_of(99, 0) is None


def test_the_end_of_wanted_frames_asks_about_few_of_very_many_streams() -> None:
    log = open_log(MemoryDisk())
    for stream_id in range(1, 500):
        log.append(stream_id, batch(1))
    commit(log)
    asked: list[int] = []

    def wanted(stream_id: int) -> bool:
        asked.append(stream_id)
        return True

    assert log.end_of_frames_with(wanted) == log.next_version
    assert len(asked) == 1


@pytest.mark.parametrize("seed", range(4))
def test_the_first_record_of_a_stream_at_or_after_a_version_is_found(seed: int) -> None:
    log, _ = busy_log(MemoryDisk(), seed)
    versions: dict[int, list[int]] = {}
    for entry in log.read_versions(0, 1 << 30):
        if entry.kind == EntryKind.DATA:
            versions.setdefault(entry.stream_id, []).extend(
                range(entry.version, entry.version + entry.record_count)
            )
    for stream_id, known in versions.items():
        first = log.next_offset(stream_id) - len(known)
        for version in range(log.next_version + 1):
            expected = first + sum(at < version for at in known)
            assert log.offset_at_version(stream_id, version) == max(expected, log.log_start(stream_id))
    assert log.offset_at_version(99, 0) == 0


def timed_log(seed: int, end: int) -> tuple[VnodeLog, dict[int, tuple[int, int]]]:
    """Return a log of batches with times below `end`, and the stream and time of each version."""
    chance = random.Random(seed)
    log = open_log(MemoryDisk(), small_options(index_cache_bytes=1))
    times: dict[int, tuple[int, int]] = {}
    for _ in range(80):
        stream_id, timestamp = chance.randrange(3), chance.randrange(end)
        at = log.append(stream_id, batch(body=bytes(chance.randrange(900)), timestamp=timestamp))
        times[at.version] = stream_id, timestamp
        if chance.random() < 0.3:
            commit(log)
    commit(log)
    maintain(log)
    return log, times


@pytest.mark.parametrize("seed", range(4))
def test_the_first_frame_that_may_hold_a_time_is_found(seed: int) -> None:
    log, times = timed_log(seed, 1_000)
    frames = list(log.frames(0))
    for wanted in ({0}, {1, 2}):
        for timestamp in (0, 500, 900, 1_001):
            for start in (0, log.next_version // 2):
                expected = next(
                    (
                        frame.position
                        for frame in log.frames(start)
                        if any(
                            times[version][0] in wanted and times[version][1] >= timestamp
                            for version in range(frame.base_version, frame.next_version)
                        )
                    ),
                    None,
                )
                found = first_frame(log, wanted.__contains__, timestamp, start)
                assert (found.position if found else None) == expected
    assert len({frame.segment.base_version for frame in frames}) > 1


@pytest.mark.parametrize("seed", range(5))
def test_frames_come_by_what_is_newest_in_them(seed: int) -> None:
    log, times = timed_log(seed, 40)
    for wanted in ({0}, {1, 2}, {9}):
        for first, end in ((0, log.next_version), (20, 50), (33, 34), (50, 20)):
            found = [
                (-timestamp, frame.base_version)
                for timestamp, frame in filter(None, log.newest_frames(wanted.__contains__, first, end))
            ]
            assert found == sorted(found)
            told = {version: -negated for negated, version in found}
            assert len(told) == len(found)
            for frame in log.frames(0):
                within = range(max(first, frame.base_version), min(frame.next_version, end))
                stamps = [times[version][1] for version in within if times[version][0] in wanted]
                # Runs of batches may reach past the end: the value is never too small.
                assert told.get(frame.base_version, -1) >= max(stamps, default=-1)


def test_bytes_that_are_no_frame_are_damage() -> None:
    log = open_log(MemoryDisk())
    log.append(1, batch(2))
    commit(log)
    (frame,) = log.frames(0)
    for data in (bytes(frame.size_bytes), frame.read()[:-1]):
        with pytest.raises(LogDamaged, match="no frame where the index has one"):
            frame_entries(frame, data)


def test_an_empty_log_has_no_frames() -> None:
    log = open_log(MemoryDisk())
    assert list(log.frames(0)) == []
    assert log.end_of_frames_with(lambda _: True) == 0
    assert first_frame(log, lambda _: True, 0, 0) is None
    assert list(log.newest_frames(lambda _: True, 0, 1)) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_table_has_the_entries_of_its_frame_without_reading_their_bytes(seed: int) -> None:
    log, _ = busy_log(MemoryDisk(), seed)
    for frame in log.frames(0):
        whole = [entry._replace(data=memoryview(b"")) for entry in frame_entries(frame, frame.read())]
        assert frame.read_table() == whole
