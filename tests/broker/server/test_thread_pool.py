"""A pool runs every task once, in its threads, and wakes one thread for each."""

from __future__ import annotations

import threading
from functools import partial

from broker.server.thread_pool import ThreadPool


def test_every_task_runs_once_whatever_the_number_of_threads() -> None:
    for threads in (1, 2, 5):
        pool = ThreadPool("test")
        pool.grow(threads)
        ran: list[int] = []
        for number in range(2_000):
            pool.submit(partial(ran.append, number))
        pool.stop()
        assert sorted(ran) == list(range(2_000))


def test_one_thread_runs_tasks_in_their_order() -> None:
    pool = ThreadPool("test")
    ran: list[int] = []
    for number in range(100):
        pool.submit(partial(ran.append, number))
    pool.grow(1)
    pool.stop()
    assert ran == list(range(100))


def test_tasks_that_wait_for_each_other_run_at_the_same_time() -> None:
    pool = ThreadPool("test")
    pool.grow(3)
    together = threading.Barrier(3, timeout=60)
    for _ in range(200):
        for _ in range(3):
            pool.submit(together.wait)
    pool.stop()
    assert not together.broken


def test_tasks_of_many_submitters_all_run() -> None:
    pool = ThreadPool("test")
    pool.grow(4)
    ran: list[None] = []

    def submit_many() -> None:
        for _ in range(2_000):
            pool.submit(lambda: ran.append(None))

    submitters = [threading.Thread(target=submit_many) for _ in range(4)]
    for submitter in submitters:
        submitter.start()
    for submitter in submitters:
        submitter.join()
    pool.stop()
    assert len(ran) == 8_000


def test_a_task_goes_to_one_thread_only() -> None:
    pool = ThreadPool("test")
    pool.grow(4)
    done = threading.Event()
    pool.submit(done.set)
    assert done.wait(60)
    # The other three were not even woken: each waits for its own queue.
    assert len(pool._idle) >= 3
    assert len({id(inbox) for inbox in pool._idle}) == len(pool._idle)
    pool.stop()


def test_a_stop_ends_all_threads_and_they_are_never_fewer_before() -> None:
    pool = ThreadPool("test")
    pool.grow(3)
    pool.grow(2)
    assert len(pool) == 3
    assert {thread.name for thread in pool._threads} == {"test-0", "test-1", "test-2"}
    pool.stop()
    assert not any(thread.is_alive() for thread in pool._threads)


def test_the_last_task_is_let_go_before_the_next_comes() -> None:
    """A task may hold a large answer."""
    pool = ThreadPool("test")
    pool.grow(1)
    freed = threading.Event()

    class Large:
        def __del__(self) -> None:
            freed.set()

        def run(self) -> None:
            pass

    pool.submit(Large().run)
    assert freed.wait(60)
    pool.stop()
