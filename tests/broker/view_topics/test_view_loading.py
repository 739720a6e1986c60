"""Loading the SQL parser off the event loop."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from broker.loop.slices import WaitingSteps
from broker.view_topics.view_loading import MODULES, load, load_in_thread
from tests.broker.gateway import Gateway


def test_nothing_is_done_when_it_is_loaded() -> None:
    load()
    assert list(load_in_thread(Gateway().broker.scheduler)) == []


def test_others_are_served_while_a_thread_loads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    load()
    monkeypatch.delitem(sys.modules, MODULES[0])
    broker = Gateway().broker
    begun: list[tuple[Callable[[], object], Callable[[Exception | None], None]]] = []
    broker.scheduler.offload = lambda work, done: begun.append((work, done))
    loaded: list[str] = []

    def steps() -> WaitingSteps:
        yield from load_in_thread(broker.scheduler)
        loaded.append("now")

    broker.scheduler.add_work(steps())
    broker.scheduler.run()
    assert not broker.scheduler.pending, "what waits for a thread needs no turns"
    work, done = begun[0]
    work()
    done(None)
    broker.scheduler.run()
    assert loaded == ["now"]
    assert MODULES[0] in sys.modules
