"""Metadata and DescribeCluster in odd cases; the answers are those of Apache Kafka 4.3.1."""

from __future__ import annotations

from uuid import UUID

import pytest

from broker.security.authorized_operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from protocol.error_codes import ErrorCode
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.gateway import Client

SETTINGS = {"auto_create_topics_enable": False}
TOPICS = {"t": 1}


NOT_TOLD = -(2**31)


def by_name(*names: str) -> list[MetadataRequestTopic]:
    return [MetadataRequestTopic(name=name) for name in names]


def test_a_topic_named_twice_is_answered_once(client: Client) -> None:
    answer = client.call(MetadataRequest(topics=by_name("t", "none", "t", "none")), 12)
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [
        ("t", 0),
        ("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


@pytest.mark.parametrize("version", [10, 11])
def test_ids_in_versions_too_old_for_them_refuse_the_request(client: Client, version: int) -> None:
    asked = [MetadataRequestTopic(name="t", topic_id=UUID(int=5)), *by_name("t")]
    answer = client.call(MetadataRequest(topics=asked), version)
    assert [topic.error_code for topic in answer.topics] == [ErrorCode.INVALID_REQUEST] * 2
    assert (answer.brokers, answer.controller_id) == ([], -1)


def test_a_null_name_without_id_refuses_an_old_request(client: Client) -> None:
    answer = client.call(MetadataRequest(topics=[MetadataRequestTopic(name=None)]), 11)
    assert [topic.error_code for topic in answer.topics] == [ErrorCode.INVALID_REQUEST]


def test_names_do_not_count_where_there_is_an_id(client: Client) -> None:
    known = client.call(MetadataRequest(topics=by_name("t")), 12).topics[0].topic_id
    asked = [*by_name("none"), MetadataRequestTopic(name="other", topic_id=known)]
    answer = client.call(MetadataRequest(topics=asked), 12)
    assert [(topic.name, topic.topic_id) for topic in answer.topics] == [("t", known)]


def test_operations_are_told_when_asked_for(client: Client) -> None:
    request = MetadataRequest(
        topics=[*by_name("t", "none")],
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    answer = client.call(request, 10)
    assert answer.cluster_authorized_operations == CLUSTER_OPERATIONS == 8096
    assert [topic.topic_authorized_operations for topic in answer.topics] == [TOPIC_OPERATIONS] * 2
    assert TOPIC_OPERATIONS == 3576


def test_operations_are_not_told_unasked_nor_for_unknown_ids(client: Client) -> None:
    answer = client.call(MetadataRequest(topics=by_name("t")), 10)
    assert answer.cluster_authorized_operations == NOT_TOLD
    assert answer.topics[0].topic_authorized_operations == NOT_TOLD
    asked = [MetadataRequestTopic(name=None, topic_id=UUID(int=5))]
    answer = client.call(MetadataRequest(topics=asked, include_topic_authorized_operations=True), 12)
    assert answer.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert answer.topics[0].topic_authorized_operations == NOT_TOLD
