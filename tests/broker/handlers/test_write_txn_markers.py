"""WriteTxnMarkers: the ends of transactions by an administrator's hand."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.broker.gateway import Gateway
from tests.broker.kit import create, fetch
from tests.broker.txn import Producer, committed
from tests.wal.logs import calls_of


@pytest.fixture
def gateway() -> Gateway:
    gateway = Gateway(kawal_vnodes=2)
    create(gateway.client(), "t", partitions=60)
    return gateway


def marker(producer: Producer, *indexes: int, topic: str = "t", **fields: Any) -> WritableTxnMarker:
    values = {
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        "transaction_result": False,
        "coordinator_epoch": 0,
    }
    topics = [WritableTxnMarkerTopic(name=topic, partition_indexes=list(indexes))]
    return WritableTxnMarker(**{**values, **fields}, topics=topics)


def codes(gateway: Gateway, *markers: WritableTxnMarker, version: int = 2) -> list[list[int]]:
    answer = gateway.client().call(WriteTxnMarkersRequest(markers=list(markers)), version)
    return [
        [result.error_code for topic in found.topics for result in topic.partitions]
        for found in answer.markers
    ]


def test_every_partition_answers_for_itself(gateway: Gateway) -> None:
    producer = Producer(gateway)
    producer.write("t", 0, b"a")
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    found = codes(gateway, marker(producer, 0, 1, 99), marker(producer, 0, topic="u"))
    assert found == [[0, 0, missing], [missing]]
    assert committed(gateway.client(), "t") == []
    assert fetch(gateway.client(), "t").last_stable_offset == 2


def test_a_marker_may_name_many_partitions(gateway: Gateway) -> None:
    producer = Producer(gateway)
    assert codes(gateway, marker(producer, *range(60))) == [[0] * 60]


def test_an_epoch_below_the_producers_and_an_older_coordinator_are_refused(gateway: Gateway) -> None:
    producer = Producer(gateway)
    producer.commit_offset(1)
    producer.abort()
    producer.write("t", 0, b"a")
    assert codes(gateway, marker(producer, 0, producer_epoch=0)) == [[ErrorCode.INVALID_PRODUCER_EPOCH]]
    assert codes(gateway, marker(producer, 0, coordinator_epoch=7)) == [[0]]
    refused = codes(gateway, marker(producer, 0, coordinator_epoch=3))
    assert refused == [[ErrorCode.TRANSACTION_COORDINATOR_FENCED]]


def test_a_marker_of_the_second_kind_needs_an_epoch_of_its_own_and_may_be_repeated(gateway: Gateway) -> None:
    producer = Producer(gateway)
    producer.write("t", 0, b"a")
    same = marker(producer, 0, transaction_version=2)
    assert codes(gateway, same) == [[ErrorCode.INVALID_PRODUCER_EPOCH]]
    next_epoch = marker(producer, 0, transaction_version=2, producer_epoch=producer.epoch + 1)
    assert codes(gateway, next_epoch) == [[0]]
    end = gateway.partition("t").log_end
    assert codes(gateway, next_epoch) == [[0]]
    assert gateway.partition("t").log_end == end, "a repetition is not stored"


def test_a_request_without_markers_is_answered(gateway: Gateway) -> None:
    assert codes(gateway) == []


def test_the_markers_of_a_request_share_their_commits(gateway: Gateway) -> None:
    producer = Producer(gateway)
    markers = [marker(producer, number % 60, producer_id=1_000 + number) for number in range(300)]
    client = gateway.client()
    syncs = calls_of(gateway.disk, "sync")
    answer = client.call(WriteTxnMarkersRequest(markers=markers), 2)
    assert [found.topics[0].partitions[0].error_code for found in answer.markers] == [0] * 300
    assert [found.producer_id for found in answer.markers] == [1_000 + number for number in range(300)]
    assert len(syncs) < 100, "a commit for each step, not for each marker"
