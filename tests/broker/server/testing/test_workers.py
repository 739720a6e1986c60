"""Disk work of a broker in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from broker.server.testing.faults import Fault, Faults
from broker.server.testing.workers import RamWorkers
from broker.server.workers import Finished, TaskDone
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, producing
from wal.disk import SyncFailed
from wal.memory_disk import MemoryDisk


class Later:
    """Remembers the actions to be run after a delay."""

    def __init__(self) -> None:
        self.actions: list[tuple[int, Callable[[], None]]] = []

    def __call__(self, delay_ms: int, action: Callable[[], None]) -> None:
        self.actions.append((delay_ms, action))


class Bench:
    """Workers, and commits of produces for them."""

    def __init__(self) -> None:
        self.disk = MemoryDisk()
        self.gateway = Gateway(self.disk, kawal_vnodes=1)
        self.faults = Faults()
        self.later = Later()
        self.workers = RamWorkers(self.disk, self.faults, self.later)
        client = self.gateway.client()
        create(client, "t")
        client.send(producing(("t", 0, batch(b"v"))), 9)

    def submit(self) -> None:
        for vnode, job in self.gateway.broker.take_jobs(self.gateway.now_ms):
            self.workers.submit(vnode, job)


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.workers.stop()


def errors(results: list[Any]) -> list[type | None]:
    return [
        None if result.error is None else type(result.error)
        for result in results
        if isinstance(result, Finished)
    ]


def test_a_job_is_done_at_once_and_told_at_the_next_turn(bench: Bench) -> None:
    bench.submit()
    assert errors(bench.workers.take_results()) == [None]
    assert bench.workers.take_results() == []


def test_it_never_has_threads(bench: Bench) -> None:
    before = threading.active_count()
    bench.workers.grow(16)
    assert threading.active_count() == before


def test_a_failing_sync_is_the_error_of_the_next_commit_only(bench: Bench) -> None:
    bench.faults.add(Fault(kind="fail_sync", times=1))
    bench.submit()
    assert errors(bench.workers.take_results()) == [SyncFailed]


def test_a_slow_disk_begins_a_commit_later(bench: Bench) -> None:
    bench.faults.add(Fault(kind="slow_disk", delay_ms=300, times=1))
    bench.submit()
    assert bench.workers.take_results() == []
    ((delay_ms, begin),) = bench.later.actions
    assert delay_ms == 300
    begin()
    begin()
    assert errors(bench.workers.take_results()) == [None]


def test_who_stops_in_order_does_not_wait_for_a_slow_disk(bench: Bench) -> None:
    bench.faults.add(Fault(kind="slow_disk", delay_ms=300))
    bench.submit()
    bench.workers.hurry()
    assert errors(bench.workers.take_results()) == [None]


def test_other_work_is_done_and_its_error_told(bench: Bench) -> None:
    def fail() -> None:
        raise OSError("gone")

    told: list[BaseException | None] = []
    bench.workers.submit_task(lambda: None, told.append)
    bench.workers.submit_task(fail, told.append)
    results = bench.workers.take_results()
    for result in results:
        assert isinstance(result, TaskDone)
        result.done(result.error)
    assert [error and str(error) for error in told] == [None, "gone"]
