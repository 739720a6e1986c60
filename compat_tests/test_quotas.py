"""Client quotas by Kafka's own tool: stock clients above them are told to wait, and lose nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compat_tests.batches import Batch
from compat_tests.broker import Broker
from compat_tests.client_quotas import limit
from compat_tests.confluent import make_producer, open_consumer, produce, read
from compat_tests.conftest import StartBroker
from compat_tests.requests import produce_request
from compat_tests.test_java_admin_tools import configs
from compat_tests.topics import create_topic
from compat_tests.wire import TIMEOUT_SECONDS, RawClient, raw_client
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.metadata import MetadataRequest

RATE = 20_000
"""Bytes a second; ten seconds' worth may come at once."""

SECONDS = 15
"""So many seconds' worth is sent: above the quota also if a busy machine takes a few seconds for it."""


def test_quotas_are_altered_and_listed_by_kafkas_tool(start_broker: StartBroker) -> None:
    broker = start_broker()
    user = ["--entity-type", "users", "--entity-name", "alice"]
    both = [*user, "--entity-type", "clients", "--entity-default"]
    address = ["--entity-type", "ips", "--entity-name", "127.0.0.9"]
    done = configs(broker, "--alter", *user, "--add-config", "producer_byte_rate=1024,request_percentage=50")
    assert done == "Completed updating config for user alice.\n"
    configs(broker, "--alter", *both, "--add-config", "consumer_byte_rate=2048")
    configs(broker, "--alter", *address, "--add-config", "connection_creation_rate=7")
    listed = configs(broker, "--describe", *user)
    assert "Quota configs for user-principal 'alice' are " in listed
    assert {"producer_byte_rate=1024.0", "request_percentage=50.0"} <= set(listed.replace(",", " ").split())
    assert (
        "Quota configs for user-principal 'alice', the default client-id are consumer_byte_rate=2048.0"
        in configs(broker, "--describe", *both)
    )
    assert "Quota configs for ip '127.0.0.9' are connection_creation_rate=7.0" in configs(
        broker, "--describe", *address
    )
    configs(broker, "--alter", *user, "--delete-config", "producer_byte_rate,request_percentage")
    assert "producer_byte_rate" not in configs(broker, "--describe", *user)
    refused = configs(broker, "--alter", *user, "--add-config", "producer_byte_rate=0", succeed=False)
    assert "producer_byte_rate must be greater than 0" in refused


def throttled() -> tuple[list[float], Callable[[Any], None]]:
    """Return a list and a callback that puts there what a client is told to wait, in seconds."""
    waits: list[float] = []
    return waits, lambda event: waits.append(event.throttle_time)


def test_a_stock_producer_above_its_quota_is_told_to_wait_and_all_is_stored(
    broker: Broker, topic: str
) -> None:
    create_topic(broker, topic)
    limit(broker, "producer_byte_rate", RATE, client_id=f"{topic}-in")
    waits, told = throttled()
    producer = make_producer(broker, client_id=f"{topic}-in", throttle_cb=told, linger_ms=0)
    values = [bytes([number]) * RATE for number in range(SECONDS)]
    offsets = []
    for value in values:
        offsets += produce(producer, topic, [value])
    producer.poll(0.1)
    assert offsets == list(range(len(values)))
    assert waits, "more than the quota of ten seconds was produced"
    with open_consumer(broker) as consumer:
        assert [record.value() for record in read(consumer, topic, len(values))] == values


def test_a_stock_consumer_above_its_quota_is_told_to_wait_and_reads_all(broker: Broker, topic: str) -> None:
    create_topic(broker, topic)
    values = [bytes([number]) * RATE for number in range(SECONDS)]
    for value in values:
        produce(make_producer(broker), topic, [value])
    limit(broker, "consumer_byte_rate", RATE, client_id=f"{topic}-out")
    waits, told = throttled()
    with open_consumer(
        broker, client_id=f"{topic}-out", throttle_cb=told, fetch_message_max_bytes=RATE
    ) as consumer:
        assert [record.value() for record in read(consumer, topic, len(values))] == values
    assert waits


def test_a_connection_that_waits_is_not_read_and_another_is(broker: Broker, topic: str) -> None:
    create_topic(broker, topic)
    limit(broker, "producer_byte_rate", RATE, client_id=topic)
    with raw_client(broker) as raw, raw_client(broker) as other:
        batch = Batch(values=[b"x" * (SECONDS * RATE)]).encode()
        answer = raw.call(produce_request(topic, batch), 9, client_id=topic)
        assert answer.responses[0].partition_responses[0].error_code == 0
        assert 3_000 < answer.throttle_time_ms < 7_000
        raw.send(MetadataRequest(topics=[]), 12, client_id=topic)
        assert other.call(MetadataRequest(topics=[]), 12).throttle_time_ms == 0
        raw.socket.settimeout(1)
        with pytest.raises(TimeoutError):
            raw.socket.recv(1)
        raw.socket.settimeout(TIMEOUT_SECONDS)
        raw.receive()


def test_changes_of_topics_above_the_quota_are_refused_until_there_are_tokens(
    broker: Broker, topic: str
) -> None:
    limit(broker, "controller_mutation_rate", 0.5, client_id=topic)
    with raw_client(broker) as raw:
        answer = _create(raw, topic, 20, client_id=topic)
        assert (answer.topics[0].error_code, answer.throttle_time_ms) == (0, 0)
        answer = _create(raw, f"{topic}-more", 1, client_id=topic)
        assert answer.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert 20_000 < answer.throttle_time_ms <= 30_000


def _create(raw: RawClient, name: str, partitions: int, *, client_id: str) -> Any:
    new = CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=[]
    )
    return raw.call(CreateTopicsRequest(topics=[new], timeout_ms=10_000), 7, client_id=client_id)


def test_an_address_connects_at_its_rate(start_broker: StartBroker) -> None:
    broker = start_broker()
    limit(broker, "connection_creation_rate", 2, ip="127.0.0.1")
    closed = 0
    for _ in range(300):
        if closed > 10:
            break
        with raw_client(broker) as raw:
            try:
                raw.call(MetadataRequest(topics=[]), 12)
            except (OSError, AssertionError):
                closed += 1
    assert closed > 10
