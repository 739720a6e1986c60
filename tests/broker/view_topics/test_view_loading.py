"""Loading the SQL parser off the event loop."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

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
    steps = load_in_thread(broker.scheduler)
    assert [next(steps), next(steps)] == [None, None]
    work, done = begun[0]
    work()
    done(None)
    assert list(steps) == []
    assert MODULES[0] in sys.modules
