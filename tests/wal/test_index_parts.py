"""The index of the active segment is stored in parts, and what they say is what its frames say."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wal.crash import CrashState, RecordingDisk, check_every_crash
from tests.wal.logs import DIRECTORY, batch, calls_of, commit, maintain, open_log, read_all, small_options
from wal.format import FIRST_FRAME_POSITION
from wal.index import ActiveIndex
from wal.index_parts import Part, decode_part, encode_part
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.segment import PART_SUFFIX, Totals

EAGER = small_options(checkpoint_ns=1, witness_ms=0, seal_interval_ms=1_000_000)


def filled(disk: MemoryDisk, frames: int = 6) -> VnodeLog:
    """Return a log with frames of three streams, a checkpoint after each."""
    log = open_log(disk, EAGER)
    for number in range(frames):
        for stream_id in (1, 2, 1, 3):
            log.append(stream_id, batch(number % 3 + 1, body=bytes([number]) * 50, timestamp=number * 10))
        commit(log)
        maintain(log)
    return log


def index_rows(log: VnodeLog) -> list[object]:
    """Return all that the indexes of the log's segments say."""
    shown: list[object] = []
    for segment in log._state.segments.all:
        index = segment.index
        if isinstance(index, ActiveIndex):
            columns = (
                index.stream, index.base, index.version, index.max_timestamp, index.count, index.position,
                index.size, index.frame_version, index.frame_position,
            )  # fmt: skip
            streams = {stream: list(rows) for stream, rows in index.by_stream.items()}
            shown.append(
                (segment.totals, segment.end_position, segment.last_crc, streams, *map(list, columns))
            )
    return shown


def names(disk: MemoryDisk, suffix: str) -> list[str]:
    return [name for name in disk.list(DIRECTORY) if name.endswith(suffix)]


def part_of(disk: MemoryDisk) -> str:
    (name,) = names(disk, PART_SUFFIX)
    return f"{DIRECTORY}/{name}"


def without_parts(disk: MemoryDisk) -> VnodeLog:
    """Return the log as recovery finds it when it has to read every frame."""
    other = MemoryDisk(image=disk.image.copy())
    for name in names(other, PART_SUFFIX):
        other.remove(f"{DIRECTORY}/{name}")
    return open_log(other, EAGER)


def test_a_start_reads_no_frame_that_the_stored_index_covers() -> None:
    disk = MemoryDisk()
    end = filled(disk)._state.segments.all[-1].end_position
    disk.restart()
    reads = calls_of(disk, "read")

    log = open_log(disk, EAGER)

    frames = [call for call in reads if call.path.endswith(".wal") and call.position >= FIRST_FRAME_POSITION]
    assert all(call.position >= end for call in frames)
    assert log.recovery.frames == 0
    assert index_rows(log) == index_rows(without_parts(disk))


def test_a_log_goes_on_after_its_index_came_from_parts() -> None:
    disk = MemoryDisk()
    sent = read_all(filled(disk), 1)
    for _ in range(3):
        disk.restart()
        log = open_log(disk, EAGER)
        more = batch(2, body=b"more")
        log.append(1, more)
        commit(log)
        maintain(log)
        sent += bytes(more)
        assert read_all(log, 1) == sent
    disk.restart()
    assert index_rows(open_log(disk, EAGER)) == index_rows(without_parts(disk))


def test_every_damage_to_the_stored_index_is_noticed() -> None:
    disk = MemoryDisk()
    filled(disk, 3)
    disk.restart()
    expected = index_rows(without_parts(disk))
    data = disk.contents(part_of(disk))
    damaged = [data[:cut] for cut in range(0, len(data), 7)]
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 1 << position % 8
        damaged.append(bytes(changed))
    for content in damaged:
        other = MemoryDisk(image=disk.image.copy())
        file = other.open(part_of(other))
        file.truncate(0)
        file.write_at(0, [content])
        file.close()
        log = open_log(other, EAGER)
        assert (index_rows(log), log.damage) == (expected, None)


