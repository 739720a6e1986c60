"""Searches run in threads of their own, which the system lets run last."""

from __future__ import annotations

import os
import threading
from contextvars import ContextVar

import pytest

from console.errors import CommandError
from console.web.idle_thread import go_last, in_idle_thread


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="only Linux has it")
def test_the_work_runs_last_and_its_caller_as_before() -> None:
    before = os.sched_getscheduler(0)
    assert in_idle_thread(lambda: os.sched_getscheduler(0)) == os.SCHED_IDLE
    assert os.sched_getscheduler(0) == before


def test_each_work_has_a_thread_of_its_own_that_ends_with_it() -> None:
    threads = [in_idle_thread(threading.current_thread) for _ in range(2)]
    assert threads[0] is not threads[1]
    assert not any(thread.is_alive() for thread in threads)
    assert all(thread.daemon for thread in threads), "a console that ends does not wait for a search"


def test_the_work_is_under_the_rules_of_its_page() -> None:
    rules: ContextVar[str] = ContextVar("rules")
    rules.set("of the page")
    assert in_idle_thread(rules.get) == "of the page"


def test_an_error_is_raised_where_the_work_is_waited_for() -> None:
    def work() -> None:
        raise CommandError("there is no such topic")

    with pytest.raises(CommandError, match="there is no such topic"):
        in_idle_thread(work)


def test_where_it_is_forbidden_work_is_done_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse, raising=False)
    assert in_idle_thread(lambda: 7) == 7


def test_a_system_without_such_threads_does_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "SCHED_IDLE", raising=False)
    monkeypatch.delattr(os, "sched_setscheduler", raising=False)
    go_last()
