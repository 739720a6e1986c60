"""kafka-python 3: classic groups, alone and together with confluent-kafka."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition

from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic
from compat_tests.groups import committed_of, fill, group_consumer, partitions_of
from compat_tests.waiting import eventually


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    return group_broker


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Closes the consumers of a test."""
    with ExitStack() as opened:
        yield opened


def member(broker: Broker, group_id: str, topic: str, **settings: Any) -> Any:
    """A member that knows the topic before it joins: as leader kafka-python assigns only what it knows."""
    made = KafkaConsumer(
        bootstrap_servers=broker.bootstrap,
        group_id=group_id,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        session_timeout_ms=6_000,
        heartbeat_interval_ms=250,
        **settings,
    )
    eventually(lambda: made.partitions_for_topic(topic), waiting_for=f"the partitions of {topic}")
    made.subscribe([topic])
    return made


def held(consumer: Any) -> list[int]:
    return sorted(one.partition for one in consumer.assignment())


def wait_for_shares(members: list[Any], others: list[Any], sizes: list[int]) -> None:
    """Poll everybody until the partitions are shared so, each held once."""
    deadline = time.monotonic() + 25
    while True:
        for consumer in members:
            consumer.poll(timeout_ms=20)
        for other in others:
            other.poll(0.02)
        parts = [held(one) for one in members] + [partitions_of(one) for one in others]
        every = [index for part in parts for index in part]
        if sorted(map(len, parts)) == sizes and len(set(every)) == len(every):
            return
        assert time.monotonic() < deadline, parts


def test_members_share_partitions_as_they_come_and_go(
    broker: Broker, make_topic: MakeTopic, stack: ExitStack
) -> None:
    topic = make_topic(partitions=4)
    first, second = (stack.enter_context(closing(member(broker, topic, topic))) for _ in range(2))
    wait_for_shares([first, second], [], [2, 2])
    with closing(member(broker, topic, topic)) as third:
        wait_for_shares([first, second, third], [], [1, 1, 2])
    wait_for_shares([first, second], [], [2, 2])


def test_a_group_goes_on_where_it_has_committed(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    fill(broker, topic, partitions=1, count=5)
    place = TopicPartition(topic, 0)
    with closing(member(broker, topic, topic)) as consumer:
        wait_for_shares([consumer], [], [1])
        consumer.commit({place: OffsetAndMetadata(3, "so far", -1)})
        assert consumer.committed(place) == 3
    assert committed_of(broker, topic) == {0: 3}
    with closing(member(broker, topic, topic)) as consumer:
        records: list[Any] = []
        deadline = time.monotonic() + 20
        while len(records) < 2:
            assert time.monotonic() < deadline, records
            records += consumer.poll(timeout_ms=200).get(place, [])
    assert [record.offset for record in records] == [3, 4]


def test_libraries_share_one_group(broker: Broker, make_topic: MakeTopic, stack: ExitStack) -> None:
    topic = make_topic(partitions=4)
    ours = stack.enter_context(closing(member(broker, topic, topic)))
    theirs = stack.enter_context(group_consumer(broker, topic, topic, partition_assignment_strategy="range"))
    wait_for_shares([ours], [theirs], [2, 2])
    ours.close()
    wait_for_shares([], [theirs], [4])
