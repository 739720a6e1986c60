"""The process that searches, here in a thread at the other end of a pipe."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import pytest

from console.errors import CommandError
from console.outgoing import rules
from console.security import PLAIN
from console.web.search_bounds import Bounds
from console.web.search_job import LEAVE, Job, SearchFailed, Way, result_of, unpacked
from console.web.search_worker import Worker, go_last
from protocol.api_keys import ApiKey

WAY = Way("broker.test:9092", PLAIN, read_only=True, alone=True)


def twice(number: int, _: Bounds) -> int:
    return 2 * number


def refused(_: Bounds) -> None:
    raise CommandError("there is no such topic")


def wrong(_: Bounds) -> None:
    raise ZeroDivisionError


def forbidden(_: Bounds) -> None:
    found = rules()
    assert found is not None
    found.check(ApiKey.DELETE_TOPICS, object())


def until_left(bounds: Bounds) -> str:
    while not bounds.spent():
        os.sched_yield()
    return "left" if bounds.left else "spent"


def is_spent(bounds: Bounds) -> bool:
    return bounds.spent()


@pytest.fixture
def other_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    """Yield the console's end of a pipe to a worker, whose end is waited for."""
    monkeypatch.setattr("console.web.search_worker.go_last", lambda: None)
    ours, theirs = Pipe()
    ended = threading.Event()
    thread = threading.Thread(target=Worker(theirs, ended.set, 60).run, daemon=True)
    thread.start()
    yield ours
    ours.close()
    thread.join(60)
    assert ended.wait(60)
    assert not thread.is_alive()


def job(work: Any, *args: Any, bounds: Bounds | None = None) -> bytes:
    return pickle.dumps(Job(work, args, bounds or Bounds(), WAY))


def told(connection: Connection) -> Any:
    return result_of(unpacked(connection.recv_bytes()))


def test_one_job_after_the_other_is_done_and_errors_come_back(other_end: Connection) -> None:
    for number in (1, 2):
        other_end.send_bytes(job(twice, number))
        assert told(other_end) == 2 * number
    other_end.send_bytes(job(refused))
    with pytest.raises(CommandError, match="no such topic"):
        told(other_end)
    other_end.send_bytes(job(wrong))
    with pytest.raises(SearchFailed, match="ZeroDivisionError"):
        told(other_end)


def test_a_read_only_console_s_rules_are_in_effect_there(other_end: Connection) -> None:
    other_end.send_bytes(job(forbidden))
    with pytest.raises(CommandError, match="read-only"):
        told(other_end)


def test_a_search_ends_when_it_is_told_to(other_end: Connection) -> None:
    other_end.send_bytes(job(until_left, bounds=Bounds(seconds=600)))
    other_end.send_bytes(pickle.dumps(LEAVE))
    assert told(other_end) == "left"
    other_end.send_bytes(pickle.dumps(LEAVE))  # too late, and of no effect on the next one
    other_end.send_bytes(job(until_left, bounds=Bounds(seconds=-1)))
    assert told(other_end) == "spent"


def test_a_search_has_its_time_however_late_its_process_was_there(other_end: Connection) -> None:
    late = Bounds(seconds=600)
    late._ends = 0.0
    other_end.send_bytes(job(is_spent, bounds=late))
    assert told(other_end) is False


def test_it_ends_when_there_is_nothing_to_do() -> None:
    ours, theirs = Pipe()
    ended = threading.Event()
    thread = threading.Thread(target=Worker(theirs, ended.set, 0).run, daemon=True)
    thread.start()
    thread.join(60)
    assert ended.is_set()
    assert not thread.is_alive()
    ours.close()


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="only Linux has it")
def test_the_work_runs_last() -> None:
    found: list[int] = []

    def work() -> None:
        go_last()
        found.append(os.sched_getscheduler(0))

    before = os.sched_getscheduler(0)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [os.SCHED_IDLE]
    assert os.sched_getscheduler(0) == before


def test_where_that_is_forbidden_work_is_done_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse, raising=False)
    go_last()
    monkeypatch.delattr(os, "SCHED_IDLE", raising=False)
    go_last()