def test_parts_ahead_of_the_checkpoint_in_effect_are_not_used() -> None:
    disk = MemoryDisk()
    filled(disk, 5)
    for name in names(disk, ".0") + names(disk, ".1"):
        other = MemoryDisk(image=disk.image.copy())
        other.remove(f"{DIRECTORY}/{name}")
        other.locks.clear()
        log = open_log(other, EAGER)
        assert index_rows(log) == index_rows(without_parts(disk))
        assert log.recovery.frames < 2


def test_a_file_shorter_than_its_stored_index_is_damaged() -> None:
    disk = MemoryDisk()
    log = filled(disk)
    path = log._state.segments.all[-1].path
    end = log._state.segments.all[-1].end_position
    disk.restart()
    file = disk.open(path)
    file.truncate(end - 1)
    file.close()

    assert open_log(disk, EAGER).damage is not None


def test_parts_go_once_a_checkpoint_lists_their_segment_as_sealed() -> None:
    disk = MemoryDisk()
    log = filled(disk, 80)
    assert len(log._state.segments.all) > 2

    assert names(disk, PART_SUFFIX) == [
        log._state.segments.all[-1].path.removeprefix(f"{DIRECTORY}/").replace(".wal", PART_SUFFIX)
    ]


@pytest.mark.parametrize("durability", ["disk", "os"])
def test_after_every_crash_the_stored_index_says_what_the_frames_say(durability: str) -> None:
    disk = RecordingDisk()
    options = small_options(
        segment_bytes=4 << 10, frame_bytes_max=2 << 10, checkpoint_ns=1, witness_ms=300, flush_ms=50,
        durability=durability, seal_interval_ms=300,
    )  # fmt: skip
    log, now_ms = open_log(disk, options), 0
    for number in range(14):
        now_ms += 40
        for stream_id in (1, 2):
            log.append(stream_id, batch(number % 3 + 1, body=bytes([number]) * (100 + 40 * (number % 5))))
        commit(log, now_ms)
        maintain(log, now_ms)

    def check(state: CrashState) -> None:
        if not state.disk.exists(DIRECTORY):
            return
        other = MemoryDisk(image=state.disk.image.copy())
        for name in other.list(DIRECTORY):
            if name.endswith(PART_SUFFIX):
                other.remove(f"{DIRECTORY}/{name}")
        found = VnodeLog.open(state.disk, DIRECTORY, options=options, now_ms=0)
        expected = VnodeLog.open(other, DIRECTORY, options=options, now_ms=0)
        assert found.damage is None
        assert index_rows(found) == index_rows(expected)

    assert check_every_crash(disk.trace, check) > 500


@given(
    st.lists(st.tuples(st.integers(0, 2**63), st.integers(0, 2**40), st.integers(-1, 2**40)), max_size=30),
    st.integers(0, 2**32 - 1),
    st.binary(max_size=10),
)
def test_a_part_is_decoded_as_it_was_encoded(
    rows: list[tuple[int, int, int]], seed: int, after: bytes
) -> None:
    codes = "QqQqIII"
    values = [(a, b, a, c, b & 0xFFFF, b & 0xFF, 7) for a, b, c in rows]
    columns = [array(code, [row[place] for row in values]) for place, code in enumerate(codes)]
    frames = [array("Q", [1, 2]), array("I", [3, 4])]
    part = Part(1, 2, 3, 4, 5, 6, 7, 8, 9, Totals(1, 2, 3, 4, -5, 6), columns, frames)
    data = encode_part(part, seed)

    assert decode_part(memoryview(b"xyz" + data + after), 3, seed) == (part, 3 + len(data))
    assert decode_part(memoryview(data[:-1]), 0, seed) is None
    assert decode_part(memoryview(data), 0, seed ^ 1) is None
