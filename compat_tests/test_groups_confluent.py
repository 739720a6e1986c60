"""confluent-kafka (librdkafka 2.16): groups of both protocols."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaError, KafkaException

from compat_tests.broker import Broker
from compat_tests.confluent import take
from compat_tests.conftest import MakeTopic, StartBroker
from compat_tests.groups import (
    admin_of,
    committed_of,
    fill,
    group_consumer,
    offsets,
    partitions_of,
    poll_until,
    wait_for_shares,
)
from compat_tests.topics import create_topic

KINDS: list[dict[str, Any]] = [
    {"partition_assignment_strategy": "range"},
    {"partition_assignment_strategy": "cooperative-sticky"},
    {"group_protocol": "consumer"},
]
kinds = pytest.mark.parametrize("kind", KINDS, ids=["eager", "cooperative", "consumer"])


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    return group_broker


@kinds
def test_members_share_partitions_as_they_come_and_go(
    broker: Broker, make_topic: MakeTopic, kind: dict[str, Any]
) -> None:
    topic = make_topic(partitions=4)
    with (
        group_consumer(broker, topic, topic, **kind) as first,
        group_consumer(broker, topic, topic, **kind) as second,
    ):
        wait_for_shares(first, second, sizes=[2, 2])
        with group_consumer(broker, topic, topic, **kind) as third:
            wait_for_shares(first, second, third, sizes=[1, 1, 2])
        wait_for_shares(first, second, sizes=[2, 2])


@kinds
def test_a_group_goes_on_where_it_has_committed(
    broker: Broker, make_topic: MakeTopic, kind: dict[str, Any]
) -> None:
    topic = make_topic(partitions=2)
    fill(broker, topic, partitions=2, count=5)
    with group_consumer(broker, topic, topic, **kind) as consumer:
        poll_until(lambda: len(partitions_of(consumer)) == 2, consumer, what="both partitions")
        consumer.commit(offsets=offsets(topic, p0=3, p1=5), asynchronous=False)
    with group_consumer(broker, topic, topic, **kind) as consumer:
        seen = take(consumer, 2)
    assert [(m.partition(), m.offset()) for m in seen] == [(0, 3), (0, 4)]


def test_a_static_member_comes_back_without_a_rebalance(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    with group_consumer(broker, topic, topic, group_instance_id="one") as staying:
        with group_consumer(broker, topic, topic, group_instance_id="two") as leaving:
            wait_for_shares(staying, leaving, sizes=[1, 1])
            held = partitions_of(leaving)
        with group_consumer(broker, topic, topic, group_instance_id="two") as back:
            poll_until(lambda: partitions_of(back) == held, back, staying, what="the same partition")
            assert len(partitions_of(staying)) == 1


def test_without_a_commit_reading_begins_where_the_client_says(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    fill(broker, topic, partitions=1, count=2)
    with group_consumer(broker, f"{topic}-earliest", topic) as consumer:
        assert [m.offset() for m in take(consumer, 2)] == [0, 1]
    with group_consumer(broker, f"{topic}-latest", topic, auto_offset_reset="latest") as consumer:
        poll_until(lambda: partitions_of(consumer) == [0], consumer, what="the partition")
        assert consumer.poll(0.3) is None
        fill(broker, topic, partitions=1, count=1)
        assert [m.offset() for m in take(consumer, 1)] == [2]
    with group_consumer(broker, f"{topic}-none", topic, auto_offset_reset="error") as consumer:
        message = consumer.poll(60)
        assert message is not None
        assert message.error().code() == KafkaError._AUTO_OFFSET_RESET


def test_offsets_and_membership_survive_a_kill(start_broker: StartBroker, topic: str) -> None:
    broker = start_broker(group_initial_rebalance_delay_ms="0")
    create_topic(broker, topic, 2)
    fill(broker, topic, partitions=2, count=4)
    with group_consumer(broker, "g", topic) as consumer:
        poll_until(lambda: len(partitions_of(consumer)) == 2, consumer, what="both partitions")
        consumer.commit(offsets=offsets(topic, p0=2, p1=4), asynchronous=False)
        broker.kill()
        broker.restart()
        assert committed_of(broker, "g") == {0: 2, 1: 4}
        consumer.commit(offsets=offsets(topic, p0=3), asynchronous=False)
        assert committed_of(broker, "g") == {0: 3, 1: 4}


def test_groups_are_listed_described_altered_and_deleted(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    admin = admin_of(broker)
    with group_consumer(broker, topic, topic, client_id="shown") as consumer:
        poll_until(lambda: len(partitions_of(consumer)) == 2, consumer, what="both partitions")
        consumer.commit(offsets=offsets(topic, p0=1, p1=1), asynchronous=False)
        listed = admin.list_consumer_groups().result(60).valid
        assert {g.group_id: g.state for g in listed}[topic] == ConsumerGroupState.STABLE
        described = admin.describe_consumer_groups([topic])[topic].result(60)
        assert (described.state, described.partition_assignor) == (ConsumerGroupState.STABLE, "range")
        (member,) = described.members
        assert member.client_id == "shown"
        assert sorted(place.partition for place in member.assignment.topic_partitions) == [0, 1]
        with pytest.raises(KafkaException) as refused:
            admin.delete_consumer_groups([topic])[topic].result(60)
        assert refused.value.args[0].code() == KafkaError.NON_EMPTY_GROUP
    altered = ConsumerGroupTopicPartitions(topic, offsets(topic, p0=7))
    admin.alter_consumer_group_offsets([altered])[topic].result(60)
    assert committed_of(broker, topic) == {0: 7, 1: 1}
    admin.delete_consumer_groups([topic])[topic].result(60)
    assert topic not in {g.group_id for g in admin.list_consumer_groups().result(60).valid}
    assert committed_of(broker, topic) == {}
