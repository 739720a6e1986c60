"""Threads run jobs and hand back their results; no error in them is lost."""

from __future__ import annotations

import errno
import os
import select
import threading
from collections import deque
from typing import Any

import pytest

from broker.server.workers import PEER_THREADS, DiskWorkers, Finished, Result, SyncClock, TaskDone
from wal.disk import DiskError
from wal.jobs import CommitJob


class FakeJob:
    """A job that succeeds, or fails with a given error."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.ran = False

    def run(self) -> None:
        self.ran = True
        if self.error is not None:
            raise self.error


def after(*submitted: Any, threads: int = 2) -> list[Result]:
    """Return the results of these jobs once they have ended."""
    workers = DiskWorkers(threads)
    for job in submitted:
        vnode: Any = "vnode"
        workers.submit(vnode, job)
    return workers.stop()


def test_every_job_runs_and_is_told_once() -> None:
    jobs = [FakeJob() for _ in range(50)]
    results = after(*jobs)
    assert all(job.ran for job in jobs)
    finished = [result for result in results if isinstance(result, Finished)]
    assert {id(result.job) for result in finished} == {id(job) for job in jobs}
    assert len(finished) == len(results) == 50
    assert {str(result.vnode) for result in finished} == {"vnode"}
    assert all(result.error is None for result in finished)
    assert all(result.duration_ns >= 0 for result in finished)


def test_an_error_of_the_disk_is_told_with_its_job() -> None:
    error = DiskError("sync", "/data/x", errno.EIO)
    (result,) = after(FakeJob(error))
    assert isinstance(result, Finished)
    assert result.error is error


@pytest.mark.parametrize("error", [ZeroDivisionError("a bug"), OSError(errno.EIO, "not ours"), MemoryError()])
def test_any_other_error_is_told_with_its_job_and_the_thread_goes_on(error: Exception) -> None:
    broken, job = FakeJob(error), FakeJob()
    results = after(broken, job, threads=1)
    assert job.ran
    errors = {id(result.job): result.error for result in results if isinstance(result, Finished)}
    assert errors == {id(broken): error, id(job): None}


def test_tasks_tell_their_end_and_their_error() -> None:
    workers = DiskWorkers(1)
    seen: list[Exception | None] = []
    failure = OSError(errno.EIO, "cold")

    def fail() -> None:
        raise failure

    workers.submit_task(lambda: None, seen.append)
    workers.submit_task(fail, seen.append)
    for result in workers.stop():
        assert isinstance(result, TaskDone)
        result.done(result.error)
    # Two threads: either may be the first.
    assert sorted(seen, key=str) == sorted([None, failure], key=str)


def test_what_waits_for_another_machine_holds_up_no_task_and_no_end() -> None:
    workers = DiskWorkers(1)
    asked, answers, ended = threading.Event(), threading.Event(), threading.Event()

    def ask() -> None:
        asked.set()
        answers.wait(60)

    workers.submit_outside(ask, lambda _error: None)
    assert asked.wait(60)
    workers.submit_task(lambda: None, lambda _error: ended.set())
    (result,) = workers.stop()
    assert isinstance(result, TaskDone)
    result.done(result.error)
    assert ended.is_set()
    descriptor = os.open(os.devnull, os.O_RDONLY)  # the number of the closed one, perhaps
    answers.set()
    (thread,) = workers._outside._threads
    thread.join(60)
    assert not thread.is_alive()
    os.close(descriptor)


def test_a_node_that_does_not_answer_holds_up_no_other_and_no_end() -> None:
    workers = DiskWorkers(1)
    answers, answered = threading.Event(), threading.Event()
    for _ in range(2 * PEER_THREADS):
        workers.submit_peer(1, lambda: answers.wait(60), lambda _error: None)
    workers.submit_peer(2, answered.set, lambda _error: None)
    assert answered.wait(60)
    assert {node: len(pool) for node, pool in workers._peers.items()} == {1: PEER_THREADS, 2: 1}
    threads = [thread for pool in workers._peers.values() for thread in pool._threads]
    workers.stop()
    answers.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_results_make_the_event_descriptor_readable_until_they_are_taken() -> None:
    workers = DiskWorkers(1)
    poll = select.poll()
    poll.register(workers.event_descriptor, select.POLLIN)
    assert workers.take_results() == []
    assert poll.poll(0) == []
    vnode: Any = "vnode"
    workers.submit(vnode, FakeJob())  # type: ignore[arg-type]
    assert poll.poll(10_000)
    assert len(workers.take_results()) == 1
    assert poll.poll(0) == []
    assert workers.stop() == []


def test_results_that_come_before_the_loop_has_taken_any_wake_it_once_and_later_ones_again() -> None:
    workers = DiskWorkers(1)
    workers._tell(TaskDone(print, None))
    workers._tell(TaskDone(print, None))
    assert len(workers.take_results()) == 2
    workers._tell(TaskDone(print, None))
    assert os.eventfd_read(workers.event_descriptor) == 1
    workers.stop()


def test_of_two_results_at_the_same_moment_one_wakes_the_loop() -> None:
    class Between(deque[Any]):
        """Lets another thread's result come right after the first."""

        def append(self, result: Any, /) -> None:
            super().append(result)
            if len(self) == 1:
                workers._tell(TaskDone(print, None))

    workers = DiskWorkers(1)
    workers._results = Between()
    workers._tell(TaskDone(print, None))
    assert len(workers.take_results()) == 2
    workers.stop()


def test_a_stop_ends_threads_and_descriptor() -> None:
    workers = DiskWorkers(3)
    workers.stop()
    assert not any(thread.is_alive() for thread in workers._jobs._threads)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(workers.event_descriptor)


def test_threads_are_added_and_never_taken_away() -> None:
    started = threading.Event()
    workers = DiskWorkers(1)
    workers.submit_task(started.wait, lambda _error: None)
    workers.grow(3)
    workers.grow(2)
    # One thread waits for the work of another.
    workers.submit_task(started.set, lambda _error: None)
    assert len(workers.stop()) == 2


def test_a_commits_sync_is_measured_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([100, 170, 200])
    monkeypatch.setattr("broker.server.workers.time.monotonic_ns", lambda: next(ticks))
    commit = CommitJob.__new__(CommitJob)
    clock = SyncClock(commit)
    assert commit.on_written is not None
    commit.on_written()
    assert clock.durations_ns() == (100, 30)


def test_what_is_no_commit_has_no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([100, 170])
    monkeypatch.setattr("broker.server.workers.time.monotonic_ns", lambda: next(ticks))
    job: Any = FakeJob()
    assert SyncClock(job).durations_ns() == (70, 0)
