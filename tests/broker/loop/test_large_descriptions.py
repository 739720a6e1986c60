"""Questions about very many things are answered rightly, in slices, while other clients are served."""

from __future__ import annotations

from uuid import UUID

from protocol.error_codes import ErrorCode
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.broker.gateway import Client
from tests.broker.kit import batch, create, outcomes, send
from tests.broker.loop.long_calls import long_call

COUNT = 600


def test_the_ends_of_an_epoch_in_many_partitions(client: Client) -> None:
    create(client, "t", partitions=2)
    send(client, "t", batch(b"a", b"b"), 1)
    part = [OffsetForLeaderPartition(partition=index, leader_epoch=0) for index in range(COUNT)]
    topics = [
        OffsetForLeaderTopic(topic="t", partitions=part),
        OffsetForLeaderTopic(topic="u", partitions=part),
    ]
    answer = long_call(client, OffsetForLeaderEpochRequest(topics=topics), 4)
    known, unknown = answer.topics
    assert [item.end_offset for item in known.partitions] == [0, 2] + [-1] * (COUNT - 2)
    assert {item.error_code for item in unknown.partitions} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_the_producers_of_many_topics_that_are_not_there(client: Client) -> None:
    topics = [TopicRequest(name=f"no-{number}", partition_indexes=[0]) for number in range(COUNT)]
    answer = long_call(client, DescribeProducersRequest(topics=topics), 0)
    assert [topic.name for topic in answer.topics] == [topic.name for topic in topics]
    assert {topic.partitions[0].error_code for topic in answer.topics} == {3}


def test_configurations_of_many_resources_of_which_one_has_an_unknown_kind(client: Client) -> None:
    resources = [
        DescribeConfigsResource(resource_type=2, resource_name=f"t{number}", configuration_keys=None)
        for number in range(COUNT)
    ]
    resources[-1].resource_type = 99
    answer = long_call(client, DescribeConfigsRequest(resources=resources), 4)
    assert [result.resource_name for result in answer.results] == [item.resource_name for item in resources]
    assert {result.error_code for result in answer.results} == {ErrorCode.INVALID_REQUEST}


def test_ids_in_a_version_of_metadata_that_does_not_take_them(client: Client) -> None:
    topics = [MetadataRequestTopic(name=None, topic_id=UUID(int=number)) for number in range(1, COUNT)]
    answer = long_call(client, MetadataRequest(topics=topics), 10)
    assert [topic.topic_id.int for topic in answer.topics] == list(range(1, COUNT))
    assert {topic.error_code for topic in answer.topics} == {ErrorCode.INVALID_REQUEST}
    assert answer.brokers == []


def test_offsets_of_many_partitions_of_which_some_are_asked_for_twice(client: Client) -> None:
    create(client, "t", partitions=COUNT)
    asked = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(COUNT)]
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[*asked, asked[5], asked[COUNT - 1]])]
    )
    codes = {item.partition_index: item.error_code for item in outcomes(long_call(client, request, 7))}
    assert len(codes) == COUNT
    assert {index for index, code in codes.items() if code} == {5, COUNT - 1}
