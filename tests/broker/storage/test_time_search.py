"""Lookups by time in a cold log: threads read what must come from the disk, and the search goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.loop.slices import all_here, run_here
from broker.storage import time_search
from broker.storage.timestamps import NOTHING_FOUND, first_steps, largest_steps
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import create, send
from wal.memory_disk import MemoryFile
from wal.segment import Segment

COUNT = 60


def cold(**settings: Any) -> Gateway:
    """Return a gateway after a start, with a partition of many segments."""
    gateway = Gateway(kawal_vnodes=1, kawal_segment_bytes=1 << 16, **settings)
    client = gateway.client()
    create(client, "t")
    create(client, "other")
    for number in range(COUNT):
        record = Record(0, START_MS + number, None, bytes([number]) * 3_000)
        assert send(client, "t", encode_batch([record])).error_code == 0
        send(client, "other", encode_batch([Record(0, START_MS + number, None, b"x" * 4_000)]))
    gateway.advance(10_000)
    gateway.restart()
    for segment in gateway.partition("t").vnode.log._state.segments.all:
        segment.tail.clear()
    return gateway


class Threads:
    """Threads that tests ask whether work is in one."""

    def __init__(self) -> None:
        self.works = False
        self.count = 0

    def offload(self, work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        """Do it at once."""
        self.works, self.count = True, self.count + 1
        try:
            run_here(work, lambda _: None)
        finally:
            self.works = False
        done(None)


def guarded(monkeypatch: pytest.MonkeyPatch, threads: Threads, kind: type, method: str) -> None:
    really = getattr(kind, method)

    def checked(*values: Any, **named: Any) -> Any:
        assert threads.works, f"{method} was called on the event loop"
        return really(*values, **named)

    monkeypatch.setattr(kind, method, checked)


def driven(steps: Any, threads: Threads) -> Any:
    """Take steps whose waits are ended by threads."""
    while True:
        try:
            waits = next(steps)
        except StopIteration as end:
            return end.value
        if waits is not None:
            waits.start(lambda: None)


@pytest.mark.parametrize("at", [0, 17, COUNT - 1])
def test_a_lookup_in_a_cold_log_reads_nothing_of_the_disk_on_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Bug: the indexes of a search were read on the event loop, some milliseconds each, or a cold disk's."""
    gateway, threads = cold(), Threads()
    partition = gateway.partition("t")
    monkeypatch.setattr(MemoryFile, "read_at_if_cached", lambda *_: None)
    for kind, method in ((Segment, "read_index"), (Segment, "load_index"), (MemoryFile, "read_at")):
        guarded(monkeypatch, threads, kind, method)
    found = driven(first_steps(partition, START_MS + at, threads.offload), threads)
    assert found == (START_MS + at, at)
    assert threads.count >= 3


def test_so_does_one_for_the_largest_timestamp(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway, threads = cold(), Threads()
    monkeypatch.setattr(MemoryFile, "read_at_if_cached", lambda *_: None)
    for kind, method in ((Segment, "read_index"), (Segment, "load_index"), (MemoryFile, "read_at")):
        guarded(monkeypatch, threads, kind, method)
    found = driven(largest_steps(gateway.partition("t"), threads.offload), threads)
    assert found == (START_MS + COUNT - 1, COUNT - 1)


def test_a_time_that_no_record_has_ends_the_search() -> None:
    gateway = cold()
    assert all_here(first_steps(gateway.partition("t"), START_MS + COUNT, run_here)) == NOTHING_FOUND


def test_indexes_that_do_not_stay_are_read_by_the_loop_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway, threads = cold(), Threads()
    monkeypatch.setattr(time_search, "INDEX_LOADS_MAX", 2)
    monkeypatch.setattr(Segment, "read_index", lambda *_: None)
    found = driven(first_steps(gateway.partition("t"), START_MS + 30, threads.offload), threads)
    assert found == (START_MS + 30, 30)


def test_records_that_are_deleted_while_a_thread_reads_do_not_count() -> None:
    gateway = cold()
    partition = gateway.partition("t")

    def deleting(work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        run_here(work, done)
        if partition.log_start < 40:
            partition.vnode.log.set_log_start(partition.stream_id, 40)
            gateway.settle()

    threads = Threads()
    found = driven(first_steps(partition, START_MS + 5, deleting), threads)
    assert found[1] >= 40 or found[1] == 5
    assert driven(first_steps(partition, START_MS + 5, deleting), threads) == (START_MS + 40, 40)
