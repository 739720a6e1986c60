"""Partitions with ledgers: epochs of their own on the wire, settled when the topic is created."""

from __future__ import annotations

import pytest

from protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.records import iter_batches, read_batch_header
from tests.broker.gateway import Client, Gateway
from tests.broker.identified import identified
from tests.broker.kit import batch, create, fetch, fetched, fetching, read, send
from tests.broker.test_leader_epochs import end_of, listed_epoch


def epochs(client: Client, name: str = "t") -> list[int]:
    """Return the leader epochs of a topic's partitions, as both APIs tell them."""
    (topic,) = client.call(MetadataRequest(topics=[MetadataRequestTopic(name=name)]), 12).topics
    found = [partition.leader_epoch for partition in topic.partitions]
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name)], response_partition_limit=100, cursor=None
    )
    (described,) = client.call(request, 0).topics
    assert [partition.leader_epoch for partition in described.partitions] == found
    return found


def test_a_roll_is_told_of_its_partition_and_of_no_other(client: Client) -> None:
    identified(client, partitions=3, entries=2)
    create(client, "other")
    for _ in range(5):
        send(client, "t", batch(b"a"), partition=1)

    assert epochs(client) == [0, 2, 0]
    assert epochs(client, "other") == [0]
    (every,) = [topic for topic in client.call(MetadataRequest(topics=None), 12).topics if topic.name == "t"]
    assert [partition.leader_epoch for partition in every.partitions] == [0, 2, 0]


def test_a_shared_answer_about_all_topics_is_made_anew_after_a_roll(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.handlers.metadata.TOPICS_PER_SLICE", 1)
    identified(client, entries=1)
    create(client, "other")
    for number in range(3):
        send(client, "t", batch(b"a"))
        answer = client.call(MetadataRequest(topics=None), 12)
        found = {topic.name: topic.partitions[0].leader_epoch for topic in answer.topics}
        assert found == {"t": number, "other": 0}


def test_the_ends_of_ledgers_are_the_ends_of_epochs(client: Client) -> None:
    identified(client, entries=2)
    for _ in range(5):
        send(client, "t", batch(b"a", b"b"))

    assert [end_of(client, epoch) for epoch in (0, 1, 2, 3)] == [
        (0, 0, 4), (0, 1, 8), (0, 2, 10), (0, -1, -1),
    ]  # fmt: skip
    assert listed_epoch(client, -1) == (10, 2)
    assert listed_epoch(client, -2) == (0, 0)


def fetch_code(client: Client, epoch: int) -> int:
    answer = client.call(fetching({("t", 0): 0}, leader_epoch=epoch), 12)
    return int(fetched(answer)["t", 0].error_code)


def test_clients_with_an_epoch_from_before_a_roll_are_served(client: Client) -> None:
    identified(client, entries=1)
    for _ in range(4):
        send(client, "t", batch(b"a"))

    assert [fetch_code(client, epoch) for epoch in (0, 1, 3, 4)] == [0, 0, 0, 75]


def test_clients_with_an_epoch_from_before_the_start_are_fenced(gateway: Gateway, client: Client) -> None:
    identified(client, entries=1)
    for _ in range(4):
        send(client, "t", batch(b"a"))
    gateway.restart()
    client = gateway.client()

    assert epochs(client) == [3]
    assert [fetch_code(client, epoch) for epoch in (0, 2, 3, 4)] == [74, 74, 0, 75]
    send(client, "t", batch(b"a"))
    assert [fetch_code(client, epoch) for epoch in (2, 3, 4, 5)] == [74, 0, 0, 75]


def test_a_view_of_a_stream_tells_the_epochs_that_its_batches_carry(client: Client) -> None:
    identified(client, entries=1)
    create(client, "alias", kawal_alias_of="t")
    for _ in range(3):
        send(client, "t", batch(b"a"))

    assert read(client, "alias") == [b"a"] * 3
    assert epochs(client, "alias") == [2]
    answer = client.call(fetching({("alias", 0): 0}, leader_epoch=2), 12)
    assert fetched(answer)["alias", 0].error_code == 0


def test_a_view_of_a_database_has_batches_without_the_epochs_of_others(client: Client) -> None:
    identified(client, entries=1)
    create(client, "all", 2, kawal_sql="DATABASE default")
    for _ in range(3):
        send(client, "t", batch(b"a"))

    found: list[int] = []
    for index in range(2):
        offset = 0
        while (data := fetch(client, "all", offset, index)).records:
            for stored in iter_batches(bytes(data.records)):
                header = read_batch_header(stored)
                found.append(header.leader_epoch)
                offset = header.last_offset + 1
    assert found == [0] * 3
    assert epochs(client, "all") == [0, 0]
