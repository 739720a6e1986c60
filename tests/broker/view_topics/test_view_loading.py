"""Loading the SQL parser off the event loop."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator

import pytest

from broker.loop.slices import WaitingSteps
from broker.view_topics.view_loading import MODULES, load, load_in_thread
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, fetch, fetched, fetching, send, values


@pytest.fixture(autouse=True)
def _nothing_left_behind() -> Iterator[None]:
    """Free the modules that a test imports a second time: each is a cycle, which other tests would find."""
    yield
    gc.collect()


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


def test_after_a_restart_a_fetch_of_a_view_waits_for_the_thread_that_loads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "flights", kawal_columns="id int")
    create(client, "late", partitions=-1, kawal_sql="SELECT id FROM flights WHERE id > 1")
    send(client, "flights", batch(b'{"id":1}', b'{"id":2}'))
    gateway.restart()
    gateway.tick()  # what a start loads itself
    reader = gateway.client()
    assert fetch(reader, "flights").error_code == 0
    begun: list[tuple[Callable[[], object], Callable[[Exception | None], None]]] = []
    monkeypatch.delitem(sys.modules, MODULES[0])
    gateway.broker.scheduler.offload = lambda work, done: begun.append((work, done))
    reader.send(fetching({("late", 0): 0}), 12)
    gateway.settle()
    assert reader.answers() == []
    while begun:  # the load, and then the answer
        work, done = begun.pop()
        work()
        done(None)
        gateway.settle()
    [answer] = reader.answers()
    assert values(fetched(answer)["late", 0].records) == [b'{"id":2}']


def test_a_start_with_views_loads_them_once_clients_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = Gateway()
    create(gateway.client(), "flights", kawal_columns="id int")
    monkeypatch.delitem(sys.modules, MODULES[0])
    gateway.restart()
    gateway.settle()
    assert MODULES[0] not in sys.modules, "no views, nothing to load"
    create(gateway.client(), "late", partitions=-1, kawal_sql="SELECT id FROM flights")
    monkeypatch.delitem(sys.modules, MODULES[0])
    gateway.restart()
    assert MODULES[0] not in sys.modules
    gateway.tick()
    gateway.settle()
    assert MODULES[0] in sys.modules
