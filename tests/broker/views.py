"""Short forms for tests of views: make one, read it as a consumer does, find the origin of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from broker.loop.slices import Until, run_here
from broker.view_topics.query_view import QueryPartition
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.record_reader import Record
from protocol.records import iter_batches, read_batch_header
from tests.broker.databases import create_database
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import (
    create,
    fetch,
    records_of,
)
from views import plan, statement

PLACE = "kawal.database"


def make_view(client: Client, name: str, text: str, **configs: str) -> None:
    """Make a view from the text that follows AS."""
    create(client, name, -1, **{"kawal.sql": text, **configs})


def places_of_statements(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return where statements are read and planned from now on: in a thread or on the loop."""
    places: list[str] = []
    place = "loop"

    def noted(work: Callable[..., Any]) -> Callable[..., Any]:
        def note(*arguments: Any, **named: Any) -> Any:
            places.append(place)
            return work(*arguments, **named)

        return note

    def offload(work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        nonlocal place
        place = "thread"
        run_here(work, lambda _error: None)
        place = "loop"
        done(None)

    monkeypatch.setattr(statement, "parse_view", noted(statement.parse_view))
    monkeypatch.setattr(plan, "plan_view", noted(plan.plan_view))
    gateway.broker.scheduler.offload = offload
    return places


def database(vnodes: int = 1, **settings: Any) -> tuple[Gateway, Client]:
    """Make a database d with the topics a (2 partitions) and b, and the view `all` over it."""
    gateway = Gateway(**settings)
    client = gateway.client()
    create_database(client, "d", vnodes=str(vnodes))
    create(client, "a", 2, **{PLACE: "d"})
    create(client, "b", 1, **{PLACE: "d"})
    make_view(client, "all", "DATABASE d")
    return gateway, client


def read_all(client: Client, name: str = "all", partition: int = 0, offset: int = 0) -> list[Record]:
    """Return every record of a partition, reading on from the end of each batch up to the last."""
    found: list[Record] = []
    for _ in range(1_000):
        data = fetch(client, name, offset, partition)
        assert data.error_code == 0, data
        batches = [read_batch_header(batch) for batch in iter_batches(bytes(data.records))]
        if not batches:
            assert offset == data.high_watermark
            return found
        found += [record for record in records_of(bytes(data.records)) if record.offset >= offset]
        assert batches[-1].last_offset >= offset
        offset = batches[-1].last_offset + 1
    raise AssertionError("the view never ends")


def origin(record: Record) -> tuple[bytes, bytes, bytes]:
    """Return topic, partition and offset from the headers of a record of a database."""
    headers = dict(record.headers)
    topic, partition, offset = (headers[f"kawal.{name}"] or b"" for name in ("topic", "partition", "offset"))
    return topic, partition, offset


def view_of(gateway: Gateway, name: str = "cities") -> QueryPartition:
    found = gateway.partition(name)
    assert isinstance(found, QueryPartition)
    return found


def named_client(gateway: Gateway) -> Client:
    """Return a client that names its software, and so is known to move past empty batches."""
    client = gateway.client()
    client.call(ApiVersionsRequest(client_software_name="kgo", client_software_version="1"), 3)
    return client


def counters(gateway: Gateway, view: str = "late") -> tuple[int, int, int]:
    found = gateway.broker.views.counters_of(gateway.broker.find_topic(view))
    return found.scanned, found.matched, found.unfit


def finished(steps: Iterable[object]) -> Any:
    """Run all steps and return what they return."""
    iterator = iter(steps)
    while True:
        try:
            step(iterator)
        except StopIteration as done:
            return done.value


def step(steps: Iterator[object]) -> None:
    """Take one of the steps, and do here what it waits for.  Raises: StopIteration at their end."""
    pause = next(steps)
    while isinstance(pause, Until):
        assert pause.here is not None
        pause.here()
        pause = next(steps)
