"""CreatePartitions: topics grow, and never shrink."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, read, send
from wal.memory_faults import failing

TOPICS = {"t": 2, "u": 1}


def growth(name: str, count: int, placing: list[list[int]] | None = None) -> CreatePartitionsTopic:
    assignments = [CreatePartitionsAssignment(broker_ids=ids) for ids in placing or ()]
    return CreatePartitionsTopic(name=name, count=count, assignments=assignments if placing else None)


def request(*topics: CreatePartitionsTopic, validate_only: bool = False) -> CreatePartitionsRequest:
    return CreatePartitionsRequest(topics=list(topics), timeout_ms=1_000, validate_only=validate_only)


def count(client: Client, name: str) -> int:
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    return len(client.call(asked, 12).topics[0].partitions)


@pytest.mark.parametrize("version", range(4))
def test_new_partitions_take_records_and_old_ones_keep_theirs(client: Client, version: int) -> None:
    send(client, "t", batch(b"old"), 1)
    (result,) = client.call(request(growth("t", 5)), version).results
    assert (result.name, result.error_code) == ("t", 0)
    assert count(client, "t") == 5
    send(client, "t", batch(b"new"), 4)
    assert (read(client, "t", partition=1), read(client, "t", partition=4)) == ([b"old"], [b"new"])


def test_mixed_items_are_judged_one_by_one(client: Client) -> None:
    answer = client.call(
        request(
            growth("t", 3),
            growth("u", 1),
            growth("none", 3),
            growth("twice", 3),
            growth("twice", 4),
        ),
        3,
    )
    codes: dict[str, Any] = {result.name: result.error_code for result in answer.results}
    assert codes == {
        "t": 0,
        "u": ErrorCode.INVALID_PARTITIONS,
        "none": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "twice": ErrorCode.INVALID_REQUEST,
    }


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (growth("t", 1), ErrorCode.INVALID_PARTITIONS),
        (growth("t", 2), ErrorCode.INVALID_PARTITIONS),
        (growth("t", -1), ErrorCode.INVALID_PARTITIONS),
        (growth("t", 3, [[1], [1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (growth("t", 3, [[8]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (growth("t", 2_000_000), ErrorCode.POLICY_VIOLATION),
    ],
)
def test_what_cannot_be_is_refused(client: Client, asked: CreatePartitionsTopic, code: ErrorCode) -> None:
    (result,) = client.call(request(asked), 3).results
    assert (result.error_code, count(client, "t")) == (code, 2)


def test_validation_changes_nothing(client: Client) -> None:
    (result,) = client.call(request(growth("t", 9), validate_only=True), 3).results
    assert (result.error_code, count(client, "t")) == (0, 2)


def test_partitions_placed_by_hand_are_accepted(client: Client) -> None:
    (result,) = client.call(request(growth("t", 4, [[1], [1]])), 3).results
    assert (result.error_code, count(client, "t")) == (0, 4)


def test_nobody_sees_or_fills_new_partitions_before_they_are_durable(
    gateway: Gateway, client: Client
) -> None:
    other = gateway.client()
    client.send(request(growth("t", 3)), 3)
    assert client.answers() == []
    asked = MetadataRequest(topics=[MetadataRequestTopic(name="t")], allow_auto_topic_creation=False)
    other.send(asked, 12)
    assert len(other.answers()[0].topics[0].partitions) == 2
    gateway.settle()
    assert client.answers()[0].results[0].error_code == 0
    assert count(other, "t") == 3


def test_growth_on_growth_in_the_making_is_counted_from_it(gateway: Gateway, client: Client) -> None:
    client.send(request(growth("t", 4)), 3)
    client.send(request(growth("t", 3)), 3)
    client.send(request(growth("t", 6)), 3)
    gateway.settle()
    codes = [answer.results[0].error_code for answer in client.answers()]
    assert codes == [0, ErrorCode.INVALID_PARTITIONS, 0]
    assert count(client, "t") == 6
    gateway.crash()
    assert count(gateway.client(), "t") == 6


def test_growth_that_the_disk_loses_is_undone(gateway: Gateway, client: Client) -> None:
    client.send(request(growth("t", 4)), 3)
    client.send(request(growth("t", 6)), 3)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="meta"))
    gateway.run_jobs()
    codes = [answer.results[0].error_code for answer in client.answers()]
    assert codes == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    gateway.settle()
    assert count(client, "t") == 2
    assert client.call(request(growth("t", 3)), 3).results[0].error_code == 0
    send(client, "t", batch(b"x"), 2)
    gateway.crash()
    client = gateway.client()
    assert count(client, "t") == 3
    assert read(client, "t", partition=2) == [b"x"]


def test_growth_of_a_topic_with_records_is_logged_with_what_becomes_of_keys(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    def warnings() -> list[str]:
        found = [entry.getMessage() for entry in caplog.records if entry.levelname == "WARNING"]
        caplog.clear()
        return found

    client.call(request(growth("t", 3)), 3)
    assert warnings() == []
    send(client, "t", batch(b"1"), 2)
    client.call(request(growth("t", 5), validate_only=True), 3)
    assert warnings() == []
    client.call(request(growth("t", 5)), 3)
    assert warnings() == [
        "topic 't' grows from 3 to 5 partitions: new records of a key may go to another partition and be read"
        " before earlier ones; with kawal.partition.autosplit.mode partitions split in order"
    ]
