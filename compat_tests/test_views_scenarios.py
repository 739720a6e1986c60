"""Consuming views as TDengine's own tests check it, with every client library and all three kinds at once.

    query      SELECT * FROM source WHERE _key IS NULL     stable     STABLE source WHERE _key IS NULL
    database   DATABASE of the source, of 2 vnodes

With every record the source gets one that the first two leave out. Numbers are those of docs/groups.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

import pytest

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer
from compat_tests.group_lab import Lab, values, wait_for, with_every_library
from compat_tests.members import Member, wait_for_sizes
from compat_tests.topics import create_topic, delete_topic
from compat_tests.views import admin_client, make_view
from console.database_admin import do
from protocol.messages.kawal_databases import DatabaseAction

pytestmark = pytest.mark.only_kawal("Apache Kafka has no views")

LEFT_OUT: Final = b"left out"
ONE_FILE: Final = {"wal.segment.bytes": "1048576"}


@pytest.fixture(scope="module")
def broker(group_broker: Broker) -> Broker:
    return group_broker


class Views:
    """A source with a database of its own, and its three views."""

    def __init__(self, lab: Lab, partitions: int = 2) -> None:
        self.lab = lab
        self.partitions = partitions
        self.database_name = lab.name
        (made,) = do(
            lab.broker.bootstrap,
            DatabaseAction.CREATE,
            [lab.name],
            {"vnodes": str(partitions), **ONE_FILE},
        )
        assert not made.error_code, made
        self.source = self.topic("source")
        self.query = self.view("query", f"SELECT * FROM `{self.source}` WHERE _key IS NULL")
        self.stable = self.view("stable", f"STABLE `{self.source}` WHERE _key IS NULL")
        self.database = self.view("database", f"DATABASE `{lab.name}`")
        self.all = (self.query, self.stable, self.database)
        self._producer = make_producer(lab.broker, allow_auto_create_topics=False, linger_ms=0)

    def topic(self, name: str) -> str:
        """Create a topic of the database."""
        configs = {"kawal.database": self.database_name}
        return create_topic(self.lab.broker, f"{self.lab.name}.{name}", self.partitions, configs)

    def view(self, name: str, sql: str) -> str:
        """Create a view."""
        return make_view(self.lab.broker, f"{self.lab.name}.{name}", sql)

    def produce(self, written: Sequence[bytes], topic: str = "") -> None:
        """Produce values to the source, or another topic, each beside one that is left out."""
        for number, value in enumerate(written):
            partition = number % self.partitions
            self._producer.produce(topic or self.source, value, partition=partition)
            self._producer.produce(topic or self.source, LEFT_OUT, b"key", partition=partition)
        assert self._producer.flush(60) == 0


def shown(*members: Member, of: str = "") -> list[bytes]:
    """Return the values members have got, of one view or of all, sorted; without what should be left out."""
    return sorted(
        record.value
        for member in members
        for record in member.records
        if of in ("", record.topic) and not (record.value == LEFT_OUT and record.topic.endswith(".database"))
    )


def wait_for_shown(wanted: Sequence[bytes], *members: Member) -> None:
    """Wait until the members have got these values together, each once."""
    wait_for(lambda: len(shown(*members)) >= len(wanted), f"{len(wanted)} records", *members)
    assert shown(*members) == sorted(wanted)


def test_01_04_06_each_group_gets_what_each_view_shows_once_while_it_is_written(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        views = Views(lab)
        with ExitStack() as stack:
            alone = stack.enter_context(lab.member(*views.all, group="-alone"))
            pair = [stack.enter_context(lab.member(*views.all, group="-pair")) for _ in range(2)]
            wait_for_sizes([alone], [6])
            wait_for_sizes(pair, [3, 3])
            written: list[bytes] = []
            for turn in range(3):
                written += values(f"{turn}-", 30)
                views.produce(written[-30:])
            wait_for_shown(written * 3, alone)
            wait_for_shown(written * 3, *pair)
            assert all(member.records for member in pair)
            # 2: a topic that is made later is in the database's view from its first record on.
            later = views.topic("later")
            views.produce(values("later", 8), later)
            wait_for_shown(written * 3 + values("later", 8), alone)
            wait_for_shown(written * 3 + values("later", 8), *pair)

    with_every_library(broker, "v01", check)


def test_03_06_27_members_with_overlapping_views_get_what_they_want_until_one_is_dropped(
    broker: Broker,
) -> None:
    def check(lab: Lab) -> None:
        views = Views(lab)
        written = values("", 12)
        views.produce(written)
        with (
            lab.member(views.query, views.stable, commits=True, loses_topics=True) as one,
            lab.member(views.stable, views.database, commits=True) as two,
        ):
            wait_for(lambda: len(one.held()) + len(two.held()) == 6, "all partitions", one, two)
            for view in views.all:
                wait_for(
                    lambda view=view: {*written} == {*shown(one, two, of=view)},  # type: ignore[misc]
                    f"every record of {view}", one, two,
                )  # fmt: skip
            assert not shown(one, of=views.database)
            assert not shown(two, of=views.query)
            # Not waited for: members that ask for it create it again, as an ordinary topic.
            admin = admin_client(lab.broker)
            admin.delete_topics([views.query])[views.query].result(timeout=60)
            views.produce(values("after", 6))
            for view in (views.stable, views.database):
                wait_for(
                    lambda view=view: {*values("after", 6)} <= {*shown(one, two, of=view)},  # type: ignore[misc]
                    f"what {view} shows now", one, two,
                )  # fmt: skip

    with_every_library(broker, "v03", check)


def test_03_a_view_that_is_named_twice_is_one_view(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        views = Views(lab)
        views.produce(values("", 4))
        with lab.member(views.query, views.query, views.database, views.database) as member:
            wait_for_shown(values("", 4) * 2, member)

    # librdkafka refuses such a list itself.
    with_every_library(broker, "v03-twice", check, ("kafka-python", "aiokafka"))


def test_05_25_members_without_partitions_take_over_while_topics_are_dropped(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        views = Views(lab)
        gone = views.topic("gone")
        with (
            lab.member(views.database) as one,
            lab.member(views.database) as two,
            lab.member(views.database) as three,
        ):
            members = [one, two, three]
            wait_for_sizes(members, [0, 1, 1])
            views.produce(values("gone", 20), gone)
            wait_for(lambda: shown(*members), "some records", *members)
            delete_topic(lab.broker, gone)
            views.produce(values("", 8))
            wait_for(lambda: {*values("", 8)} <= {*shown(*members)}, "what is left", *members)
            assert len(shown(*members)) <= 28
            before = {*shown(*members)}
            busy = next(member for member in members if member.held())
            busy.commit()
            busy.leave()
            members.remove(busy)
            wait_for_sizes(members, [1, 1])
            views.produce(values("then", 8))
            wait_for(lambda: {*values("then", 8)} <= {*shown(*members)}, "what is new", *members)
            assert before <= {*values("gone", 20), *values("", 8)}

    with_every_library(broker, "v05", check)


def commit_before(member: Member, views: Views, value: bytes) -> None:
    """Commit, for every view, the offset of this value."""
    places = {
        (record.topic, record.partition): record.offset for record in member.records if record.value == value
    }
    assert len(places) == len(views.all)
    member.call(lambda library: library.commit(places))


def test_07_08_15_16_progress_is_kept_gone_back_on_and_goes_on_where_records_are_left(
    broker: Broker,
) -> None:
    def check(lab: Lab) -> None:
        views = Views(lab, 1)
        written = values("", 10)
        views.produce(written)
        with lab.member(*views.all) as first:
            wait_for_shown(written * 3, first)
            first_seen = list(first.records)
            for turn in range(2, 5):
                for view in views.all:
                    begin = min(record.offset for record in first_seen if record.topic == view)
                    first.call(lambda library, place=(view, 0), begin=begin: library.seek(place, begin))  # type: ignore[misc]
                wait_for_shown(written * 3 * turn, first)
                assert {*first.records} == {*first_seen}, "not the same again"
            commit_before(first, views, written[4])
        with lab.member(*views.all) as second:
            wait_for_shown(written[4:] * 3, second)
        for _ in range(2):
            with lab.member(*views.all, group="-without") as member:
                wait_for_shown(written * 3, member)
        lab.cut(views.source, 0, 14)  # two offsets for each value
        with lab.member(*views.all) as third:
            views.produce(values("new", 2))
            wait_for_shown((written[7:] + values("new", 2)) * 3, third)

    with_every_library(broker, "v07", check)


def test_28_a_view_made_anew_is_read_from_its_beginning(broker: Broker) -> None:
    def check(lab: Lab) -> None:
        views = Views(lab, 1)
        views.produce(values("", 3))
        for _ in range(3):
            again = views.view("again", f"SELECT * FROM `{views.source}` WHERE _key IS NULL")
            with lab.member(again) as member:
                wait_for_shown(values("", 3), member)
                member.commit()
            assert lab.committed()
            delete_topic(lab.broker, again)
            wait_for(lambda: not lab.committed(), "the progress to go with its view")

    with_every_library(broker, "v28", check)
