"""The audit log's file: whole lines, whatever happens to the file."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from broker.server.audit_file import AuditFile, line_of, path_of_worker, paths_of_workers


def opened(path: Path, max_bytes: int = 1 << 20, count: int = 3, *, sync: bool = True) -> AuditFile:
    return AuditFile(str(path), max_bytes=max_bytes, count=count, sync=sync)


def test_lines_are_appended_and_only_the_owner_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    file = opened(path)
    file.write([b"a\n", b"b\n"])
    file.close()
    opened(path, sync=False).write([b"c\n"])
    assert path.read_bytes() == b"a\nb\nc\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_full_files_move_on_and_the_last_one_goes(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    file = opened(path, max_bytes=10, count=2)
    for number in range(5):
        file.write([f"line {number}\n".encode()])
    assert path.read_bytes() == b"line 4\n"
    assert (tmp_path / "audit.log.1").read_bytes() == b"line 3\n"
    assert (tmp_path / "audit.log.2").read_bytes() == b"line 2\n"
    assert sorted(found.name for found in tmp_path.iterdir()) == ["audit.log", "audit.log.1", "audit.log.2"]


def test_a_batch_larger_than_a_file_is_written_whole(tmp_path: Path) -> None:
    file = opened(tmp_path / "audit.log", max_bytes=4)
    file.write([b"long line\n"])
    assert (tmp_path / "audit.log").read_bytes() == b"long line\n"


def test_a_file_that_was_moved_away_or_removed_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    file = opened(path)
    file.write([b"a\n"])
    path.rename(tmp_path / "moved")
    file.write([b"b\n"])
    path.unlink()
    file.write([b"c\n"])
    assert path.read_bytes() == b"c\n"
    assert (tmp_path / "moved").read_bytes() == b"a\n"


def test_a_full_disk_leaves_whole_lines_and_the_next_write_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "audit.log"
    file = opened(path)
    file.write([b"a\n"])
    real = os.write
    room = [3]

    def write(descriptor: int, data: memoryview) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        size = min(room[0], len(data))
        room[0] -= size
        return real(descriptor, data[:size])

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="No space left"):
        file.write([b"bcdef\n"])
    assert path.read_bytes() == b"a\n"
    room[0] = 1_000
    file.write([b"bcdef\n"])
    assert path.read_bytes() == b"a\nbcdef\n"


def test_a_failed_sync_is_a_failed_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = opened(tmp_path / "audit.log")

    def sync(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", sync)
    with pytest.raises(OSError, match="Input/output"):
        file.write([b"a\n"])
    assert (tmp_path / "audit.log").read_bytes() == b""


def test_a_line_torn_by_a_crash_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_bytes(b'a\n{"time"')
    opened(path).write([b"b\n"])
    assert path.read_bytes() == b'a\n{"time"\nb\n'


def test_what_is_no_file_of_ours_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/passwd")
    for name in ("pipe", "link", ".", "none/audit.log"):
        with pytest.raises(OSError, match=r"."):
            opened(tmp_path / name)
    opened_once = opened(tmp_path / "audit.log")
    with pytest.raises(OSError, match="another process writes it"):
        opened(tmp_path / "audit.log")
    opened_once.close()


def test_no_text_of_a_client_breaks_a_line_or_commands_a_terminal() -> None:
    line = line_of({"time_ms": 1_700_000_000_123, "event": "e", "user": "a\n\x1b[2J\x7f\u202eb\ud800"})
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert all(0x20 <= byte < 0x7F for byte in line[:-1])
    tree = json.loads(line)
    assert tree["time"] == "2023-11-14T22:13:20.123Z"
    assert tree["user"] == "a\n\x1b[2J\x7f\u202eb\ud800"


def test_each_worker_has_a_file_of_its_own_and_the_first_one_that_which_is_named(tmp_path: Path) -> None:
    path = str(tmp_path / "audit.log")
    assert [path_of_worker(path, number) for number in (0, 2)] == [path, f"{path}.worker-2"]
    files = [opened(Path(path_of_worker(path, number)), max_bytes=10, count=2) for number in (0, 2, 10)]
    for number in range(3):
        for file in files:
            file.write([f"line {number}\n".encode()])
    assert paths_of_workers(path) == [path, f"{path}.worker-2", f"{path}.worker-10"]
    assert Path(f"{path}.worker-2.2").read_bytes() == b"line 0\n"
    assert paths_of_workers(str(tmp_path / "none" / "audit.log")) == [str(tmp_path / "none" / "audit.log")]


def test_a_worker_that_has_moved_its_file_away_is_known_by_its_older_ones(tmp_path: Path) -> None:
    for name in (
        "a.log.worker-1.1",
        "a.log.worker-01",
        "a.log.worker-2.x",
        "b.log.worker-3",
        "axlog.worker-4",
    ):
        (tmp_path / name).write_text("")
    assert paths_of_workers(str(tmp_path / "a.log")) == [
        str(tmp_path / "a.log"),
        str(tmp_path / "a.log.worker-1"),
    ]
