"""The report of a recovery: the kind of fault for each damage, and correct counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.wal.damaged import change, torn_log, wal_files
from tests.wal.logs import DIRECTORY, batch, commit, maintain, open_log, small_options
from wal.memory_disk import MemoryDisk
from wal.options import LogOptions
from wal.recovery import Recovery
from wal.recovery_report import Fault, FaultKind, RecoveryReport

OPTIONS = small_options(segment_bytes=4 << 10, seal_interval_ms=10**9)
FRAME_BYTES = 64 + 48 + 61 + 900


def filled(*, checkpoint: bool = False, options: LogOptions = OPTIONS) -> MemoryDisk:
    """Return a killed log of six segments of two data frames and a footer each; the last has no footer."""
    disk = MemoryDisk()
    log = open_log(disk, options)
    for number in range(12):
        log.append(1, batch(body=bytes([number]) * 900))
        commit(log)
    if checkpoint:
        log._maintenance.checkpoint_wanted = True
    maintain(log, 5_000)
    disk.restart()
    return disk


def recovered(disk: MemoryDisk, options: LogOptions = OPTIONS) -> Recovery:
    recovery = Recovery(disk, DIRECTORY, options, 9_000)
    recovery.run()
    return recovery


def fault_of(disk: MemoryDisk) -> Fault:
    recovery = recovered(disk)
    assert recovery.report.damage is not None
    assert recovery.fault is not None
    assert recovery.fault.path == recovery.report.damage.file
    assert not recovery.report.clean
    return recovery.fault


def rot(position: int) -> Callable[[bytearray], bytes]:
    def edit(data: bytearray) -> bytes:
        data[position] ^= 1
        return bytes(data)

    return edit


def test_frames_and_entries_are_counted() -> None:
    disk = filled()

    assert [int(path[-24:-4]) for path in wal_files(disk)] == [0, 2, 4, 6, 8, 10]
    report = recovered(disk).report
    assert (report.frames, report.entries, report.damage) == (17, 12, None)


def test_bad_bytes_inside_a_segment_are_frames_up_to_the_next_good_one() -> None:
    disk = filled()
    path = wal_files(disk)[1]

    fault = fault_of(change(disk, path, rot(1_024 + 300)))

    assert fault == Fault(FaultKind.FRAMES, path, 1_024, 3, 4, 2, 1_024 + FRAME_BYTES)


def test_bad_bytes_at_the_end_of_a_segment_reach_to_where_the_next_one_begins() -> None:
    disk = filled()
    path = wal_files(disk)[1]

    fault = fault_of(change(disk, path, lambda data: bytes(data[: 1_024 + FRAME_BYTES])))

    assert fault == Fault(FaultKind.FRAMES, path, 1_024 + FRAME_BYTES, 4, 6, 2, None)


def test_a_file_that_is_no_segment_of_the_log_is_a_fault_of_the_file() -> None:
    disk = filled()
    path = wal_files(disk)[2]

    fault = fault_of(change(disk, path, lambda data: bytes(len(data))))

    assert fault == Fault(FaultKind.FILE, path, 0, 6, 6, 4)


def test_a_missing_segment_is_a_gap_before_the_next_one() -> None:
    disk = filled()
    _, gone, following, *_ = wal_files(disk)
    disk.remove(gone)

    assert fault_of(disk) == Fault(FaultKind.GAP, following, 0, 3, 6, 4)


def test_a_missing_segment_that_a_checkpoint_knows_is_named() -> None:
    disk = filled(checkpoint=True)
    gone = wal_files(disk)[2]
    disk.remove(gone)

    recovery = recovered(disk)

    assert recovery.fault == Fault(FaultKind.SEGMENT, gone, 0, 6, 9, 4)
    assert recovery.missing is not None
    assert recovery.missing.path == gone


def test_missing_newest_frames_are_a_fault_of_the_end() -> None:
    disk = filled()
    gone = wal_files(disk)[-1]
    disk.remove(gone)

    fault = fault_of(disk)

    assert fault == Fault(FaultKind.END, f"{DIRECTORY}/{10:020d}.wal", 0, 15, 17, 10)
    assert fault.path == gone


def test_a_first_start_has_nothing_to_report() -> None:
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)

    assert recovered(disk).report == RecoveryReport(is_new=True)


def test_a_clean_stop_is_reported_and_nothing_is_scanned() -> None:
    disk = MemoryDisk()
    log = open_log(disk, OPTIONS)
    log.append(1, batch())
    commit(log)
    log.close(0)

    report = recovered(disk).report

    assert report == RecoveryReport(clean=True)


def test_a_torn_tail_is_counted_and_its_copy_named() -> None:
    disk = torn_log(b"x" * 100, options=OPTIONS)
    path = wal_files(disk)[0]
    data = disk.contents(path)
    torn = change(disk, path, rot(data.index(b"xxx")))

    report = recovered(torn).report

    assert report.frames == 1
    assert report.truncated_bytes == 64 + 48 + 161
    assert torn.contents(report.torn_file).count(b"x") == 99
    assert report.damage is None
    assert not report.clean


@pytest.mark.parametrize("name", ["next.tmp", "spare.tmp", "checkpoint.tmp"])
def test_leftovers_are_noted_and_removed(name: str) -> None:
    disk = filled()
    disk.open(f"{DIRECTORY}/{name}", create=True).close()

    report = recovered(disk).report

    assert f"removed {name}, left by an interrupted write" in report.notes
    assert not disk.exists(f"{DIRECTORY}/{name}")


def test_an_odd_checkpoint_and_an_odd_header_copy_are_notes() -> None:
    disk = filled(checkpoint=True)
    newest = wal_files(disk)[-1]
    odd = change(change(disk, f"{DIRECTORY}/checkpoint.0", rot(70)), newest, rot(512))

    report = recovered(odd).report

    assert report.damage is None
    assert report.notes[-2:] == [
        "checkpoint.0 is not a valid checkpoint; going back to an older one",
        f"{newest}: one of the two headers is damaged; the other one is used",
    ]
