"""The disk is waited for in threads while the state of groups is loaded."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.loop.slices import run_here
from tests.broker.gateway import Gateway
from tests.broker.groups import commit, committed, fetching_offsets
from tests.broker.kit import create
from wal.memory_disk import MemoryFile
from wal.segment import FileRange


def test_what_lies_in_files_is_read_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = Gateway(kawal_vnodes=1)
    create(gateway.client(), "t")
    commit(gateway.client(), "g", ("t", 0, 5))
    gateway.restart()
    in_thread: list[bool] = []
    reads: list[bool] = []
    read = FileRange.read

    def noted(part: FileRange) -> bytes:
        reads.append(bool(in_thread))
        return read(part)

    def offload(work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        in_thread.append(True)
        failed: list[Exception | None] = []
        run_here(work, failed.append)
        in_thread.clear()
        done(failed[0])

    monkeypatch.setattr(FileRange, "read", noted)
    monkeypatch.setattr(MemoryFile, "read_at_if_cached", lambda *_: None)
    gateway.broker.scheduler.offload = offload
    gateway.client().call(fetching_offsets("g"), 9)
    gateway.settle()
    assert committed(gateway.client(), "g") == {("t", 0): 5}
    assert reads
    assert all(reads)
