"""One log's part of a backup, step by step beside a log at work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.wal.backups import STREAM, make, write
from tests.wal.logs import batch, commit, maintain, retire
from tests.wal.test_tiering import filled
from wal.backup_log import LogCopy
from wal.backup_manifest import BackupError
from wal.inspect import LogReport, verify_log
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.segment import segment_name

SOURCE, TARGET = "data/default/vnode-0", "copy"


@pytest.fixture
def disk() -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_directory(TARGET)
    return disk


def drain(steps: Iterator[int]) -> int:
    return sum(steps)


def damages(disk: MemoryDisk) -> list[str]:
    (report,) = [report for report in verify_log(disk, TARGET) if isinstance(report, LogReport)]
    return [str(damage) for damage in report.damages]


def whole(copy: LogCopy, point_ms: int | None = None) -> None:
    drain(copy.copy_closed())
    copy.mark()
    drain(copy.finish(point_ms))


def segments(copy: LogCopy) -> list[str]:
    return sorted(name for name in copy.files if name.endswith(".wal"))


def test_closed_segments_come_first_and_are_not_copied_twice(disk: MemoryDisk) -> None:
    _, log = make(disk, commits=7)
    copy = LogCopy(disk, SOURCE, TARGET)
    assert copy.missing_bytes() > 100_000
    assert drain(copy.copy_closed()) == copy.files[segment_name(0)].size_bytes * 2
    assert (len(segments(copy)), copy.missing_bytes()) == (2, 0)
    assert drain(copy.copy_closed()) == 0
    write(log, 3)
    whole(copy)
    assert (copy.check(), damages(disk)) == ("", [])


def test_what_was_written_after_the_point_is_left_out_even_from_closed_segments(disk: MemoryDisk) -> None:
    _, log = make(disk, commits=4)
    copy = LogCopy(disk, SOURCE, TARGET)
    drain(copy.copy_closed())
    copy.mark()
    for moment in (5, 6, 7, 8):
        log.append(STREAM, batch(1, body=b"y" * 20_000))
        commit(log, moment)
    drain(copy.finish(5))
    assert (copy.check(), damages(disk)) == ("", [])
    content = b"".join(disk.contents(f"{TARGET}/{name}") for name in segments(copy))
    assert content.count(b"y" * 20_000) == 1


def test_what_was_there_at_the_mark_is_copied_even_if_the_clock_was_set_back(disk: MemoryDisk) -> None:
    _, log = make(disk)
    log.append(STREAM, batch(1, body=b"late" * 1_000))
    commit(log, 9_000)
    copy = LogCopy(disk, SOURCE, TARGET)
    whole(copy, point_ms=5)
    assert copy.check() == ""
    assert b"late" * 1_000 in disk.contents(f"{TARGET}/{segments(copy)[-1]}")


def test_a_copy_that_ends_before_the_mark_is_refused(disk: MemoryDisk) -> None:
    make(disk, commits=4)
    copy = LogCopy(disk, SOURCE, TARGET)
    drain(copy.copy_closed())
    copy.mark()
    disk.remove(f"{SOURCE}/{segment_name(3)}")
    drain(copy.finish(None))
    assert "were not found" in copy.check()


def test_a_copied_segment_that_was_replaced_meanwhile_is_copied_again(disk: MemoryDisk) -> None:
    make(disk, commits=7)
    path = f"{SOURCE}/{segment_name(3)}"
    whole_file = disk.contents(path)
    other = MemoryDisk()
    make(other, commits=5)
    # The file with a successor that a failed sync took back: more frames followed in the same file.
    _overwrite(disk, path, other.contents(path))
    copy = LogCopy(disk, SOURCE, TARGET)
    drain(copy.copy_closed())
    _overwrite(disk, path, whole_file)
    copy.mark()
    drain(copy.finish(None))
    assert "is not part of the log any more" in copy.check()
    copy.forget_end()
    whole(copy)
    assert (copy.check(), damages(disk)) == ("", [])


def _overwrite(disk: MemoryDisk, path: str, data: bytes) -> None:
    file = disk.open(path)
    file.truncate(0)
    file.write_at(0, [data])
    file.close()


def test_a_log_that_has_vanished_ends_the_copy_without_an_error(disk: MemoryDisk) -> None:
    make(disk, commits=4)
    copy = LogCopy(disk, SOURCE, TARGET)
    drain(copy.copy_closed())
    for name in disk.list(SOURCE):
        disk.remove(f"{SOURCE}/{name}")
    disk.remove_directory(SOURCE)
    copy.mark()
    assert drain(copy.finish(None)) == 0
    assert drain(copy.copy_closed()) == 0


def test_a_segment_that_retention_removed_meanwhile_is_left_out(disk: MemoryDisk) -> None:
    _, log = make(disk, commits=7)
    copy = LogCopy(disk, SOURCE, TARGET)
    drain(copy.copy_closed())
    removed = segments(copy)
    _delete_old(log)
    copy.forget_end()
    whole(copy)
    assert (copy.check(), damages(disk)) == ("", [])
    assert not set(removed) <= set(segments(copy))


def _delete_old(log: VnodeLog) -> None:
    """Move the log start, let two checkpoints cover that, and remove the first segments."""
    log.set_log_start(STREAM, 6)
    for _ in range(3):
        write(log, 1)
        maintain(log)
    retire(log, 0)
    maintain(log)


def test_a_log_of_which_segments_have_left_the_disk_is_refused_with_what_to_do() -> None:
    node, _ = filled()
    node.tier()
    copy = LogCopy(node.disk, "data/default/vnode-0", "copy")
    with pytest.raises(BackupError, match=r"segments are in the object store only.*'kawal restore s3://"):
        copy.missing_bytes()
