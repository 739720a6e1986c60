"""kafka-python 3: classic groups, alone and together with confluent-kafka."""

from __future__ import annotations

from functools import partial

import pytest

from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic
from compat_tests.groups import committed_of, fill
from compat_tests.libraries import Confluent, KafkaPython, Settings
from compat_tests.members import Member, wait_for_sizes
from compat_tests.waiting import eventually


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    return group_broker


def member(broker: Broker, topic: str) -> Member:
    return Member(partial(KafkaPython, broker, topic, [topic], Settings()))


def test_members_share_partitions_as_they_come_and_go(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=4)
    with member(broker, topic) as first, member(broker, topic) as second:
        wait_for_sizes([first, second], [2, 2])
        with member(broker, topic) as third:
            wait_for_sizes([first, second, third], [1, 1, 2])
        wait_for_sizes([first, second], [2, 2])


def test_a_group_goes_on_where_it_has_committed(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    fill(broker, topic, partitions=1, count=5)
    place = (topic, 0)
    with member(broker, topic) as consumer:
        wait_for_sizes([consumer], [1])
        consumer.call(lambda library: library.commit({place: 3}))
        assert consumer.call(lambda library: library.committed(place)) == 3
    assert committed_of(broker, topic) == {0: 3}
    with member(broker, topic) as consumer:
        eventually(lambda: len(consumer.records) == 2, waiting_for="the rest")
    assert [record.offset for record in consumer.records] == [3, 4]


def test_libraries_share_one_group(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=4)
    others = partial(Confluent, broker, topic, [topic], Settings())
    with member(broker, topic) as ours, Member(others) as theirs:
        wait_for_sizes([ours, theirs], [2, 2])
        ours.leave()
        wait_for_sizes([theirs], [4])
