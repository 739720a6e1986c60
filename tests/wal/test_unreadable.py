"""A sector that the device cannot read costs what lies in it: the rest is read, verified and repaired."""

from __future__ import annotations

import errno

import pytest

from tests.wal.damaged import wal_files
from tests.wal.logs import DIRECTORY, batch, commit, open_log, put, read_all, small_options
from wal.disk_errors import DiskError
from wal.errors import LogDamaged
from wal.inspect import LogReport, verify_log
from wal.memory_disk import MemoryDisk
from wal.memory_faults import Call, Fault, failing
from wal.repair import repair
from wal.unreadable import BLOCK_BYTES, PatientReader

OPTIONS = small_options(segment_bytes=64 << 10, frame_bytes_max=2 << 10)


def bad_sector(disk: MemoryDisk, path: str, sector: int) -> None:
    """Let every read of a sector fail until it is written."""
    start, healed = sector * 512, [False]

    def hook(call: Call) -> Fault | None:
        if call.path != path or not (call.position < start + 512 and call.position + call.size_bytes > start):
            return None
        if call.kind == "write":
            healed[0] = True
        return Fault(errno.EIO) if call.kind == "read" and not healed[0] else None

    disk.faults.append(hook)


def killed(frames: int = 40) -> tuple[MemoryDisk, str, bytes]:
    """Return a killed log in one segment: its disk, the file, and what is in stream 1."""
    disk = MemoryDisk()
    log = open_log(disk, OPTIONS)
    sent = b""
    for number in range(frames):
        data = batch(body=bytes((number,)) * 300)
        log.append(1, data)
        commit(log, number)
        sent += bytes(data)
    disk.restart()
    (path,) = wal_files(disk)
    return disk, path, sent


def test_a_bad_sector_anywhere_in_the_newest_segment_is_damage_and_named() -> None:
    disk, path, sent = killed()
    end = len(disk.contents(path).rstrip(b"\0"))
    for sector in range(2, end // 512 + 1, 4):
        after = disk.kill()
        bad_sector(after, path, sector)
        log = open_log(after, OPTIONS, now_ms=1_000)
        assert log.state == "DAMAGED", sector
        with pytest.raises(LogDamaged, match="cannot read it"):
            log.append(1, batch())
        assert sent.startswith(read_all(log, 1))
        *_, report = verify_log(after, DIRECTORY)
        assert isinstance(report, LogReport)
        assert [damage.file for damage in report.damages] == [path]


def test_a_bad_sector_in_room_never_written_is_no_damage() -> None:
    disk, path, sent = killed()
    end = len(disk.contents(path).rstrip(b"\0"))
    bad_sector(disk, path, end // 512 + 20)
    log = open_log(disk, OPTIONS, now_ms=1_000)
    assert (log.state, read_all(log, 1)) == ("OPEN", sent)


def test_a_bad_header_of_the_newest_segment_leaves_a_log_that_refuses_appends() -> None:
    disk, path, _ = killed()
    bad_sector(disk, path, 0)  # the page cache reads both copies of the header at once
    assert open_log(disk, OPTIONS, now_ms=1_000).state == "DAMAGED"


def test_a_repair_gives_up_the_frames_over_the_bad_sector_and_keeps_all_others() -> None:
    disk, path, sent = killed()
    bad_sector(disk, path, 20)
    report = repair(disk, DIRECTORY, options=OPTIONS, now_ms=9, accept_loss=True)
    assert report.mended
    assert 1 <= report.lost_frames <= 2 + BLOCK_BYTES // 400
    log = open_log(disk, OPTIONS, now_ms=1_000)
    assert log.state == "OPEN"
    assert len(read_all(log, 1)) >= len(sent) - (report.lost_frames + 1) * 400
    assert read_all(log, 1).endswith(sent[-361:])


@pytest.mark.parametrize("name", ["checkpoint.0", "witness", ".idx"])
def test_an_unreadable_file_beside_the_segments_does_not_keep_the_log_from_opening(name: str) -> None:
    disk, _, sent = killed()
    open_log(disk, OPTIONS, now_ms=1_000).close(2_000)
    disk.restart()
    for path in [path for path in disk.files() if path.endswith(name)]:
        for sector in range(16):
            bad_sector(disk, path, sector)
    assert read_all(open_log(disk, OPTIONS, now_ms=3_000), 1) == sent


def test_one_failed_read_is_made_again() -> None:
    disk, path, sent = killed()
    disk.faults.append(failing("read", errno.EIO, path=path))
    log = open_log(disk, OPTIONS, now_ms=1_000)
    assert (log.state, read_all(log, 1)) == ("OPEN", sent)


def test_only_the_blocks_that_fail_are_replaced_by_zeros() -> None:
    disk = MemoryDisk()
    put(disk, "a", b"x" * 20_000)
    bad_sector(disk, "a", 10)
    file = PatientReader(disk.open("a"))
    data = file.read_at(100, 30_000)
    assert data == b"x" * (4_096 - 100) + bytes(4_096) + b"x" * (20_000 - 8_192)
    assert file.bad == [(4_096, 8_192)]
    assert file.overlaps(8_000, 8_001)
    assert not file.overlaps(8_192, 9_000)


def test_other_errors_are_not_passed_over() -> None:
    disk = MemoryDisk()
    put(disk, "a", b"x")
    disk.faults.append(failing("read", errno.EBADF, times=9))
    with pytest.raises(DiskError):
        PatientReader(disk.open("a")).read_at(0, 1)
