"""Fetch in odd cases; the answers are those of Apache Kafka 4.3.1."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.broker.gateway import Client, Gateway
from tests.broker.handlers.topics import create, produce


@pytest.fixture
def client() -> Client:
    client = Gateway().client()
    create(client, "t")
    produce(client, "t", 3)
    return client


def fetch(
    client: Client,
    name: str,
    version: int = 12,
    session_epoch: int = -1,
    isolation_level: int = 0,
    **fields: Any,
) -> Any:
    partition = FetchPartition(**{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000, **fields})
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        session_epoch=session_epoch,
        isolation_level=isolation_level,
        topics=[FetchTopic(topic=name, topic_id=UUID(int=9), partitions=[partition])],
    )
    return client.call(request, version)


def part_of(answer: Any) -> Any:
    return answer.responses[0].partitions[0]


def test_the_empty_name_is_an_unknown_topic_not_an_unknown_id(client: Client) -> None:
    assert part_of(fetch(client, "")).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert part_of(fetch(client, "", version=13)).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_aborted_transactions_are_empty_for_what_does_not_exist_and_null_for_what_cannot_be_read(
    client: Client,
) -> None:
    assert part_of(fetch(client, "none")).aborted_transactions == []
    beyond = part_of(fetch(client, "t", fetch_offset=9))
    assert (beyond.error_code, beyond.aborted_transactions) == (ErrorCode.OFFSET_OUT_OF_RANGE, None)


def test_a_last_fetched_epoch_the_log_never_had_is_out_of_range(client: Client) -> None:
    part = part_of(fetch(client, "t", last_fetched_epoch=1))
    assert part.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert part.diverging_epoch is None


def test_an_offset_behind_the_end_of_its_epoch_diverges(client: Client) -> None:
    part = part_of(fetch(client, "t", isolation_level=1, last_fetched_epoch=0, fetch_offset=9))
    assert (part.error_code, part.diverging_epoch.epoch, part.diverging_epoch.end_offset) == (0, 0, 3)
    assert part.aborted_transactions is None


def test_any_negative_leader_epoch_is_none(client: Client) -> None:
    assert part_of(fetch(client, "t", current_leader_epoch=-2)).error_code == 0
    assert part_of(fetch(client, "t", current_leader_epoch=1)).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_a_session_may_begin_empty(client: Client) -> None:
    request = FetchRequest(max_wait_ms=0, min_bytes=0, session_epoch=0, topics=[])
    opened = client.call(request, 12).session_id
    assert opened > 0
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        session_id=opened,
        session_epoch=1,
        topics=[FetchTopic(topic="t", partitions=[partition])],
    )
    answer = client.call(request, 12)
    assert (answer.session_id, part_of(answer).high_watermark) == (opened, 3)
