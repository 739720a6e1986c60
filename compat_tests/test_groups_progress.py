"""Progress as TDengine's own tests check it, with every client library: commits, positions, seeks, loss.

The numbers are those of the list in docs/groups.md.
"""

from __future__ import annotations

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

from compat_tests.broker import Broker
from compat_tests.conftest import StartBroker
from compat_tests.group_lab import Lab, values, wait_for, wait_for_values, with_every_library
from compat_tests.groups import admin_of, committed_of
from compat_tests.libraries import Library, NoPosition
from compat_tests.members import wait_for_sizes
from compat_tests.topics import create_topic


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    return group_broker


def committed_in(library: Library, topic: str) -> int | None:
    return library.committed((topic, 0))


def test_09_13_what_is_committed_by_itself_is_what_was_read(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        topic = lab.topic()
        lab.produce(topic, values("", 7))
        with (
            lab.member(topic, group="-auto", commit_every_ms=100) as auto,
            lab.member(topic, group="-manual") as manual,
        ):
            wait_for_values(values("", 7), auto)
            wait_for_values(values("", 7), manual)
            wait_for(lambda: lab.committed("-auto") == {0: 7}, "the commit", auto)
            assert auto.call(lambda library: library.position((topic, 0))) == 7
            assert auto.call(lambda library: committed_in(library, topic)) == 7
            assert manual.call(lambda library: committed_in(library, topic)) is None
        assert lab.committed("-manual") == {}

    with_every_library(broker, "p09", check)


def test_09_without_progress_and_a_place_to_begin_nothing_is_read(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        topic = lab.topic()
        lab.produce(topic, values("", 3))
        member = lab.member(topic, reset="none")
        wait_for(lambda: isinstance(member.error, NoPosition), "the refusal")
        assert member.records == []

    with_every_library(broker, "p09-none", check)


def test_13_a_seek_changes_the_position_and_a_commit_the_progress(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        topic = lab.topic()
        place = (topic, 0)
        lab.produce(topic, values("", 9))
        with lab.member(topic) as member:
            wait_for_values(values("", 9), member)
            member.commit()
            member.call(lambda library: library.seek(place, 5))
            wait_for(lambda: len(member.records) >= 9 + 4, "the records from 5 on", member)
            assert [record.offset for record in member.records[9:]] == [5, 6, 7, 8]
            assert lab.committed() == {0: 9}
            member.call(lambda library: library.commit({place: 5}))
            assert member.call(lambda library: library.committed(place)) == 5
            assert len({frozenset(member.call(lambda library: library.held())) for _ in range(3)}) == 1

    with_every_library(broker, "p13", check)


def test_15_going_back_gives_the_same_records_every_time(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        topic = lab.topic()
        lab.produce(topic, values("", 5))
        with lab.member(topic) as member:
            for turn in range(1, 5):
                wait_for(lambda: len(member.records) >= 5 * turn, "all records again", member)  # noqa: B023
                member.call(lambda library: library.seek((topic, 0), 0))
            assert member.values()[:20] == values("", 5) * 4

    with_every_library(broker, "p15", check)


def test_16_who_falls_behind_what_is_kept_goes_on_with_the_first_kept(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        topic = lab.topic()
        written = values("", 10)
        lab.produce(topic, written)
        with lab.member(topic) as member:
            wait_for_values(written, member)
            member.call(lambda library: library.commit({(topic, 0): 2}))
        lab.cut(topic, 0, 6)
        with lab.member(topic) as member:
            wait_for_values(written[6:], member)

    with_every_library(broker, "p16", check)


def test_17_18_restarts_lose_nothing_and_progress_that_is_too_old_goes_on(start_broker: StartBroker) -> None:
    broker = start_broker(group_initial_rebalance_delay_ms="0")
    # The others leave sockets of failed connections behind; compat_tests/churn has them in processes.
    labs = [Lab(broker, library, "p18") for library in ("confluent", "confluent-848")]
    topics = [lab.topic(2) for lab in labs]
    members = [lab.member(topic, commits=True) for lab, topic in zip(labs, topics, strict=True)]
    written: list[bytes] = []
    for turn in range(3):
        part = values(str(turn), 20)
        written += part
        for lab, topic in zip(labs, topics, strict=True):
            lab.produce(topic, part, 2)
        if turn < 2:
            broker.kill()
            broker.restart()
    for member in members:
        wait_for(lambda: {*written} <= {*member.values()}, "every record", member)  # noqa: B023
        member.leave()
        member.check()
    lab, topic = labs[0], topics[0]
    with lab.member(topic, group="-late") as late:
        wait_for_sizes([late], [2])
        late.call(lambda library: library.commit({(topic, 0): 1, (topic, 1): 30}))
    lab.cut(topic, 0, 20)
    # Kafka notes deletions of records once a minute and at its end.
    broker.stop()
    broker.restart()
    with lab.member(topic, group="-late") as late:
        wait_for(lambda: len(late.records) == 10, "the first kept", late)
        assert [(record.partition, record.offset) for record in late.records] == [
            (0, n) for n in range(20, 30)
        ]


def freeze_and_take_over(lab: Lab) -> None:
    """Freeze a member: it loses its partitions to the other, and gets its share when it is back."""
    lab.set_group("consumer.session.timeout.ms", "6000")
    topic = lab.topic(2)
    with (
        lab.member(topic, max_poll_ms=1_000, session_ms=6_000) as hangs,
        lab.member(topic, commits=True) as other,
    ):
        wait_for_sizes([hangs, other], [1, 1])
        hangs.freeze()
        wait_for(lambda: len(other.held()) == 2, "the partition of the one that hangs", other)
        lab.produce(topic, values("", 6), 2)
        wait_for_values(values("", 6), other)
        hangs.thaw()
        wait_for_sizes([hangs, other], [1, 1])


def test_19_20_who_does_not_poll_or_beat_is_replaced_and_may_come_back(broker: Broker) -> None:
    # Some libraries keep beating until max.poll.interval.ms is over and leave then, or stop and leave the
    # rest to the session (confluent-848); aiokafka stops with its loop.
    with_every_library(broker, "p19", freeze_and_take_over)


def test_28_30_a_hundred_groups_are_listed_with_their_progress_and_deleted(broker: Broker) -> None:
    topic = create_topic(broker, "p30", 4)
    admin = admin_of(broker)
    names = [f"p30-{number:03}" for number in range(101)]
    places = [TopicPartition(topic, index, 7) for index in range(4)]
    for name in names:
        wanted = ConsumerGroupTopicPartitions(name, places)
        assert admin.alter_consumer_group_offsets([wanted])[name].result(60).group_id == name
    listed = {group.group_id: group.state.name for group in admin.list_consumer_groups().result(60).valid}
    assert {listed[name] for name in names} == {"EMPTY"}
    assert [committed_of(broker, name) for name in names] == [{0: 7, 1: 7, 2: 7, 3: 7}] * 101
    for future in admin.delete_consumer_groups(names).values():
        future.result(60)
    left = {group.group_id for group in admin.list_consumer_groups().result(60).valid}
    assert not left & set(names)
    assert committed_of(broker, names[0]) == {}
