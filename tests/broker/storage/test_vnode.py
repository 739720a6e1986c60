"""A vnode answers those that wait for its disk: in order, once, and never too early."""

from __future__ import annotations

import errno

import pytest

from broker.loop.internal_errors import InternalErrors
from broker.storage.vnode import SETTLE_SHARE_NS, DiskJob, Vnode
from protocol.error_codes import ErrorCode
from tests.broker.kit import batch
from wal.disk import DiskError
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing
from wal.options import LogOptions


class Waiter:
    """A waiter that remembers what it was told."""

    def __init__(self, told: list[tuple[str, ErrorCode | None]], name: str) -> None:
        self._told = told
        self._name = name

    def appended(self, _vnode: Vnode, error: ErrorCode | None, _now_ms: int) -> None:
        self._told.append((self._name, error))


class Bench:
    """A vnode on a simulated disk."""

    def __init__(self, **options: object) -> None:
        self.disk = MemoryDisk()
        self.disk.make_directory("v")
        self.disk.sync_directory("")
        self.vnode = self._open(LogOptions(min_free_bytes=0, **options))  # type: ignore[arg-type]
        self.told: list[tuple[str, ErrorCode | None]] = []

    def _open(self, options: LogOptions) -> Vnode:
        return Vnode(VnodeLog.open(self.disk, "v", options=options, now_ms=0), database="db", index=3)

    def append(self, name: str) -> None:
        """Append a batch and wait for it."""
        self.vnode.last_version = self.vnode.log.append(1, batch(name.encode())).version
        self.vnode.wait_durable(self.vnode.last_version, Waiter(self.told, name), 0)

    def begin(self) -> list[DiskJob]:
        return list(self.vnode.begin_jobs(0))

    def end(self, job: DiskJob) -> list[int]:
        """Run a job and hand it back; return how many bytes each advanced stream got."""
        error: DiskError | None = None
        try:
            job.run()
        except DiskError as failure:
            error = failure
        advanced = self.vnode.job_done(job, error, 0)
        self.vnode.settle(InternalErrors(), 0)
        return [stream.added_bytes for stream in advanced]

    def settle(self) -> None:
        while jobs := self.begin():
            for job in jobs:
                self.end(job)


def test_it_is_named_as_its_directory() -> None:
    assert Bench().vnode.name == "db/vnode-3"


def test_nobody_is_told_before_the_sync_and_all_are_told_in_order_after_it() -> None:
    bench = Bench()
    for name in "abc":
        bench.append(name)
    (job,) = bench.begin()
    assert bench.told == []
    assert bench.end(job) == [3 * len(batch(b"a"))]
    assert bench.told == [("a", None), ("b", None), ("c", None)]


def test_what_arrives_during_a_commit_joins_the_next_one() -> None:
    bench = Bench()
    bench.append("a")
    (job,) = bench.begin()
    bench.append("b")
    assert bench.begin() == []
    bench.end(job)
    assert bench.told == [("a", None)]
    bench.settle()
    assert bench.told == [("a", None), ("b", None)]


def test_who_comes_late_is_told_at_once() -> None:
    bench = Bench()
    bench.append("a")
    bench.settle()
    bench.vnode.wait_durable(bench.vnode.last_version, Waiter(bench.told, "late"), 0)
    assert bench.told == [("a", None), ("late", None)]


def test_a_new_log_has_nothing_to_wait_for() -> None:
    bench = Bench()
    bench.vnode.wait_durable(bench.vnode.last_version, Waiter(bench.told, "early"), 0)
    assert bench.told == [("early", None)]


def test_a_failed_commit_takes_what_came_meanwhile_with_it() -> None:
    bench = Bench()
    bench.append("safe")
    bench.settle()
    bench.append("a")
    bench.disk.faults.append(failing("sync", errno.EIO))
    (job, *_) = bench.begin()
    bench.append("b")
    bench.end(job)
    lost = ErrorCode.KAFKA_STORAGE_ERROR
    assert bench.told == [("safe", None), ("a", lost), ("b", lost)]
    bench.settle()
    bench.append("after")
    bench.settle()
    assert bench.told[3:] == [("after", None)]
    assert bench.vnode.log.high_watermark(1) == 2


