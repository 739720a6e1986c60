"""SIGQUIT writes the state of the loop and all stacks into the log, and ends nothing."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from broker.server import thread_dump
from broker.server.thread_dump import DumpOnSignal, dump, loop_state
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, fetching, producing


@pytest.fixture
def prepared() -> Iterator[None]:
    """Block the signal as the server does, for this test only."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {thread_dump.SIGNAL})
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_the_loop_tells_what_waits_for_it(gateway: Gateway) -> None:
    client = gateway.client()
    create(client, "t", partitions=2)
    client.send(producing(("t", 0, batch(b"a"))), 9)
    client.send(fetching({("t", 1): 0}, max_wait_ms=60_000), 12)
    gateway.broker.scheduler.soon(lambda: None)
    gateway.broker.scheduler.soon(lambda: None)
    state = loop_state(gateway.broker)
    assert (state["state"], state["connections"], state["parked"]) == ("waiting", 1, 1)
    assert state["slices"] == "2 (background:2)"
    assert state["timers"] >= 1
    assert state["requests_in_work_bytes"] > 0
    assert state["stopping"] is False


def test_a_turn_in_progress_is_told_with_its_work(gateway: Gateway) -> None:
    turns = gateway.broker.stats.turns
    clock = iter([1_000_000, 8_000_000])
    turns.clock_ns = lambda: next(clock)
    turns.begin(turns.timers)
    state = loop_state(gateway.broker)
    assert (state["state"], state["turn_ms"], state["piece"]) == ("in a turn", 7, "timers")


def test_a_dump_has_a_line_for_the_loop_and_one_for_each_thread(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    dump(gateway.broker)
    first, *threads = caplog.records
    assert first.getMessage() == "the event loop"
    assert "connections" in vars(first)
    (main,) = (record for record in threads if record.getMessage() == "thread MainThread")
    assert main.stack_info is not None
    assert "test_thread_dump.py" in main.stack_info


@pytest.mark.usefixtures("prepared")
def test_the_signal_makes_a_dump_and_the_process_goes_on(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumped = threading.Semaphore(0)

    def record(broker: Any) -> None:
        assert broker is gateway.broker
        dumped.release()

    monkeypatch.setattr(thread_dump, "dump", record)
    waiting = DumpOnSignal(gateway.broker)
    waiting.start()
    for _ in range(2):
        # To this thread only: others of the test run do not block the signal.
        signal.pthread_kill(waiting.thread_id, signal.SIGQUIT)
        assert dumped.acquire(timeout=60)
    waiting.stop()
    assert not dumped.acquire(blocking=False)


def test_the_lines_of_threads_are_of_different_kinds_so_that_none_is_left_out(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    dump(gateway.broker)
    kinds = {(record.name, record.levelno, str(record.msg)) for record in caplog.records}
    assert len(kinds) == len(caplog.records)
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
