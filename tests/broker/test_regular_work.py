"""Work that is done regularly, broken on purpose: an error of our own ends one time, and the next comes.

Clients are served meanwhile.  Other work is broken in the tests of its files: handlers and decoding
(requests/test_dispatcher.py, requests/test_repeated_produce.py), slices (loop/test_slices_handlers.py),
timers, frames and jobs (loop/test_internal_errors.py), connections and threads (server/test_reactor.py),
pages (server/test_http.py), coordinators (coordinators/test_runtime.py), and the console
(server/test_console_host.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from inspect import isgeneratorfunction
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from broker.catalogue import delegation_tokens
from broker.connections.connection_reaper import ConnectionReaper
from broker.coordinators.copier import Copier
from broker.coordinators.poll_watch import PollWatch
from broker.loop.internal_errors import ErrorPlace
from broker.upkeep import storage_topic
from broker.upkeep.compaction import CompactionTask
from broker.upkeep.ledgers_topic import LedgersTopic
from broker.upkeep.remote_copy import RemoteCopy
from broker.upkeep.retention import RetentionTask
from broker.upkeep.storage_topic import StorageTopic
from tests.broker.gateway import Gateway
from tests.broker.groups import beating
from tests.broker.identified import identified
from tests.broker.kit import batch, create, send
from tests.broker.upkeep.copies import copy_of
from wal.memory_objects import MemoryObjects

MINUTE_MS = 60_000

BROKEN = "broken on purpose"


class Regular(NamedTuple):
    """A piece of regular work."""

    owner: Any
    name: str
    """The function that is broken the first time it is called after the test has begun."""
    begin: Callable[[Gateway], object] = lambda gateway: None
    """Starts it, if a plain broker does not."""
    settings: Mapping[str, Any] = MappingProxyType({})
    every_ms: int = 10 * MINUTE_MS


def with_storage_topic(gateway: Gateway) -> None:
    StorageTopic(gateway.broker, gateway.broker, gateway.broker.vnodes)


def with_ledgers_topic(gateway: Gateway) -> None:
    LedgersTopic(gateway.broker, gateway.broker, gateway.broker.vnodes)
    client = gateway.client()
    identified(client, "counted")
    send(client, "counted", batch(b"x"))


def with_copy(gateway: Gateway) -> None:
    copy_of(gateway, MemoryObjects())


def with_group(gateway: Gateway) -> None:
    assert gateway.client().call(beating("g", "m", topics=["t"]), 1).error_code == 0


REGULAR = {
    "retention": Regular(RetentionTask, "_due"),
    "compaction": Regular(CompactionTask, "_look_at_all"),
    "stuck connections": Regular(ConnectionReaper, "_pass"),
    "polls": Regular(PollWatch, "_check", with_group, {"kawal_max_poll_interval_ms": 300_000}),
    "copies forward": Regular(Copier, "_look", with_group),
    "storage state": Regular(StorageTopic, "_tell", with_storage_topic),
    "what a batch of the storage state tells": Regular(storage_topic, "value_of", with_storage_topic),
    "ledgers": Regular(LedgersTopic, "_tell", with_ledgers_topic),
    "the next ledgers": Regular(LedgersTopic, "_changes", with_ledgers_topic),
    "the moment of a copy": Regular(RemoteCopy, "_views", with_copy),
    "the outcome of a copy": Regular(RemoteCopy, "_took", with_copy),
    "expired tokens": Regular(
        delegation_tokens,
        "islice",
        settings={"delegation_token_secret_key": "secret"},
        every_ms=3 * 60 * MINUTE_MS,
    ),
}


class Breaking:
    """A function that raises the first time, and works from then on."""

    def __init__(self, works: Callable[..., Any]) -> None:
        self.works = works
        self.calls = 0

    def __get__(self, instance: Any, owner: Any = None) -> Callable[..., Any]:
        return lambda *args, **named: self(instance, *args, **named)

    def __call__(self, *args: Any, **named: Any) -> Any:
        self.calls += 1
        if self.calls > 1:
            return self.works(*args, **named)
        if isgeneratorfunction(self.works):
            return _broken_steps()
        raise RuntimeError(BROKEN)


def _broken_steps() -> Iterator[None]:
    yield
    raise RuntimeError(BROKEN)


@pytest.mark.parametrize("what", REGULAR)
def test_regular_work_that_breaks_is_over_for_once_and_clients_are_served(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    regular = REGULAR[what]
    gateway = Gateway(**regular.settings)
    client = gateway.client()
    create(client, "t")
    regular.begin(gateway)
    gateway.break_things()
    breaking = Breaking(getattr(regular.owner, regular.name))
    monkeypatch.setattr(regular.owner, regular.name, breaking)
    errors = gateway.broker.internal_errors.counts
    waited_ms = 0
    while not breaking.calls and waited_ms < 4 * regular.every_ms:
        send(gateway.client(), "t", batch(b"x"))
        gateway.advance(MINUTE_MS)
        waited_ms += MINUTE_MS
    assert breaking.calls, f"{what} was not done in {waited_ms // MINUTE_MS} minutes"
    assert sum(errors.values()) >= 1
    assert errors[ErrorPlace.LOG] == errors[ErrorPlace.REQUEST] == errors[ErrorPlace.CONNECTION] == 0
    for _ in range(4 * regular.every_ms // MINUTE_MS):
        send(gateway.client(), "t", batch(b"x"))
        gateway.advance(MINUTE_MS)
        if breaking.calls > 1:
            break
    assert breaking.calls > 1, f"{what} is not done any more"
    assert gateway.partition("t").high_watermark > 1


def test_the_function_that_is_broken_works_the_second_time() -> None:
    breaking = Breaking(islice)
    with pytest.raises(RuntimeError):
        breaking("abc", 2)
    assert list(breaking("abc", 2)) == ["a", "b"]
