"""A partition may be written to at a speed: a producer above it waits, others do not."""

from __future__ import annotations

import pytest

from protocol.messages.metadata import MetadataRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, producing
from tests.broker.topic_requests import altered

SPEED = 1_000
KEY = "kawal.partition.write.bytes.per.sec"


@pytest.fixture
def client(gateway: Gateway) -> Client:
    client = gateway.client()
    create(client, "t", partitions=2, kawal_partition_write_bytes_per_sec=str(SPEED))
    return client


def wait_after(client: Client, size_bytes: int, partition: int = 0) -> int:
    """Write so much; return the wait that the answer tells."""
    response = client.call(producing(("t", partition, batch(bytes(size_bytes)))), 9)
    assert response.responses[0].partition_responses[0].error_code == 0
    wait_ms: int = response.throttle_time_ms
    return wait_ms


def test_a_seconds_worth_may_come_at_once_and_what_is_above_waits(gateway: Gateway, client: Client) -> None:
    assert wait_after(client, 800) == 0
    wait_ms = wait_after(client, 2_000)
    assert 1_900 < wait_ms < 2_100
    client.send(MetadataRequest(topics=[]), 12)
    gateway.advance(wait_ms - 1)
    assert client.answers() == []
    gateway.advance(1)
    assert len(client.answers()) == 1


def test_another_partition_has_a_speed_of_its_own(gateway: Gateway, client: Client) -> None:
    other = gateway.client()
    assert wait_after(client, 5_000) > 0
    assert wait_after(other, 500, partition=1) == 0


def test_several_producers_of_a_partition_share_its_speed(gateway: Gateway, client: Client) -> None:
    first = wait_after(client, 3_000)
    second = wait_after(gateway.client(), 3_000)
    assert second > first + 2_000


def test_who_wants_no_answer_waits_as_well(gateway: Gateway, client: Client) -> None:
    client.send_unanswered(producing(("t", 0, batch(bytes(6_000))), acks=0), 9)
    client.send(MetadataRequest(topics=[]), 12)
    gateway.settle()
    assert client.answers() == []
    gateway.advance(6_000)
    assert len(client.answers()) == 1


def test_a_refused_batch_is_not_counted(client: Client) -> None:
    damaged = bytearray(batch(bytes(5_000)))
    damaged[-1] ^= 1
    response = client.call(producing(("t", 0, bytes(damaged))), 9)
    assert response.responses[0].partition_responses[0].error_code != 0
    assert response.throttle_time_ms == 0
    assert wait_after(client, 500) == 0


def test_the_speed_may_be_changed_and_the_limit_taken_away(gateway: Gateway, client: Client) -> None:
    admin = gateway.client()
    assert altered(admin, "t", KEY, str(100 * SPEED)) == (0, "")
    assert wait_after(client, 10_000) == 0
    assert altered(admin, "t", KEY, "-1") == (0, "")
    assert wait_after(client, 500_000) == 0
    assert gateway.broker.stats.throttled == {}
