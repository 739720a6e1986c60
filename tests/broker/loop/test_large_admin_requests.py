"""Requests that name very many things are answered rightly, in slices, while other clients are served."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.alter_configs import AlterableConfig as ReplacedConfig
from protocol.messages.alter_configs import AlterConfigsRequest
from protocol.messages.alter_configs import AlterConfigsResource as ReplacedResource
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, outcomes, producing, read, send
from tests.broker.loop.long_calls import long_call

COUNT = 600
NAMES = [f"t{number}" for number in range(COUNT)]

TOPIC = 2


@pytest.fixture
def wide(gateway: Gateway, client: Client) -> Client:
    """Return a client; there is a topic of very many partitions."""
    create(client, "wide", partitions=COUNT)
    return client


def test_create_partitions_of_many_names_looks_at_each_once(client: Client) -> None:
    create(client, "t1")
    topics = [CreatePartitionsTopic(name=name, count=3, assignments=None) for name in NAMES]
    answer = long_call(
        client, CreatePartitionsRequest(topics=[*topics, topics[0]], timeout_ms=1, validate_only=False), 3
    )
    codes = {result.name: result.error_code for result in answer.results}
    assert list(codes) == NAMES
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == dict.fromkeys(NAMES, unknown) | {"t0": ErrorCode.INVALID_REQUEST, "t1": 0}
    assert client.gateway.partition("t1", 2).index == 2


def test_misspelt_keys_of_many_topics_are_refused_one_by_one(client: Client) -> None:
    create(client, "t1")
    resources = [
        AlterConfigsResource(
            resource_type=TOPIC,
            resource_name=name,
            configs=[AlterableConfig(name="retension.ms", config_operation=0, value="1")],
        )
        for name in NAMES
    ]
    answer = long_call(client, IncrementalAlterConfigsRequest(resources=resources, validate_only=False), 1)
    assert [item.resource_name for item in answer.responses] == NAMES
    assert answer.responses[1].error_code == ErrorCode.INVALID_CONFIG
    assert "retention.ms" in answer.responses[1].error_message


def test_settings_of_many_topics_are_replaced(client: Client) -> None:
    create(client, "t5")
    resources = [
        ReplacedResource(
            resource_type=TOPIC,
            resource_name=name,
            configs=[ReplacedConfig(name="retention.ms", value="7")],
        )
        for name in NAMES
    ]
    answer = long_call(client, AlterConfigsRequest(resources=resources, validate_only=False), 2)
    good = [item.resource_name for item in answer.responses if not item.error_code]
    assert good == ["t5"]
    assert client.gateway.broker.catalogue.by_name["t5"].configs["retention.ms"] == "7"


def test_many_topics_are_deleted(client: Client) -> None:
    create(client, "kept")
    for name in NAMES[:40]:
        create(client, name)
    asked = [DeleteTopicState(name=name) for name in NAMES]
    answer = long_call(client, DeleteTopicsRequest(topics=asked, timeout_ms=1), 6)
    assert [result.error_code for result in answer.responses[:40]] == [0] * 40
    assert {result.error_code for result in answer.responses[40:]} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert list(client.gateway.broker.catalogue.by_name) == ["kept"]


def test_a_topic_that_another_request_deletes_between_the_slices_is_unknown(client: Client) -> None:
    for name in NAMES[:60]:
        create(client, name)
    asked = [DeleteTopicState(name=name) for name in NAMES[:60]]
    client.send(DeleteTopicsRequest(topics=asked, timeout_ms=1), 6)
    other = client.gateway.client()
    last = DeleteTopicsRequest(topics=[DeleteTopicState(name=NAMES[59])], timeout_ms=1)
    assert other.call(last, 6).responses[0].error_code == 0
    client.gateway.settle()
    (answer,) = client.answers()
    assert [result.error_code for result in answer.responses] == [0] * 59 + [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ]


def test_records_of_many_partitions_are_deleted(wide: Client) -> None:
    send(wide, "wide", batch(b"a", b"b"), 599)
    asked = [DeleteRecordsPartition(partition_index=index, offset=-1) for index in range(COUNT + 1)]
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="wide", partitions=asked)], timeout_ms=1)
    (topic,) = long_call(wide, request, 2).topics
    assert [part.low_watermark for part in topic.partitions] == [0] * 599 + [2, -1]
    assert topic.partitions[-1].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_batches_in_the_receive_buffer_are_kept_for_the_slices(wide: Client) -> None:
    """Another connection borrows the buffer while most of the batches are still to be appended."""
    wide.send(producing(*(("wide", index, batch(b"a%d" % index)) for index in range(300))), 9)
    assert not wide.connection.reader.owned
    wide.connection.reader.release_buffer()
    other = wide.gateway.client()
    other.send(producing(*(("wide", index, batch(b"b%d" % index)) for index in range(300, 600))), 9)
    wide.gateway.settle()
    assert len(wide.answers()) == len(other.answers()) == 1
    assert [read(wide, "wide", partition=index) for index in (0, 299, 300)] == [[b"a0"], [b"a299"], [b"b300"]]


def test_batches_for_many_partitions_are_appended_whole(wide: Client) -> None:
    targets = [("wide", index, batch(b"v%d" % index)) for index in range(COUNT)]
    answer = long_call(wide, producing(*targets), 9)
    assert [outcome.error_code for outcome in outcomes(answer)] == [0] * COUNT
    assert [read(wide, "wide", partition=index) for index in (0, 333, 599)] == [[b"v0"], [b"v333"], [b"v599"]]


def test_many_unknown_names_are_told_as_that(client: Client) -> None:
    create(client, "t7")
    asked = [MetadataRequestTopic(name=name) for name in NAMES]
    request = MetadataRequest(topics=asked, allow_auto_topic_creation=False)
    answer = long_call(client, request, 9)
    assert [topic.name for topic in answer.topics] == NAMES
    assert [topic.name for topic in answer.topics if not topic.error_code] == ["t7"]
    assert len(long_call(client, request, 9).topics) == COUNT


def test_many_topics_are_created_by_a_metadata_request(client: Client) -> None:
    asked = [MetadataRequestTopic(name=name) for name in NAMES[:150]]
    answer = long_call(client, MetadataRequest(topics=asked), 9)
    assert [topic.error_code for topic in answer.topics] == [0] * 150
