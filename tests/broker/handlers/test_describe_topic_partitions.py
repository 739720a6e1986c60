"""DescribeTopicPartitions: pages of topics, as Kafka 4.3.1 cuts them."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from protocol.wire import ZERO_UUID
from tests.broker.gateway import Client, Gateway
from tests.broker.handlers.topics import create

NOT_REQUESTED = -(2**31)


@pytest.fixture(scope="module")
def client() -> Client:
    made = Gateway(max_request_partition_size_limit=6).client()
    for name, partitions in (("b", 2), ("a", 3), ("c", 4)):
        create(made, name, partitions)
    return made


def ask(client: Client, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> Any:
    start = None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1])
    topics = [TopicRequest(name=name) for name in names]
    request = DescribeTopicPartitionsRequest(topics=topics, response_partition_limit=limit, cursor=start)
    return client.call(request, 0)


def page(answer: Any) -> tuple[list[tuple[str, list[int]]], tuple[str, int] | None]:
    cursor = answer.next_cursor
    return (
        [
            (topic.name, [partition.partition_index for partition in topic.partitions])
            for topic in answer.topics
        ],
        None if cursor is None else (cursor.topic_name, cursor.partition_index),
    )


@pytest.mark.parametrize(
    ("names", "limit", "cursor", "expected", "next_cursor"),
    [
        (["b", "a"], 2000, None, [("a", [0, 1, 2]), ("b", [0, 1])], None),
        (["a", "b"], 2, None, [("a", [0, 1])], ("a", 2)),
        (["a", "b"], 2, ("a", 2), [("a", [2]), ("b", [0])], ("b", 1)),
        (["a", "b"], 2, ("b", 1), [("b", [1])], None),
        (["a", "b"], 2, ("a", 7), [("a", []), ("b", [0, 1])], None),
        (["a", "b"], 3, None, [("a", [0, 1, 2])], ("b", 0)),
        (["a", "b"], 0, None, [("a", [0])], ("a", 1)),
        (["a"], -5, None, [("a", [0])], ("a", 1)),
        (["a", "a"], 2000, None, [("a", [0, 1, 2])], None),
        ([], 3, None, [("a", [0, 1, 2])], ("b", 0)),
        ([], 3, ("b", 1), [("b", [1]), ("c", [0, 1])], ("c", 2)),
        ([], 2000, None, [("a", [0, 1, 2]), ("b", [0, 1]), ("c", [0])], ("c", 1)),
        ([], 2000, ("bb", 0), [("c", [0, 1, 2, 3])], None),
        (["a", "nope"], 3, None, [("a", [0, 1, 2])], ("nope", 0)),
    ],
)
def test_pages_follow_one_another(
    client: Client,
    names: list[str],
    limit: int,
    cursor: tuple[str, int] | None,
    expected: list[tuple[str, list[int]]],
    next_cursor: tuple[str, int] | None,
) -> None:
    assert page(ask(client, *names, limit=limit, cursor=cursor)) == (expected, next_cursor)


def test_this_node_leads_every_partition(client: Client) -> None:
    topic = ask(client, "a").topics[0]
    assert topic.topic_id == client.gateway.broker.find_topic("a").topic_id
    assert topic.topic_authorized_operations == 3576
    first = topic.partitions[0]
    assert (first.leader_id, first.leader_epoch, first.replica_nodes, first.isr_nodes) == (1, 0, [1], [1])
    assert (first.eligible_leader_replicas, first.last_known_elr, first.offline_replicas) == ([], [], [])


def test_topics_that_are_not_there_say_why(client: Client) -> None:
    answer = ask(client, "nope", "a", "bad name!", "")
    assert [(topic.name, topic.error_code, topic.topic_id == ZERO_UUID) for topic in answer.topics] == [
        ("", 17, True),
        ("a", 0, False),
        ("bad name!", 17, True),
        ("nope", 3, True),
    ]


@pytest.mark.parametrize("cursor", [("aa", 0), ("a", -1), ("c", 0), ("", 0)])
def test_a_cursor_must_fit_the_topics(client: Client, cursor: tuple[str, int]) -> None:
    answer = ask(client, "a", "b", limit=2, cursor=cursor)
    told = [(topic.name, topic.error_code, topic.topic_authorized_operations) for topic in answer.topics]
    assert told == [("a", 42, NOT_REQUESTED), ("b", 42, NOT_REQUESTED)]
    assert answer.next_cursor is None
