"""Consuming as TDengine's own tests check it, with every client library: which member gets which records.

The numbers are those of the list in docs/groups.md.
"""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from compat_tests.broker import Broker
from compat_tests.group_lab import Lab, got, values, wait_for, wait_for_values, with_every_library
from compat_tests.libraries import Library
from compat_tests.members import wait_for_sizes
from compat_tests.topics import create_topic, delete_topic, grow_topic


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    return group_broker


def test_01_04_each_group_gets_every_record_once_while_they_are_written(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        topic = lab.topic(4)
        with ExitStack() as stack:
            alone = stack.enter_context(lab.member(topic, group="-alone"))
            pair = [stack.enter_context(lab.member(topic, group="-pair")) for _ in range(2)]
            wait_for_sizes([alone], [4])
            wait_for_sizes(pair, [2, 2])
            written: list[bytes] = []
            for turn in range(4):
                written += values(f"{turn}-", 60)
                lab.produce(topic, written[-60:], partitions=4)
            wait_for_values(written, alone)
            wait_for_values(written, *pair)
            assert all(member.records for member in pair)

    with_every_library(broker, "s01", check)


def test_02_23_topics_and_partitions_that_come_later_are_read(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        first = lab.topic(1, "-a")
        with lab.member(f"^{lab.name}-.*") as member:
            wait_for_sizes([member], [1])
            second = lab.topic(2, "-b")
            wait_for_sizes([member], [3])
            grow_topic(lab.broker, first, 3)
            wait_for_sizes([member], [5])
            for topic, partitions in ((first, 3), (second, 2)):
                lab.produce(topic, values(topic, 6), partitions)
            wait_for_values(values(first, 6) + values(second, 6), member)

    with_every_library(broker, "s02", check)


def test_03_06_members_with_overlapping_topics_get_what_they_want_once(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        topics = [lab.topic(partitions, suffix) for partitions, suffix in ((1, "-a"), (4, "-b"), (1, "-c"))]
        for topic, partitions in zip(topics, (1, 4, 1), strict=True):
            lab.produce(topic, values(topic, 12), partitions)
        with (
            lab.member(topics[0], topics[1], commits=True) as one,
            lab.member(topics[1], topics[2], commits=True) as two,
        ):
            wait_for(lambda: len(one.held()) + len(two.held()) == 6, "all partitions", one, two)
            wait_for(
                lambda: {value for topic in topics for value in values(topic, 12)} <= {*got(one, two)},
                "every record", one, two,
            )  # fmt: skip
            assert not {seen.topic for seen in one.records} & {topics[2]}
            assert not {seen.topic for seen in two.records} & {topics[0]}

    with_every_library(broker, "s03", check)


def test_03_a_topic_that_is_named_twice_is_one_topic(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        topic = lab.topic(2)
        lab.produce(topic, values("", 4), 2)
        with lab.member(topic, topic) as member:
            wait_for_values(values("", 4), member)

    # librdkafka refuses such a list itself.
    with_every_library(broker, "s03-twice", check, ("kafka-python", "aiokafka"))


def test_05_members_without_partitions_wait_and_take_over(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        topic = lab.topic(2)
        with lab.member(topic) as one, lab.member(topic) as two, lab.member(topic) as three:
            members = [one, two, three]
            wait_for_sizes(members, [0, 1, 1])
            busy = next(member for member in members if member.held())
            busy.leave()
            members.remove(busy)
            wait_for_sizes(members, [1, 1])
            lab.produce(topic, values("", 8), 2)
            wait_for_values(values("", 8), *members)

    with_every_library(broker, "s05", check)


def test_07_who_comes_next_goes_on_where_the_last_has_committed(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        topic = lab.topic()
        written = values("", 10)
        lab.produce(topic, written)
        with lab.member(topic) as first:
            wait_for_values(written, first)
            first.call(lambda library: library.commit({(topic, 0): 4}))
        with lab.member(topic) as second:
            wait_for_values(written[4:], second)

    with_every_library(broker, "s07", check)


def test_08_10_without_a_commit_the_next_begins_where_its_own_setting_says(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        topic = lab.topic()
        lab.produce(topic, values("old", 5))
        for _ in range(2):
            with lab.member(topic) as member:
                wait_for_values(values("old", 5), member)
        with lab.member(topic, reset=None) as member:
            # The default of every library is the end; its position is known once it has looked for it.
            wait_for_sizes([member], [1])
            wait_for(lambda: begins_at_the_end(lab, topic, member.values()), "a record of now", member)
            assert member.values()[0].startswith(b"new")

    def begins_at_the_end(lab: Lab, topic: str, seen: list[bytes]) -> bool:
        lab.produce(topic, [b"new"])
        return bool(seen)

    with_every_library(broker, "s08", check)


def leave_and_come_back(library: Library, topic: str) -> None:
    library.unsubscribe()
    library.subscribe([topic])


def test_12_who_unsubscribes_and_comes_back_goes_on_a_hundred_times(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        topic = lab.topic()
        with lab.member(topic) as member:
            for turn in range(25):
                lab.produce(topic, [b"%d" % turn])
                wait_for(lambda turn=turn: len(member.records) > turn, "the next record", member)  # type: ignore[misc]
                member.commit()
                member.call(lambda library: leave_and_come_back(library, topic))
            assert member.values() == [b"%d" % turn for turn in range(25)]

    with_every_library(broker, "s12", check)


def test_28_a_topic_made_anew_is_read_from_its_beginning(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        for turn in range(3):
            topic = lab.topic()
            lab.produce(topic, values(str(turn), 3))
            with lab.member(topic) as member:
                wait_for_values(values(str(turn), 3), member)
                member.commit()
            assert lab.committed() == {0: 3}
            delete_topic(lab.broker, topic)
            wait_for(lambda: not lab.committed(), "the progress to go with its topic")

    with_every_library(broker, "s28", check)


def test_all_libraries_and_both_protocols_share_one_group(broker: Broker) -> None:
    lab = Lab(broker, "confluent", "mixed")
    topic = create_topic(broker, lab.name, 8)
    with ExitStack() as stack:
        members = [
            stack.enter_context(lab.member(topic, library=library))
            for library in ("kafka-python", "confluent", "aiokafka")
        ]
        wait_for_sizes(members, [2, 3, 3])
        members.append(stack.enter_context(lab.member(topic, library="confluent-848")))
        wait_for_sizes(members, [2, 2, 2, 2])
        lab.produce(topic, values("both", 80), 8)
        wait_for_values(values("both", 80), *members)
        for member in members:
            member.commit()
        members.pop().leave()
        wait_for_sizes(members, [2, 3, 3])
        seen = got(*members)
        lab.produce(topic, values("classic", 80), 8)
        wait_for(lambda: {*values("classic", 80)} <= {*got(*members)}, "what is written now", *members)
        assert len(got(*members)) - len(seen) <= 80 + 20, "committed records came again"
