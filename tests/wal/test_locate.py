"""The search for the segment that holds an offset, checked against a look into every segment."""

from __future__ import annotations

import errno
import random

import pytest

from tests.wal.logs import batch, commit, maintain, new_state, open_log, small_options
from wal.disk_errors import disk_error
from wal.errors import IndexRebuilding, LogDamaged
from wal.index import ActiveIndex, SegmentIndex
from wal.index_file import FileIndex
from wal.locate import index_of, locate, next_with, rebuild_index
from wal.log import VnodeLog
from wal.maintenance import RETRY_MS
from wal.maintenance_jobs import RebuildJob
from wal.memory_disk import MemoryDisk
from wal.segment import Segment
from wal.state import LogState
from wal.stream import Stream


def sparse_state(segment_count: int, seed: int) -> tuple[LogState, list[dict[int, tuple[int, int]]]]:
    """Return a state of many segments, each with a few of five streams; offsets may have gaps between them.

    Also return the content of each segment: stream -> first and next offset.
    """
    chance = random.Random(seed)
    state = new_state(MemoryDisk())
    ends = dict.fromkeys(range(5), 0)
    held: list[dict[int, tuple[int, int]]] = []
    for number in range(segment_count):
        segment = state.new_segment(number * 100, number)
        segment.index = index = ActiveIndex()
        found: dict[int, tuple[int, int]] = {}
        for stream_id in chance.sample(range(5), chance.randrange(4)):
            base = ends[stream_id] + chance.choice((0, 0, 0, 3))
            end = base + chance.randrange(1, 9)
            middle = chance.randrange(base, end)
            for start, stop in ((base, middle), (middle, end)):
                if stop > start:
                    index.add(stream_id, base=start, count=stop - start, position=0, size=1,
                              max_timestamp=0, version=0)  # fmt: skip
            found[stream_id] = base, end
            ends[stream_id] = end
        state.segments.add(segment)
        held.append(found)
    return state, held


def expected(
    state: LogState, held: list[dict[int, tuple[int, int]]], stream_id: int, offset: int
) -> Segment | None:
    """Return the first segment with an offset of the stream at or above `offset`, else its last one."""
    rows = [row for row, found in enumerate(held) if stream_id in found]
    if not rows:
        return None
    at_or_above = [row for row in rows if held[row][stream_id][1] > offset]
    return state.segments.all[at_or_above[0] if at_or_above else rows[-1]]


@pytest.mark.parametrize("seed", range(12))
def test_an_offset_is_found_as_by_looking_into_every_segment(seed: int) -> None:
    state, held = sparse_state(seed * 3, seed)
    streams = [Stream(stream_id) for stream_id in range(6)]
    chance = random.Random(seed)

    for _ in range(400):
        stream = chance.choice(streams)
        ends = [found[stream.stream_id][1] for found in held if stream.stream_id in found]
        if ends:
            offset = chance.randrange(ends[-1])
            assert locate(state, stream, offset) is expected(state, held, stream.stream_id, offset)
        else:
            assert locate(state, stream, 0) is None


def test_a_log_without_segments_holds_no_offset() -> None:
    assert locate(new_state(MemoryDisk()), Stream(1), 0) is None


@pytest.mark.parametrize("hint", [0, 300, 10**9])
def test_a_hint_is_only_where_to_look_first(hint: int) -> None:
    state, held = sparse_state(30, 5)
    stream = Stream(2)

    for offset in range(max(found[2][1] for found in held if 2 in found)):
        stream.segment_hint = hint
        assert locate(state, stream, offset) is expected(state, held, 2, offset)


def test_a_reader_that_goes_on_looks_into_few_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    state, held = sparse_state(200, 1)
    stream = Stream(3)
    looked: list[int] = []
    range_of = SegmentIndex.range_of

    def noted(index: SegmentIndex, stream_id: int) -> tuple[int, int] | None:
        looked.append(stream_id)
        return range_of(index, stream_id)

    monkeypatch.setattr(SegmentIndex, "range_of", noted)
    row = next(number for number, found in enumerate(held) if 3 in found and number > 60)
    offset = held[row][3][0]
    locate(state, stream, offset)
    first = len(looked)
    looked.clear()

    assert locate(state, stream, offset) is state.segments.all[row]

    assert len(looked) <= 2 < first


def test_the_next_segment_with_data_of_a_stream_is_found() -> None:
    state, held = sparse_state(25, 3)

    for stream_id in range(5):
        rows = [row for row, found in enumerate(held) if stream_id in found]
        for row, segment in enumerate(state.segments.all):
            later = [other for other in rows if other > row]
            assert next_with(state, stream_id, segment) is (state.segments.all[later[0]] if later else None)


