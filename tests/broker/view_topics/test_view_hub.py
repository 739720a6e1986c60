"""Views in a broker, with a kind of view made for the test: it shows every second batch."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest

from broker.catalogue.catalogue_records import TopicCreated, ViewDefinition
from broker.catalogue.topics import Topic
from broker.loop.slices import WaitingSteps
from broker.storage.partition import Partition
from broker.view_topics.query_view import QueryPartition
from broker.view_topics.view_hub import KINDS, REST_MS_MAX, ViewHub
from broker.view_topics.view_partition import ViewPartition, ViewRead
from broker.view_topics.view_slices import SliceBudget
from protocol.error_codes import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.records import iter_batches, read_batch_header
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, fetch, fetched, fetching, send, values
from tests.broker.wide_requests import Threads, let_work


class EvenPartition(ViewPartition):
    """Shows the batches that begin at an even offset; scans one batch in a slice."""

    looks = 0
    seen = 0

    def steps(self, read: ViewRead) -> WaitingSteps:
        while read.position < self.high_watermark and not read.is_full:
            result = self.vnode.log.read(self.stream_id, read.position, 1)
            type(self).looks += 1
            (found,) = iter_batches(b"".join(result.parts))  # type: ignore[arg-type]
            if read_batch_header(found).base_offset % 2 == 0:
                read.add(found, len(found), result.next_offset)
            read.position = result.next_offset
            yield None

    def began_waiting(self, position: int, now_ms: int) -> None:
        self.seen = position
        self.host.join(self.stream_id, self.wait_key).watch(self)

    def catch_up(self, budget: SliceBudget) -> WaitingSteps:
        read = ViewRead(self.seen, 1 << 20)
        yield from self.steps(read)
        self.seen = read.position
        if read.parts:
            self.host.loop.waiters.advanced(self.wait_key, read.size_bytes, self.host.now_ms)

    def has_news(self, read: ViewRead) -> bool:
        return read.has_progress and read.offset == 0


def open_partition(hub: ViewHub, topic: Topic, index: int) -> EvenPartition:
    assert topic.view is not None
    metadata = hub.metadata
    source = metadata.topics.partition(metadata.catalogue.by_name[topic.view.source], index)
    return EvenPartition(hub, topic, index, vnode=source.vnode, stream_id=source.stream_id)


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    module = ModuleType("even_view")
    module.open_partition = open_partition  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "even_view", module)
    monkeypatch.setitem(KINDS, "even", "even_view")
    monkeypatch.setattr(EvenPartition, "looks", 0)
    return Gateway()


def viewing(gateway: Gateway) -> Client:
    """Return a client that names its software, of a gateway with topic `t` and view `v` over it."""
    client = gateway.client()
    client.call(ApiVersionsRequest(client_software_name="kgo", client_software_version="1"), 3)
    topic_id = create(client, "t")
    definition = ViewDefinition(kind="even", source="t", source_id=topic_id.hex)
    record = TopicCreated(
        name="v",
        topic_id=UUID(int=9, version=4).hex,
        database="default",
        first_stream=0,
        partition_count=1,
        first_vnode=0,
        created_ms=0,
        view=definition,
    )
    gateway.broker.metadata_log.append(record, gateway.now_ms)
    gateway.settle()
    return client


def test_a_view_is_fetched_slice_by_slice_and_shows_what_matches(gateway: Gateway) -> None:
    client = viewing(gateway)
    for value in (b"a", b"b", b"c"):
        send(client, "t", batch(value))
    data = fetch(client, "v")
    assert (data.error_code, data.high_watermark, values(data.records)) == (0, 3, [b"a", b"c"])


def test_nobody_is_woken_by_what_does_not_match(gateway: Gateway) -> None:
    client, producer = viewing(gateway), gateway.client()
    send(producer, "t", batch(b"a"))
    client.send(fetching({("v", 0): 1}, max_wait_ms=1_000), 12)
    send(producer, "t", batch(b"b"))
    gateway.settle()
    assert client.answers() == []
    send(producer, "t", batch(b"c"))
    gateway.settle()
    (answer,) = client.answers()
    assert values(fetched(answer)["v", 0].records) == [b"c"]


def test_at_the_end_of_its_wait_a_reader_learns_how_far_it_came(gateway: Gateway) -> None:
    client, producer = viewing(gateway), gateway.client()
    send(producer, "t", batch(b"a"))
    client.send(fetching({("v", 0): 1}, max_wait_ms=1_000), 12)
    send(producer, "t", batch(b"b"))
    gateway.advance(1_000)
    (answer,) = client.answers()
    header = read_batch_header(fetched(answer)["v", 0].records)
    assert (header.base_offset, header.last_offset, header.record_count) == (1, 1, 0)


def test_many_who_wait_cost_one_look(gateway: Gateway) -> None:
    viewing(gateway)
    producer, clients = gateway.client(), [gateway.client() for _ in range(5)]
    for client in clients:
        client.send(fetching({("v", 0): 0}, max_wait_ms=1_000), 12)
    EvenPartition.looks = 0
    gateway.broker.topics.partition(gateway.broker.find_topic("v"), 0)
    send(producer, "t", batch(b"a"))
    assert [len(client.answers()) for client in clients] == [1] * 5
    # Once for all waiting fetches; this kind keeps nothing, so each scans again for its own answer.
    assert EvenPartition.looks == 1 + 5


def test_a_view_that_is_deleted_answers_those_who_wait_for_it(gateway: Gateway) -> None:
    client = viewing(gateway)
    client.send(fetching({("v", 0): 0}, max_wait_ms=1_000), 12)
    gateway.broker.delete_topic(gateway.broker.find_topic("v"), gateway.now_ms)
    gateway.settle()
    (answer,) = client.answers()
    assert fetched(answer)["v", 0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class Ticking:
    """A clock that advances when the view scans a batch."""

    def __init__(self, view: Partition, slice_ms: int) -> None:
        assert isinstance(view, QueryPartition)
        assert view.evaluator.first_records
        self.ns = 0
        filtered, view._filter = view._filter, self._filtered
        assert filtered is not None
        self._inner, self._slice_ns = filtered, slice_ms * 1_000_000

    def _filtered(self, *arguments: Any, **options: Any) -> Any:
        self.ns += self._slice_ns
        return self._inner(*arguments, **options)


@pytest.mark.parametrize(("slice_ms", "rest_ms"), [(1, 0), (5, 20), (900, REST_MS_MAX)])
def test_after_a_long_pass_there_is_a_rest(slice_ms: int, rest_ms: int) -> None:
    gateway = Gateway()
    client, waiting = gateway.client(), gateway.client()
    create(client, "t")
    create(client, "v", partitions=-1, kawal_sql="SELECT _offset FROM t")
    waiting.send(fetching({("v", 0): 0}, max_wait_ms=9_000), 12)
    gateway.settle()
    now = Ticking(gateway.partition("v"), slice_ms)
    gateway.broker.stats.clock_ns = lambda: now.ns
    before_ms = gateway.now_ms
    send(client, "t", batch(b"a"))
    assert len(waiting.answers()) == 1
    assert max(0, gateway.broker.views._rests_until_ms - before_ms) == rest_ms
    gateway.broker.stats.clock_ns = lambda: 0
    waiting.send(fetching({("v", 0): 1}, max_wait_ms=9_000), 12)
    send(client, "t", batch(b"b"))
    assert len(waiting.answers()) == (0 if rest_ms else 1)
    gateway.advance(rest_ms)
    assert len(waiting.answers()) == (1 if rest_ms else 0)


class Scheduling:
    """Follows a source; while it catches up, records arrive for another one."""

    def __init__(self, hub: ViewHub, wait_key: int, then: Scheduling | None = None) -> None:
        self.hub, self.wait_key, self.then, self.passes = hub, wait_key, then, 0

    def is_awaited(self) -> bool:
        return True

    def catch_up(self, budget: SliceBudget) -> WaitingSteps:
        self.passes += 1
        if self.then is not None:
            self.hub.schedule(self.then)
        yield None


def test_news_that_come_during_a_pass_are_not_forgotten() -> None:
    gateway = Gateway()
    second = Scheduling(gateway.broker.views, 2)
    gateway.broker.views.schedule(Scheduling(gateway.broker.views, 1, then=second))
    gateway.settle()
    assert second.passes == 1


@pytest.fixture
def making() -> tuple[Gateway, Client, Threads]:
    """Return a gateway with a view that was not read yet, a client, and threads that the test lets work."""
    gateway = Gateway()
    client = gateway.client()
    create(client, "t")
    create(client, "v", partitions=-1, kawal_sql="SELECT _offset FROM t")
    send(client, "t", batch(b"a"))
    # The first request of a version has a thread make its codecs.
    client.call(ApiVersionsRequest(), 2)
    threads = Threads()
    gateway.broker.scheduler.offload = threads.offload
    return gateway, client, threads


def test_a_thread_makes_the_evaluator_of_a_view_and_other_clients_are_served(
    making: tuple[Gateway, Client, Threads],
) -> None:
    gateway, client, threads = making
    second = gateway.client()
    for reader in (client, second):
        reader.send(fetching({("v", 0): 0}), 12)
    gateway.settle()
    assert client.answers() == []
    assert gateway.broker.views.compiled == 0
    gateway.client().call(ApiVersionsRequest(), 2)
    let_work(gateway, threads)
    for reader in (client, second):
        (answer,) = reader.answers()
        assert values(fetched(answer)["v", 0].records) == [b'{"_offset":0}']
    assert gateway.broker.views.compiled == 1


def test_a_view_that_is_deleted_while_its_evaluator_is_made_leaves_none(
    making: tuple[Gateway, Client, Threads],
) -> None:
    gateway, client, threads = making
    client.send(fetching({("v", 0): 0}), 12)
    gateway.settle()
    topic = gateway.broker.find_topic("v")
    gateway.broker.delete_topic(topic, gateway.now_ms)
    gateway.settle()
    let_work(gateway, threads)
    (answer,) = client.answers()
    assert fetched(answer)["v", 0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert len(gateway.broker.views.evaluators) == 0


def test_a_client_that_leaves_while_an_evaluator_is_made_leaves_it_to_the_next(
    making: tuple[Gateway, Client, Threads],
) -> None:
    gateway, client, threads = making
    client.send(fetching({("v", 0): 0}), 12)
    gateway.settle()
    gateway.broker.disconnect(client.connection)
    let_work(gateway, threads)
    second = gateway.client()
    second.send(fetching({("v", 0): 0}), 12)
    gateway.settle()
    let_work(gateway, threads)
    (answer,) = second.answers()
    assert values(fetched(answer)["v", 0].records) == [b'{"_offset":0}']
