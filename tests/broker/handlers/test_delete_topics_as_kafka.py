"""DeleteTopics in odd cases; the answers are those of Apache Kafka 4.3.1."""

from __future__ import annotations

from uuid import UUID

from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.gateway import Client

SETTINGS = {"auto_create_topics_enable": False}
TOPICS = {"t": 1, "u": 1}


ZERO = UUID(int=0)


def id_of(client: Client, name: str) -> UUID:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)])
    found: UUID = client.call(request, 12).topics[0].topic_id
    return found


def delete(client: Client, *items: tuple[str | None, UUID]) -> list[tuple[str | None, UUID, int, str | None]]:
    topics = [DeleteTopicState(name=name, topic_id=identity) for name, identity in items]
    answer = client.call(DeleteTopicsRequest(topics=topics, timeout_ms=0), 6)
    return [
        (response.name, response.topic_id, response.error_code, response.error_message)
        for response in answer.responses
    ]


def test_what_is_given_twice_is_refused_once_whether_it_exists_or_not(client: Client) -> None:
    unknown, known = UUID(int=5), id_of(client, "t")
    assert delete(client, ("t", ZERO), ("none", ZERO), ("t", ZERO), ("none", ZERO)) == [
        ("t", ZERO, ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
        ("none", ZERO, ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
    ]
    assert delete(client, (None, known), (None, unknown), (None, known), (None, unknown)) == [
        (None, known, ErrorCode.INVALID_REQUEST, "Duplicate topic id."),
        (None, unknown, ErrorCode.INVALID_REQUEST, "Duplicate topic id."),
    ]
    assert id_of(client, "t") == known


def test_names_twice_in_old_versions_are_refused_once(client: Client) -> None:
    answer = client.call(DeleteTopicsRequest(topic_names=["t", "t", "u"], timeout_ms=0), 5)
    assert [(response.name, response.error_code) for response in answer.responses] == [
        ("t", ErrorCode.INVALID_REQUEST),
        ("u", 0),
    ]


def test_a_topic_given_by_name_and_by_id_is_refused_once(client: Client) -> None:
    known = id_of(client, "t")
    for items in ([("t", ZERO), (None, known)], [(None, known), ("t", ZERO)]):
        (answer,) = delete(client, *items)
        assert answer[:3] == ("t", known, ErrorCode.INVALID_REQUEST)
    assert id_of(client, "t") == known


def test_a_name_given_twice_does_not_keep_its_id_from_being_deleted(client: Client) -> None:
    known = id_of(client, "t")
    assert delete(client, (None, known), ("t", ZERO), ("t", ZERO)) == [
        ("t", known, 0, None),
        ("t", ZERO, ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
    ]
    assert id_of(client, "t") == ZERO


def test_neither_name_nor_id_is_refused_each_time(client: Client) -> None:
    codes = [answer[2] for answer in delete(client, (None, ZERO), (None, ZERO), ("u", ZERO))]
    assert codes == [ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST, 0]