def filled(disk: MemoryDisk, index_cache_bytes: int = 1 << 20) -> VnodeLog:
    log = open_log(disk, small_options(segment_bytes=8 << 10, index_cache_bytes=index_cache_bytes))
    for number in range(60):
        log.append(number % 3, batch(number % 4 + 1, body=bytes(number * 11), timestamp=number))
        if number % 4 == 0:
            log.append_meta(9, b"note")
        commit(log)
    maintain(log)
    return log


def columns(index: SegmentIndex) -> object:
    return (
        {
            stream_id: [
                (index.base[row], index.count[row], index.position[row], index.size[row], index.version[row])
                for row in index.slots(stream_id) or ()
            ]
            for stream_id in sorted(index.stream_ids())
        },
        list(index.frame_version),
        list(index.frame_position),
    )


def test_an_index_is_the_same_from_memory_from_its_file_and_from_the_frames() -> None:
    disk = MemoryDisk()
    log = filled(disk)
    again = open_log(disk, log._state.options)._state
    for segment in again.segments.all[:-1]:
        again.index_cache.forget(segment)
    assert len(again.segments) > 3

    for written, found in zip(log._state.segments.all[:-1], again.segments.all[:-1], strict=True):
        from_memory = columns(index_of(log._state, written))
        from_file = index_of(again, found)
        assert isinstance(from_file, FileIndex)
        rebuilt = rebuild_index(found, found.open_shared(again.disk).file)
        assert columns(from_file) == columns(rebuilt) == from_memory


def test_a_missing_index_is_built_again_and_will_be_written_again() -> None:
    disk = MemoryDisk()
    state = filled(disk)._state
    segment = state.segments.all[0]
    before = columns(index_of(state, segment))
    state.index_cache.forget(segment)
    disk.remove(segment.index_path)

    index = index_of(state, segment)

    assert isinstance(index, ActiveIndex)
    assert (columns(index), segment.index_stored) == (before, False)


def test_indexes_that_were_read_are_bounded() -> None:
    state = filled(MemoryDisk(), index_cache_bytes=1)._state

    for segment in state.segments.all[:-1]:
        index_of(state, segment)

    assert [segment.index is not None for segment in state.segments.all[:-1]] == [
        *[False] * (len(state.segments) - 2),
        True,
    ]


def damaged_index(monkeypatch: pytest.MonkeyPatch) -> tuple[VnodeLog, Segment, object]:
    """Return a log, its first segment, whose large `.idx` is damaged, and the columns of that index."""
    monkeypatch.setattr("wal.locate.REBUILT_AT_ONCE_BYTES", 4 << 10)
    disk = MemoryDisk()
    log = filled(disk)
    segment = log._state.segments.all[0]
    before = columns(index_of(log._state, segment))
    log._state.index_cache.forget(segment)
    file = disk.open(segment.index_path)
    file.write_at(40, [b"damage"])
    file.close()
    return log, segment, before


def test_a_large_index_that_is_damaged_is_made_again_by_a_job_and_readers_ask_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log, segment, before = damaged_index(monkeypatch)
    for _ in range(2):
        with pytest.raises(IndexRebuilding, match="is being made again; ask again"):
            log.read(0, 0, 1 << 20)
    assert log.next_deadline() == log._state.now_ms
    job = log.begin_maintenance(log._state.now_ms)
    assert isinstance(job, RebuildJob)
    with pytest.raises(IndexRebuilding):
        log.read(0, 0, 1 << 20)
    job.run()
    log.maintained(job, log._state.now_ms)

    assert log.read(0, 0, 1 << 20).size_bytes
    assert columns(index_of(log._state, segment)) == before
    maintain(log)
    log._state.index_cache.forget(segment)
    assert isinstance(index_of(log._state, segment), FileIndex), "it is stored again"


def test_a_rebuild_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    log, segment, before = damaged_index(monkeypatch)
    with pytest.raises(IndexRebuilding):
        index_of(log._state, segment)
    job = log.begin_maintenance(0)
    assert isinstance(job, RebuildJob)
    log.maintenance_failed(job, disk_error("read from", segment.path, errno.EIO), 0)
    job = log.begin_maintenance(RETRY_MS)
    assert isinstance(job, RebuildJob)
    job.run()
    log.maintained(job, RETRY_MS)
    assert columns(index_of(log._state, segment)) == before


def test_a_log_that_has_stopped_makes_an_index_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    log, segment, before = damaged_index(monkeypatch)
    log._state.damage = LogDamaged(segment.path, 0, 1, "a test")
    assert columns(index_of(log._state, segment)) == before
