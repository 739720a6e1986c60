"""The limits on requests and on what is kept, as clients meet them; small here and large by default."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.batches import Batch, stored_batches
from compat_tests.broker import Broker
from compat_tests.kawal_broker import KawalBroker
from compat_tests.requests import fetch_request, produce, producer_id
from compat_tests.topics import create_topic
from compat_tests.wire import RawClient, raw_client
from protocol.error_codes import ErrorCode
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from protocol.messages.describe_topic_partitions import TopicRequest as DescribedTopic

pytestmark = pytest.mark.only_kawal(reason="the limits are the gateway's own; Kafka's tests look at Kafka's")

LIMITS = {
    "socket.request.max.bytes": "200000",
    "message.max.bytes": "50000",
    "fetch.max.bytes": "20000",
    "max.incremental.fetch.session.cache.slots": "2",
    "max.request.partition.size.limit": "3",
    "kawal.max.partitions": "100",
    "kawal.max.producers.per.partition": "2",
    "offset.metadata.max.bytes": "10",
}
"""The settings with which the broker of this file starts; those of test_limits.py are named there."""

CONFIGURATION = Path(__file__).parent.parent / "docs" / "configuration.md"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    limited = KawalBroker(tmp_path_factory.mktemp("limits"), {"kawal.http.listen": "none", **LIMITS})
    limited.start()
    yield limited
    limited.stop()


@pytest.mark.parametrize("key", LIMITS)
def test_every_limit_is_documented(key: str) -> None:
    assert f"| `{key}` |" in CONFIGURATION.read_text()


def test_a_frame_above_the_limit_ends_its_connection_and_one_below_does_not(broker: Broker) -> None:
    with raw_client(broker) as raw:
        raw.socket.sendall(struct.pack(">i", 200_001))
        assert raw.is_closed_by_peer()
    create_topic(broker, "frames", 1, {"max.message.bytes": "190000"})
    with raw_client(broker) as raw:
        assert produce(raw, "frames", Batch(values=[b"x" * 180_000])).error_code == 0
    assert "200001 bytes announced; 1 to 200000 are allowed" in broker.process.output()


def test_a_batch_above_the_limit_is_refused_and_the_connection_goes_on(
    broker: Broker, raw: RawClient, topic: str
) -> None:
    create_topic(broker, topic)
    part = produce(raw, topic, Batch(values=[b"x" * 50_000]))
    assert part.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert "50000" in part.error_message
    assert produce(raw, topic, Batch()).error_code == 0


def test_an_answer_is_no_larger_than_the_limit_unless_one_batch_is(
    broker: Broker, raw: RawClient, topic: str
) -> None:
    create_topic(broker, topic)
    for _ in range(10):
        produce(raw, topic, Batch(values=[b"x" * 5_000]))
    produce(raw, topic, Batch(values=[b"x" * 40_000]))
    answer = raw.call(fetch_request(topic, 0, partition_max_bytes=10**9, max_bytes=10**9), 12)
    assert len(stored_batches(answer.responses[0].partitions[0].records)) == 3
    large = raw.call(fetch_request(topic, 10, partition_max_bytes=10**9, max_bytes=10**9), 12)
    assert len(large.responses[0].partitions[0].records) > 40_000


def test_sessions_beyond_the_limit_are_not_opened_and_their_fetches_served(
    broker: Broker, raw: RawClient, topic: str
) -> None:
    create_topic(broker, topic)
    answers = [raw.call(fetch_request(topic, 0, session_epoch=0), 12) for _ in range(5)]
    assert [answer.error_code for answer in answers] == [0] * 5
    assert sum(answer.session_id != 0 for answer in answers) <= 2


def test_a_page_of_partitions_is_no_larger_than_the_limit(broker: Broker, raw: RawClient, topic: str) -> None:
    create_topic(broker, topic, 5)
    request = DescribeTopicPartitionsRequest(
        topics=[DescribedTopic(name=topic)], response_partition_limit=1000
    )
    answer = raw.call(request, 0)
    assert len(answer.topics[0].partitions) == 3
    assert answer.next_cursor.partition_index == 3


def test_partitions_beyond_the_limit_are_not_made(broker: Broker, raw: RawClient, topic: str) -> None:
    new = CreatableTopic(name=topic, num_partitions=101, replication_factor=1, assignments=[], configs=[])
    refused = raw.call(CreateTopicsRequest(topics=[new], timeout_ms=10_000), 7).topics[0]
    assert refused.error_code == ErrorCode.POLICY_VIOLATION
    assert "kawal.max.partitions=100" in refused.error_message
    create_topic(broker, topic)
    grown = CreatePartitionsTopic(name=topic, count=101, assignments=None)
    answer = raw.call(CreatePartitionsRequest(topics=[grown], timeout_ms=10_000, validate_only=False), 3)
    assert answer.results[0].error_code == ErrorCode.POLICY_VIOLATION


def test_producers_beyond_the_limit_push_out_the_one_idle_longest(
    broker: Broker, raw: RawClient, topic: str
) -> None:
    create_topic(broker, topic)
    identities = [producer_id(raw)[0] for _ in range(3)]
    for identity in identities:
        batch = Batch(producer_id=identity, producer_epoch=0, base_sequence=0)
        assert produce(raw, topic, batch).error_code == 0
    answer = raw.call(DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[0])]), 0)
    remembered = {producer.producer_id for producer in answer.topics[0].partitions[0].active_producers}
    assert remembered == set(identities[1:])
