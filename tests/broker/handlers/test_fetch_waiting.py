"""Fetch: long polls wait for bytes, and for nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, fetched, fetching, producing, send, values


@pytest.fixture
def producer(gateway: Gateway) -> Client:
    client = gateway.client()
    create(client, "t", partitions=2)
    return client


@pytest.fixture
def consumer(gateway: Gateway, producer: Client) -> Client:
    return gateway.client()


def waiting(max_wait_ms: int = 500, min_bytes: int = 1) -> Any:
    return fetching({("t", 0): 0}, max_wait_ms=max_wait_ms, min_bytes=min_bytes)


def test_a_fetch_waits_until_min_bytes_are_there(
    gateway: Gateway, producer: Client, consumer: Client
) -> None:
    size = len(batch(bytes(100)))
    consumer.send(waiting(min_bytes=3 * size), 12)
    for _ in range(2):
        send(producer, "t", batch(bytes(100)))
        assert consumer.answers() == []
    send(producer, "t", batch(bytes(100)))
    (answer,) = consumer.answers()
    assert len(fetched(answer)["t", 0].records) == 3 * size
    assert len(gateway.broker.waiters) == 0


def test_bytes_on_any_of_its_partitions_count(gateway: Gateway, producer: Client, consumer: Client) -> None:
    size = len(batch(bytes(100)))
    consumer.send(fetching({("t", 0): 0, ("t", 1): 0}, max_wait_ms=500, min_bytes=2 * size), 12)
    send(producer, "t", batch(bytes(100)), 0)
    assert consumer.answers() == []
    send(producer, "t", batch(bytes(100)), 1)
    (answer,) = consumer.answers()
    assert [len(data.records) for data in fetched(answer).values()] == [size, size]


def test_the_deadline_answers_with_what_there_is(
    gateway: Gateway, producer: Client, consumer: Client
) -> None:
    send(producer, "t", batch(b"a"))
    consumer.send(waiting(max_wait_ms=500, min_bytes=100_000), 12)
    gateway.advance(499)
    assert consumer.answers() == []
    gateway.advance(1)
    (answer,) = consumer.answers()
    assert values(fetched(answer)["t", 0].records) == [b"a"]


def test_enough_at_once_is_answered_at_once(producer: Client, consumer: Client) -> None:
    send(producer, "t", batch(b"a"))
    consumer.send(waiting(max_wait_ms=30_000), 12)
    assert len(consumer.answers()) == 1


@pytest.mark.parametrize(("max_wait_ms", "min_bytes"), [(0, 1), (30_000, 0), (-1, 1)])
def test_nobody_waits_who_does_not_want_to(
    producer: Client, consumer: Client, max_wait_ms: int, min_bytes: int
) -> None:
    consumer.send(waiting(max_wait_ms=max_wait_ms, min_bytes=min_bytes), 12)
    assert len(consumer.answers()) == 1


def test_an_error_is_told_at_once(producer: Client, consumer: Client) -> None:
    consumer.send(fetching({("t", 0): 0, ("none", 0): 0}, max_wait_ms=30_000), 12)
    (answer,) = consumer.answers()
    assert fetched(answer)["none", 0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_records_that_are_not_durable_wake_nobody(
    gateway: Gateway, producer: Client, consumer: Client
) -> None:
    consumer.send(waiting(), 12)
    producer.send(producing(("t", 0, batch(b"a"))), 9)
    assert consumer.answers() == []
    gateway.settle()
    assert len(consumer.answers()) == 1


def test_deleting_the_topic_answers_who_waits_for_it(
    gateway: Gateway, producer: Client, consumer: Client
) -> None:
    consumer.send(waiting(max_wait_ms=30_000), 12)
    producer.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 5)
    (answer,) = consumer.answers()
    assert fetched(answer)["t", 0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert len(gateway.broker.waiters) == 0


def test_the_stop_of_the_server_answers_everybody(
    gateway: Gateway, producer: Client, consumer: Client
) -> None:
    consumer.send(waiting(max_wait_ms=30_000), 12)
    gateway.broker.begin_stop(gateway.now_ms)
    assert len(consumer.answers()) == 1


def test_a_client_that_goes_away_is_forgotten(gateway: Gateway, producer: Client, consumer: Client) -> None:
    consumer.send(waiting(max_wait_ms=30_000), 12)
    consumer.close()
    assert len(gateway.broker.waiters) == 0
    send(producer, "t", batch(b"a"))
    gateway.advance(60_000)


def test_many_who_wait_are_woken_by_one_batch(gateway: Gateway, producer: Client) -> None:
    consumers = [gateway.client() for _ in range(50)]
    for consumer in consumers:
        consumer.send(waiting(max_wait_ms=30_000), 12)
    send(producer, "t", batch(b"a"))
    for consumer in consumers:
        (answer,) = consumer.answers()
        assert values(fetched(answer)["t", 0].records) == [b"a"]


def test_fetches_that_were_answered_early_leave_nothing_behind(
    gateway: Gateway, producer: Client, consumer: Client
) -> None:
    """Their deadlines may be weeks away: a client with a long max wait must not fill the memory."""
    for number in range(500):
        consumer.send(fetching({("t", 0): number}, max_wait_ms=2**31 - 1), 12)
        send(producer, "t", batch(b"a"))
        assert len(consumer.answers()) == 1
    assert len(gateway.broker.timers) < 50


def test_a_pipelined_request_behind_a_waiting_fetch_is_answered_after_it(
    gateway: Gateway, producer: Client, consumer: Client
) -> None:
    consumer.send(waiting(max_wait_ms=500), 12)
    consumer.send(producing(("t", 1, batch(b"b"))), 9)
    gateway.settle()
    assert consumer.answers() == []
    gateway.advance(500)
    first, second = consumer.answers()
    assert fetched(first)["t", 0].error_code == 0
    assert second.responses[0].partition_responses[0].base_offset == 0


def test_a_second_fetch_of_the_same_connection_waits_its_own_turn(
    gateway: Gateway, producer: Client, consumer: Client
) -> None:
    consumer.send(waiting(max_wait_ms=500), 12)
    consumer.send(fetching({("t", 1): 0}, max_wait_ms=100), 12)
    gateway.advance(100)
    assert consumer.answers() == []
    send(producer, "t", batch(b"a"))
    first, second = consumer.answers()
    assert values(fetched(first)["t", 0].records) == [b"a"]
    assert values(fetched(second)["t", 1].records) == []