def test_a_waiter_that_appends_while_it_is_told_of_a_loss_is_no_part_of_it() -> None:
    """Only room for a new segment was missing, so the log accepts appends again at once."""
    bench = Bench(segment_bytes=8 << 10)
    for _ in range(2):
        bench.vnode.log.append(1, batch(bytes(3_000)))
        bench.end(bench.begin()[0])

    class Stubborn(Waiter):
        def appended(self, vnode: Vnode, error: ErrorCode | None, now_ms: int) -> None:
            super().appended(vnode, error, now_ms)
            vnode.log._state.full = False
            bench.append("again")

    bench.vnode.last_version = bench.vnode.log.append(1, batch(bytes(3_000))).version
    bench.vnode.wait_durable(bench.vnode.last_version, Stubborn(bench.told, "first"), 0)
    bench.disk.faults.append(failing("allocate", errno.ENOSPC))
    (job, *_) = bench.begin()
    bench.end(job)
    assert bench.told == [("first", ErrorCode.KAFKA_STORAGE_ERROR)]
    bench.settle()
    assert bench.told[1:] == [("again", None)]


def test_a_flush_that_fails_beside_a_commit_stops_the_log_and_tells_everybody() -> None:
    bench = Bench(durability="os", flush_ms=1)
    bench.append("written")
    (job, *_) = bench.begin()
    bench.end(job)
    bench.append("in the commit")
    jobs = list(bench.vnode.begin_jobs(10))
    (commit,) = [job for job in jobs if type(job).__name__ == "CommitJob"]
    (flush,) = [job for job in jobs if type(job).__name__ == "FlushJob"]
    bench.append("behind it")
    bench.disk.faults.append(failing("sync", errno.EIO))
    bench.end(flush)
    bench.end(commit)
    assert bench.told == [
        ("written", None),
        ("in the commit", None),
        ("behind it", ErrorCode.KAFKA_STORAGE_ERROR),
    ]


@pytest.mark.parametrize("is_busy", [True, False])
def test_a_deadline_counts_only_while_nothing_is_at_work(is_busy: bool) -> None:
    bench = Bench()
    bench.append("a")
    jobs = bench.begin()
    assert (bench.vnode.busy, bench.vnode.next_deadline()) == (True, None)
    if not is_busy:
        for job in jobs:
            bench.end(job)
        bench.settle()
        assert not bench.vnode.busy
        deadline = bench.vnode.next_deadline()
        assert deadline is not None
        assert deadline > 0


class Clock:
    """A clock by which each look takes two fifths of the share for telling waiters."""

    def __init__(self) -> None:
        self._now_ns = 0

    def __call__(self) -> int:
        self._now_ns += SETTLE_SHARE_NS * 2 // 5
        return self._now_ns


def settled_bench(names: str) -> Bench:
    """Return a vnode of which these waiters are done and none was told."""
    bench = Bench()
    for name in names:
        bench.append(name)
    (job,) = bench.begin()
    job.run()
    bench.vnode.job_done(job, None, 0)
    return bench


def test_a_crowd_that_waits_for_one_commit_is_told_some_at_a_time() -> None:
    bench = settled_bench("abcdef")
    clock, errors = Clock(), InternalErrors()
    assert bench.vnode.settle(errors, 0, clock)
    assert [name for name, _ in bench.told] == ["a", "b", "c"]
    assert bench.vnode.has_settled
    assert not bench.vnode.settle(errors, 0, clock)
    assert [name for name, _ in bench.told] == list("abcdef")
    assert not bench.vnode.has_settled


def test_one_that_waits_for_what_is_durable_is_told_after_those_before_it() -> None:
    bench = settled_bench("abcdef")
    bench.vnode.settle(InternalErrors(), 0, Clock())
    bench.vnode.wait_durable(bench.vnode.last_version, Waiter(bench.told, "late"), 0)
    assert [name for name, _ in bench.told] == ["a", "b", "c"]
    bench.vnode.settle(InternalErrors(), 0)
    assert [name for name, _ in bench.told] == [*"abcdef", "late"]


def test_after_a_failure_all_are_told_at_once_those_that_are_safe_first() -> None:
    bench = settled_bench("abcd")
    for name in "efgh":
        bench.append(name)
    bench.disk.faults.append(failing("sync", errno.EIO))
    (job, *_) = bench.begin()
    with pytest.raises(DiskError) as raised:
        job.run()
    bench.vnode.job_done(job, raised.value, 0)
    assert not bench.vnode.settle(InternalErrors(), 0, Clock())
    lost = ErrorCode.KAFKA_STORAGE_ERROR
    assert bench.told == [*((name, None) for name in "abcd"), *((name, lost) for name in "efgh")]


def test_maintenance_begins_only_where_it_is_asked_for() -> None:
    bench = Bench(seal_idle_ms=10**9)
    bench.append("a")
    (commit,) = bench.vnode.begin_jobs(0, maintains=False)
    bench.end(commit)
    late_ms = 10**8
    assert list(bench.vnode.begin_jobs(late_ms, maintains=False)) == []
    assert len(list(bench.vnode.begin_jobs(late_ms))) == 1
