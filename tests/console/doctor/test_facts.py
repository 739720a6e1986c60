"""The facts of this machine."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from broker.config.endpoints import Endpoint
from console.doctor import facts as module
from console.doctor.facts import Facts


def test_versions_are_read_from_the_installation() -> None:
    facts = Facts()
    assert facts.python == sys.version_info[:3]
    assert facts.package_version("trio")
    assert facts.package_version("no-such-package") is None
    assert any(line.startswith("trio") for line in facts.requirements())
    assert not any("pyspark" in line for line in facts.requirements())


def test_numbers_are_plausible(tmp_path: Path) -> None:
    facts = Facts()
    total, available = facts.memory_bytes()
    assert 0 < available <= total
    assert facts.open_files_max() > 0
    assert facts.user_id == os.geteuid()
    assert facts.wall_seconds > 0
    assert facts.clock_is_synchronised() in (True, False, None)
    space = facts.space(str(tmp_path))
    assert 0 < space.free_bytes <= space.total_bytes


def test_a_control_group_bounds_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"/sys/fs/cgroup/memory.max": str(64 << 20), "/sys/fs/cgroup/memory.current": str(60 << 20)}
    monkeypatch.setattr(module, "_read", lambda path: given.get(path, ""))
    assert Facts().memory_bytes() == (64 << 20, 4 << 20)


def test_the_file_system_is_that_of_the_longest_mount_point(monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = (
        "1 0 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "2 1 8:2 / /var/lib rw - xfs /dev/sdb rw\n"
        "3 1 8:3 / /var/li ro,noatime - vfat /dev/sdc ro\n"
    )
    monkeypatch.setattr(module, "_read", lambda _: mounts)
    facts = Facts()
    assert facts.file_system("/var/lib/kawal") == ("xfs", "/var/lib", False)
    assert facts.file_system("/var/li/x").read_only
    assert facts.file_system("/home").kind == "ext4"


def test_syncs_are_measured_and_nothing_is_left(tmp_path: Path) -> None:
    taken = Facts().sync_seconds(str(tmp_path))
    assert len(taken) == module.SYNC_COUNT
    assert taken == sorted(taken)
    assert list(tmp_path.iterdir()) == []


def test_the_holder_of_a_lock_is_read_from_it(tmp_path: Path) -> None:
    facts, path = Facts(), tmp_path / "LOCK"
    assert facts.lock_holder(str(path)) is None
    path.write_text("4711\n")
    assert facts.lock_holder(str(path)) is None
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert facts.lock_holder(str(path)) == 4711
        path.write_text("")
        assert facts.lock_holder(str(path)) == 0


class FakeSocket:
    """A socket that cannot be bound."""

    def __init__(self, *_: Any) -> None: ...

    def __enter__(self) -> FakeSocket:
        return self

    def __exit__(self, *_: object) -> None: ...

    def setsockopt(self, *_: Any) -> None: ...

    def bind(self, address: Any) -> None:
        if address[1] == 99:
            raise PermissionError(13, "no")


def test_an_address_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", FakeSocket)
    assert Facts().bind_error(Endpoint("127.0.0.1", 98)) is None
    assert isinstance(Facts().bind_error(Endpoint("127.0.0.1", 99)), PermissionError)


def test_a_kernel_that_does_not_tell_of_its_clock_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        def adjtimex(self, _: object) -> int:
            return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Library())
    assert Facts().clock_is_synchronised() is None
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    assert Facts().clock_is_synchronised() is None
