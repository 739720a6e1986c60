"""The memory of a connection is counted and bounded: at a limit its client is not read for a while."""

from __future__ import annotations

from broker.connections.answer_encoding import part_size_bytes
from tests.broker.connections.links import ANSWER, connection, opened
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, fetching, producing, send


def test_what_is_held_is_counted_and_given_back() -> None:
    link = connection()
    calls = [opened(link, number) for number in range(3)]
    link.account()
    assert link.request_bytes == link.memory.requests_bytes > 0
    for call in calls:
        call.reply(ANSWER)
    link.account()
    assert (link.request_bytes, link.memory.requests_bytes) == (0, 0)
    assert link.outgoing_bytes == link.memory.answers_bytes == sum(map(part_size_bytes, link.outgoing))
    link.sent(5)
    link.sent(link.outgoing_bytes)
    assert (link.outgoing_bytes, link.memory_bytes, link.memory.answers_bytes, len(link.outgoing)) == (
        0,
        0,
        0,
        0,
    )


def parked_fetches(client: Client, count: int) -> None:
    for _ in range(count):
        client.send(fetching({("t", 0): 0}, max_wait_ms=30_000), 12)


def test_a_client_with_too_many_calls_is_not_read_and_resumes() -> None:
    gateway = Gateway(kawal_connection_in_flight_requests=10)
    client = gateway.client()
    create(client, "t")
    parked_fetches(client, 50)
    assert client.connection.saturated
    assert len(client.connection.calls) == 10
    assert client.unread
    send(gateway.client(), "t", batch(b"a"))
    assert len(client.answers()) == 50
    assert not client.unread
    assert not client.connection.saturated


def test_a_client_with_too_many_bytes_in_work_is_not_read_and_resumes() -> None:
    gateway = Gateway(kawal_connection_in_flight_bytes=100_000)
    client = gateway.client()
    create(client, "t")
    for _ in range(20):
        client.send(producing(("t", 0, batch(bytes(30_000)))), 9)
    assert client.connection.saturated
    assert client.connection.request_bytes < 200_000
    gateway.settle()
    seen = 0
    for _ in range(20):
        seen += len(client.answers())
        gateway.settle()
    assert seen == 20


def test_a_slow_reader_costs_no_more_than_its_limit() -> None:
    gateway = Gateway(kawal_connection_unsent_bytes=1 << 20)
    client = gateway.client()
    create(client, "t")
    for _ in range(5):
        send(client, "t", batch(bytes(200_000)))
    for _ in range(100):
        client.send(fetching({("t", 0): 0}), 12)
    assert client.connection.outgoing_bytes < 3 << 20
    assert client.unread
    assert len(client.answers()) == 100
