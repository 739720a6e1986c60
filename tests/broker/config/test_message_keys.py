"""Which ids the messages of a topic have is settled when it is created."""

from __future__ import annotations

from typing import Any

from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreateTopicsRequest
from tests.broker.gateway import Client
from tests.broker.identified import id_of, identified
from tests.broker.kit import batch, create, creation, send
from tests.broker.topic_requests import altered


def refused(client: Client, partitions: int = 1, **configs: str) -> tuple[int, str]:
    topics = [creation("t", partitions, **configs)]
    (made,) = client.call(CreateTopicsRequest(topics=topics), 7).topics
    return int(made.error_code), str(made.error_message)


def test_what_ids_a_topic_has_is_settled_when_it_is_created(client: Client) -> None:
    identified(client)
    create(client, "plain")

    for name, key, value in (
        ("t", "kawal.message.ids", "false"),
        ("t", "kawal.message.ids", None),
        ("t", "kawal.nonpartitioned", "true"),
        ("plain", "kawal.message.ids", "true"),
    ):
        code, message = altered(client, name, key, value)
        assert code == 40
        assert "is settled when a topic is created" in message
    assert altered(client, "t", "kawal.message.ids", "true") == (0, "")
    assert altered(client, "t", "kawal.ledger.max.entries", "0")[0] == 40
    send(client, "t", batch(b"a"))
    assert id_of(client, 0) == (0, 0, 0, -1)


def grown(client: Client, count: int) -> tuple[int, str]:
    asked = CreatePartitionsTopic(name="t", count=count, assignments=None)
    request = CreatePartitionsRequest(topics=[asked], timeout_ms=1_000, validate_only=False)
    (result,) = client.call(request, 3).results
    return int(result.error_code), str(result.error_message)


def test_a_topic_that_is_not_partitioned_has_one_partition_for_ever(client: Client) -> None:
    ids: dict[str, Any] = {"kawal_message_ids": "true", "kawal_nonpartitioned": "true"}

    assert refused(client, 2, **ids) == (
        37, "a topic with kawal.nonpartitioned has one partition, and 2 were asked for",
    )  # fmt: skip
    assert refused(client, kawal_nonpartitioned="true")[0] == 40
    create(client, "t", **ids)
    assert grown(client, 2) == (37, "topic t has kawal.nonpartitioned, and keeps its one partition")
