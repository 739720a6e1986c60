"""DescribeProducers: the state that a partition keeps of its producers."""

from __future__ import annotations

from typing import Any

import pytest

from broker.handlers import describe_producers
from broker.handlers.describe_producers import PRODUCER_BYTES
from broker.loop.slices import ITEMS_PER_STEP
from protocol.error_codes import ErrorCode
from protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from tests.broker.gateway import Client
from tests.broker.handlers.topics import produce

TOPICS = {"t": 2}


def ask(client: Client, *topics: tuple[str, list[int]]) -> list[Any]:
    asked = [TopicRequest(name=name, partition_indexes=indexes) for name, indexes in topics]
    return [
        partition
        for topic in client.call(DescribeProducersRequest(topics=asked), 0).topics
        for partition in topic.partitions
    ]


def test_each_producer_is_told_with_its_last_batch(client: Client) -> None:
    produce(client, "t", producer_id=7, producer_epoch=3, base_sequence=0)
    produce(client, "t", 4, producer_id=9, producer_epoch=0, base_sequence=0)
    produce(client, "t", 2, producer_id=7, producer_epoch=3, base_sequence=1)
    produce(client, "t")
    first, second = ask(client, ("t", [0, 1]))
    told = [
        (producer.producer_id, producer.producer_epoch, producer.last_sequence, producer.last_timestamp)
        for producer in first.active_producers
    ]
    now_ms = client.gateway.now_ms
    assert told == [(9, 0, 3, now_ms), (7, 3, 2, now_ms)]
    assert {
        (producer.coordinator_epoch, producer.current_txn_start_offset) for producer in first.active_producers
    } == {(-1, -1)}
    assert (second.error_code, second.active_producers) == (0, [])


def test_what_is_not_there_is_told_each_time(client: Client) -> None:
    answers = ask(client, ("t", [0, 0, 9, -1]), ("nope", [0]), ("bad name!", [0]), ("", [0]), ("t", []))
    assert [answer.error_code for answer in answers] == [0, 0, 3, 3, 3, 17, 17]
    assert answers[4].error_message == "This server does not host this topic-partition."
    assert "ASCII" in answers[5].error_message


def test_a_name_of_32_kb_is_not_said_again_for_each_of_its_partitions(client: Client) -> None:
    answers = ask(client, ("x" * 32_767, list(range(1_000))))
    assert {answer.error_code for answer in answers} == {17}
    assert sum(len(answer.error_message or "") for answer in answers) <= 65_000 + 1_000


def test_more_partitions_than_other_requests_may_name_are_answered(client: Client) -> None:
    answers = ask(client, ("t", [0, 1, 9] * 10_000))
    assert [answer.error_code for answer in answers] == [0, 0, 3] * 10_000


def test_a_partition_with_many_producers_is_described_in_steps(client: Client) -> None:
    for number in range(5 * ITEMS_PER_STEP):
        produce(client, "t", producer_id=number, producer_epoch=0, base_sequence=0)
    request = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0])])
    client.send(request, 0)
    assert not client.answers(), "the rest waits for its turn"
    client.gateway.settle()
    (answer,) = client.answers()
    found = answer.topics[0].partitions[0].active_producers
    assert [producer.producer_id for producer in found] == list(range(5 * ITEMS_PER_STEP))


def test_producers_that_do_not_fit_into_an_answer_are_refused_with_their_number(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(describe_producers, "PRODUCERS_MAX", 5)
    for number in range(2):
        produce(client, "t", producer_id=number, producer_epoch=0, base_sequence=0)
    answers = ask(client, ("t", [0, 0, 0, 1]))
    assert [answer.error_code for answer in answers] == [0, 0, ErrorCode.POLICY_VIOLATION, 0]
    assert [len(answer.active_producers) for answer in answers] == [2, 2, 0, 0]
    assert answers[2].error_message.startswith("2 producers of the partition")


def test_the_memory_of_an_answer_in_the_making_is_counted(client: Client) -> None:
    for number in range(5 * ITEMS_PER_STEP):
        produce(client, "t", producer_id=number, producer_epoch=0, base_sequence=0)
    before = client.connection.request_bytes
    client.send(DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0])]), 0)
    assert client.connection.request_bytes - before >= 5 * ITEMS_PER_STEP * PRODUCER_BYTES
    client.gateway.settle()
    assert client.connection.request_bytes == before
