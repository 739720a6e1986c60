"""Fetches of many partitions are planned, read, parked and freed in slices, whatever happens in between."""

from __future__ import annotations

import pytest

from broker.handlers.fetch import WIDE_BYTES
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, send

COUNT = 1_200


def wide(
    *, max_wait_ms: int = 60_000, session: tuple[int, int] = (0, -1), isolation: int = 0
) -> FetchRequest:
    partitions = [
        FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1_000) for index in range(COUNT)
    ]
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        isolation_level=isolation,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchTopic(topic="t", partitions=partitions)],
    )


@pytest.fixture
def client() -> Client:
    client = Gateway().client()
    create(client, "t", partitions=COUNT)
    return client


def test_the_requests_of_these_tests_are_wide(client: Client) -> None:
    client.send(wide(), 11)
    (call,) = client.connection.calls
    assert call.weight_bytes > WIDE_BYTES


@pytest.mark.parametrize("isolation", [0, 1])
@pytest.mark.parametrize("steps", range(0, 90, 6))
def test_records_that_come_at_any_moment_before_it_is_parked_are_answered_at_once(
    client: Client, steps: int, isolation: int
) -> None:
    gateway = client.gateway
    other = gateway.client()
    client.send(wide(isolation=isolation), 11)
    for _ in range(steps):
        gateway.broker.scheduler.run()
    send(other, "t", batch(b"new"), partition=COUNT - 1)
    gateway.settle()
    (answer,) = client.answers()
    assert [data.partition_index for data in answer.responses[0].partitions if data.records] == [COUNT - 1]
    assert len(gateway.broker.waiters) == 0
    assert not gateway.broker.waiters._by_key


def test_a_client_that_leaves_at_any_moment_leaves_nothing_behind(client: Client) -> None:
    gateway = client.gateway
    for steps in range(0, 90, 6):
        leaving = gateway.client()
        leaving.send(wide(), 11)
        for _ in range(steps):
            gateway.broker.scheduler.run()
        leaving.close()
        gateway.settle()
        assert len(gateway.broker.waiters) == 0
        assert not gateway.broker.waiters._by_key
    assert gateway.broker.memory.requests_bytes == 0


def test_a_session_that_another_connection_uses_meanwhile_ends_no_request(client: Client) -> None:
    gateway = client.gateway
    gateway.break_things()
    client.send(wide(max_wait_ms=0, session=(0, 0)), 11)
    gateway.settle()
    (opened,) = client.answers()
    for steps in range(0, 60, 3):
        other = gateway.client()
        epoch = 1 + 2 * (steps // 3)
        client.send(wide(max_wait_ms=0, session=(opened.session_id, epoch)), 11)
        for _ in range(steps):
            gateway.broker.scheduler.run()
        other.send(wide(max_wait_ms=0, session=(opened.session_id, epoch + 1)), 11)
        gateway.settle()
        assert [answer.error_code for answer in (*client.answers(), *other.answers())] == [0, 0]
        other.close()
    assert not any(gateway.broker.internal_errors.counts.values())


def test_what_it_held_is_counted_no_more_once_it_is_answered(client: Client) -> None:
    client.send(wide(max_wait_ms=0), 11)
    client.gateway.settle()
    (answer,) = client.answers()
    assert len(answer.responses[0].partitions) == COUNT
    assert client.gateway.broker.memory.requests_bytes == 0


def test_a_fetch_that_would_hold_more_than_there_is_room_for_is_answered_at_once() -> None:
    gateway = Gateway(queued_max_request_bytes=1 << 20, kawal_memory_share_per_ip=1.0)
    clients = [gateway.client() for _ in range(3)]
    create(clients[0], "t", partitions=COUNT)
    other = gateway.client()
    answered = 0
    for client in clients:
        client.send(wide(), 11)
        gateway.settle()
        answered += len(client.answers())
        create(other, f"made-meanwhile-{client.connection.identity}")
    assert answered == 2
    assert len(gateway.broker.waiters) == 1
    assert not gateway.broker.memory.requests_full
