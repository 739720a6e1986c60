"""Requests about very many topics and partitions: right answers, while other clients are served."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from broker.handlers import create_topics, describe_configs, metadata
from broker.loop.slices import ITEMS_PER_SLICE
from broker.loop.stats import Cause
from protocol.error_codes import ErrorCode
from protocol.errors import Unencodable
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, creation, fetched, fetching, send, values
from tests.broker.loop.long_calls import long_call

MANY = 2 * ITEMS_PER_SLICE + 100


@pytest.fixture
def gateway() -> Gateway:
    """Return a gateway with a topic of very many partitions, a record in some of them."""
    gateway = Gateway()
    client = gateway.client()
    create(client, "many", partitions=MANY)
    for index in (0, 700, MANY - 1):
        send(client, "many", batch(b"v%d" % index), index)
    return gateway


def ends() -> dict[tuple[str | UUID, int], int]:
    """Return the end offsets of all partitions."""
    return {("many", index): int(index in (0, 700, MANY - 1)) for index in range(MANY)}


def test_many_partitions_are_fetched(client: Client) -> None:
    asked = fetching({("many", index): 0 for index in range(MANY)})
    parts = fetched(long_call(client, asked, 11))
    assert [index for _, index in parts] == list(range(MANY))
    assert {index: values(part.records) for (_, index), part in parts.items() if part.records} == {
        index: [b"v%d" % index] for index in (0, 700, MANY - 1)
    }


def test_a_session_of_many_partitions_tells_only_what_is_new(client: Client) -> None:
    asked = fetching(ends(), session=(0, 0))
    session_id = long_call(client, asked, 11).session_id
    send(client.gateway.client(), "many", batch(b"new"), 5)
    answer = long_call(client, fetching({}, session=(session_id, 1)), 11)
    assert {index: values(part.records) for (_, index), part in fetched(answer).items()} == {5: [b"new"]}


def test_a_fetch_of_many_partitions_waits_for_records(client: Client) -> None:
    gateway = client.gateway
    client.send(fetching(ends(), max_wait_ms=10_000), 11)
    gateway.settle()
    assert client.answers() == []
    assert len(gateway.broker.waiters) == 1
    send(gateway.client(), "many", batch(b"late"), 900)
    gateway.settle()
    (answer,) = client.answers()
    assert values(fetched(answer)["many", 900].records) == [b"late"]


def test_records_that_come_between_the_slices_are_not_waited_for(client: Client) -> None:
    gateway = client.gateway
    client.send(fetching(ends(), max_wait_ms=10_000), 11)
    assert gateway.broker.scheduler.pending
    send(gateway.client(), "many", batch(b"early"), 3)
    gateway.settle()
    assert len(client.answers()) == 1


def test_offsets_of_many_partitions_are_listed(client: Client) -> None:
    asked = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(MANY + 1)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="many", partitions=asked)])
    (topic,) = long_call(client, request, 5).topics
    offsets = {part.partition_index: part.offset for part in topic.partitions if part.offset > 0}
    assert offsets == {0: 1, 700: 1, MANY - 1: 1}
    assert topic.partitions[-1].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_many_topics_are_created_and_described(client: Client) -> None:
    count = 3 * create_topics.TOPICS_PER_SLICE
    request = CreateTopicsRequest(topics=[creation(f"t{number}", 2) for number in range(count)])
    made = long_call(client, request, 7).topics
    assert [topic.error_code for topic in made] == [0] * count
    assert made[0].configs == made[-1].configs != []
    resources = [
        DescribeConfigsResource(resource_type=2, resource_name=f"t{number}", configuration_keys=None)
        for number in range(3 * describe_configs.RESOURCES_PER_SLICE)
    ]
    described = long_call(client, DescribeConfigsRequest(resources=resources), 4).results
    assert [entry.resource_name for entry in described] == [entry.resource_name for entry in resources]
    assert all(entry.configs for entry in described)


def test_sizes_of_many_partitions_are_told(client: Client) -> None:
    (directory,) = long_call(client, DescribeLogDirsRequest(topics=None), 4).results
    (topic,) = directory.topics
    sizes = {part.partition_index: part.partition_size for part in topic.partitions}
    assert len(sizes) == MANY
    assert {index for index, size in sizes.items() if size} == {0, 700, MANY - 1}


def test_metadata_of_many_partitions_is_encoded_elsewhere(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "LARGE_PARTITION_COUNT", 1000)
    client.send(MetadataRequest(topics=[]), 12)
    client.gateway.settle()
    assert len(client.answers()) == 1, "what an API's first request needs is there"
    tasks: list[Any] = []
    client.gateway.broker.scheduler.offload = lambda *task: tasks.append(task)
    client.send(MetadataRequest(topics=None), 12)
    client.send(ApiVersionsRequest(), 2)
    client.gateway.settle()
    assert client.answers() == []
    ((work, done),) = tasks
    work()
    done(None)
    client.gateway.settle()
    answer, versions = client.answers()
    assert versions.error_code == 0
    assert [part.partition_index for part in answer.topics[0].partitions] == list(range(MANY))


def test_an_answer_that_is_encoded_when_its_client_has_left_goes_nowhere(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "LARGE_PARTITION_COUNT", 1000)
    tasks: list[Any] = []
    broker = client.gateway.broker
    broker.scheduler.offload = lambda *task: tasks.append(task)
    client.send(MetadataRequest(topics=None), 12)
    client.gateway.settle()
    client.close()
    ((work, done),) = tasks
    work()
    done(None)
    assert (broker.memory.requests_bytes, broker.memory.answers_bytes) == (0, 0)


def test_an_answer_that_cannot_be_encoded_ends_its_connection(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise Unencodable("MetadataResponse", "a field that the version has not")

    monkeypatch.setattr("broker.connections.thread_answer.encode_answer", refuse)
    client.send(DescribeLogDirsRequest(topics=None), 4)
    client.gateway.settle()
    assert client.connection.close_cause is Cause.BUG
    assert "api=35 v4 cannot be written" in caplog.text


def test_a_shared_answer_that_cannot_be_encoded_ends_its_connection(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise Unencodable("MetadataResponse", "a field that the version has not")

    client.gateway.break_things()
    monkeypatch.setattr(metadata, "LARGE_PARTITION_COUNT", 1000)
    monkeypatch.setattr("broker.catalogue.answer_cache.encode", refuse)
    client.send(MetadataRequest(topics=None), 12)
    client.gateway.settle()
    assert client.connection.close_cause is Cause.BUG


def test_a_client_that_leaves_ends_the_work_for_it(client: Client) -> None:
    broker = client.gateway.broker
    client.send(fetching({("many", index): 0 for index in range(MANY)}), 11)
    client.close()
    broker.scheduler.run()
    assert not broker.scheduler.pending
