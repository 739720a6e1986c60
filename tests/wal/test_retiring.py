"""Segments that no stream needs are found, and few indexes are opened for it at a time."""

from __future__ import annotations

from tests.wal.logs import DIRECTORY, batch, commit, maintain, open_log, read_all, retire, small_options
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_faults import Call, Fault
from wal.retiring import INDEXES_PER_CALL

RETIRING = small_options(checkpoint_ns=1 << 60, delete_delay_ms=1_000)


def fill(log: VnodeLog, frames: int) -> None:
    for _ in range(frames):
        log.append(1, batch(body=bytes(1_500)))
        commit(log)


def names(disk: MemoryDisk, suffix: str) -> list[str]:
    return [name for name in disk.list(DIRECTORY) if name.endswith(suffix)]


def forget_indexes(log: VnodeLog) -> None:
    for segment in log._state.segments.all[:-1]:
        log._state.index_cache.forget(segment)
        segment.index = None


def opened_indexes(disk: MemoryDisk) -> set[str]:
    """Return a set that fills with the paths of the indexes opened from here on."""
    opened: set[str] = set()

    def look(call: Call) -> Fault | None:
        if call.kind == "open" and call.path.endswith(".idx"):
            opened.add(call.path)
        return None

    disk.faults.append(look)
    return opened


def test_a_search_for_segments_to_retire_opens_few_indexes_at_a_time() -> None:
    disk = MemoryDisk()
    log = open_log(disk, RETIRING)
    fill(log, 15 * (INDEXES_PER_CALL + 4))
    maintain(log)
    log.close(0)
    disk.restart()
    log = open_log(disk, RETIRING)
    log.set_log_start(1, log.high_watermark(1))
    commit(log)
    segments = len(names(disk, ".wal"))
    assert segments > INDEXES_PER_CALL + 1
    forget_indexes(log)
    opened = opened_indexes(disk)

    steps: list[tuple[int, bool]] = []
    while not steps or steps[-1][1]:
        log.retire_segments()
        steps.append((len(opened), log.retirement_goes_on))

    limits = [*range(INDEXES_PER_CALL, segments - 1, INDEXES_PER_CALL), segments - 1]
    assert [opened for opened, _ in steps] == limits
    commit(log)
    assert retire(log, 0) == segments - 1


def test_a_read_at_the_end_of_an_idle_stream_opens_no_later_index() -> None:
    disk = MemoryDisk()
    log = open_log(disk, RETIRING)
    log.append(2, batch(body=b"idle"))
    fill(log, 100)
    maintain(log)
    log.close(0)
    disk.restart()
    log = open_log(disk, RETIRING)
    first = log._state.segments.all[0].index_path
    read_all(log, 2)  # remembers the segment
    forget_indexes(log)
    opened = opened_indexes(disk)

    assert read_all(log, 2)
    assert opened <= {first}


def test_an_index_that_is_missing_at_the_start_is_rebuilt_then() -> None:
    disk = MemoryDisk()
    log = open_log(disk, RETIRING)
    fill(log, 40)
    sent = read_all(log, 1)
    maintain(log)
    log.close(0)
    path = f"{DIRECTORY}/{names(disk, '.idx')[0]}"
    disk.remove(path)
    disk.restart()

    log = open_log(disk, RETIRING)

    assert log._state.segments.all[0].index is not None
    assert read_all(log, 1) == sent
    maintain(log)
    assert disk.exists(path)
