"""Audit events of several nodes in one topic: each once, whatever is lost on the way or dies meanwhile."""

from __future__ import annotations

import errno
import json
from typing import Any

import pytest

from broker.catalogue.topics import AUDIT_TOPIC
from broker.security.audit_trail import AuditTrail, Batch, Done
from broker.server.audit_file import line_of
from broker.server.audit_setup import make_trail
from protocol.records import iter_batches
from tests.broker.cluster import LATE, REPEATED, UNANSWERED, UNSENT, Cluster
from tests.broker.kit import fetch, records_of
from wal.memory_faults import failing


class Audited(Cluster):
    """Nodes with an audit topic and trails."""

    def __init__(self, count: int = 2, **settings: Any) -> None:
        super().__init__(count, kawal_audit_topic=True, **settings)
        self.trails = [self._trail(number) for number in range(count)]

    def _trail(self, number: int) -> AuditTrail:
        def lines(batch: Batch, done: Done) -> None:
            batch.lines = batch.lines or list(map(line_of, batch.events))
            done(None)

        node = self.nodes[number]
        return make_trail(node.broker, node.config, lines)

    def begin_again(self, number: int) -> None:
        """Start a node that was killed."""
        self.revive(number)
        self.trails[number] = self._trail(number)

    def record(self, number: int, name: str) -> None:
        """Have a node tell an event."""
        self.trails[number].record(name)
        self.settle()

    @property
    def leader(self) -> int:
        """The number of the node that leads the topic."""
        broker = self.nodes[0].broker
        return broker.topics.leader(broker.catalogue.by_name[AUDIT_TOPIC], 0)[0]

    @property
    def other(self) -> int:
        """The number of one that does not."""
        return (self.leader + 1) % self.count

    def told(self, *skipped: str) -> list[str]:
        """Return the names of the events in the topic, in order."""
        client = self.nodes[self.leader].client()
        names: list[str] = []
        offset = 0
        while (data := fetch(client, AUDIT_TOPIC, offset)).records:
            for batch in iter_batches(data.records):
                records = list(records_of(batch))
                offset = records[-1].offset + 1
                names += [json.loads(bytes(record.value or b""))["event"] for record in records]
        return [name for name in names if name not in skipped]


@pytest.fixture
def cluster() -> Audited:
    """Two nodes that know the topic."""
    cluster = Audited()
    cluster.record(0, "first")
    cluster.advance(1_000)
    assert cluster.told("topic.created") == ["first"]
    return cluster


@pytest.mark.parametrize("own_directories", [False, True], ids=["workers", "machines"])
def test_the_events_of_all_nodes_are_in_the_one_partition(own_directories: bool) -> None:
    cluster = Audited(3, own_directories=own_directories)
    for number in (2, 1, 0):
        cluster.record(number, f"of {number}")
    cluster.advance(1_000)
    for number in range(3):
        cluster.record(number, f"more of {number}")

    names = cluster.told("topic.created")
    assert sorted(names) == ["more of 0", "more of 1", "more of 2", "of 0", "of 1", "of 2"]
    for number in range(3):
        assert names.index(f"of {number}") < names.index(f"more of {number}")
    assert [trail.distress for trail in cluster.trails] == [""] * 3


def test_the_controller_creates_the_topic_although_another_node_has_the_first_event() -> None:
    cluster = Audited()
    cluster.record(1, "early")
    assert AUDIT_TOPIC in cluster[0].broker.catalogue.by_name
    cluster.advance(1_000)
    assert cluster.told("topic.created") == ["early"]


@pytest.mark.parametrize("mishap", [UNSENT, UNANSWERED, REPEATED, LATE])
def test_a_batch_is_stored_once_whatever_becomes_of_its_request(cluster: Audited, mishap: str) -> None:
    names = [f"e{number}" for number in range(5)]
    for name in names:
        # The first request of each is lost, has no answer, comes twice or late.
        cluster.settle()
        cluster.mishaps.append(mishap)
        cluster.record(cluster.other, name)
        cluster.advance(1_000)
    cluster.deliver_late()
    cluster.advance(1_000)

    assert cluster.told("topic.created", "first") == names
    assert cluster.trails[cluster.other].distress == ""


def test_the_death_of_the_leader_delays_what_others_tell_and_doubles_nothing(cluster: Audited) -> None:
    number, other = cluster.leader, cluster.other
    cluster.record(other, "before")
    cluster.mishaps.append(UNANSWERED)
    cluster.record(other, "at its death")
    cluster.kill(number)
    cluster.advance(2_000)
    cluster.record(other, "while it is down")
    assert cluster.trails[other].distress == ""
    assert cluster.trails[other].waiting == 2
    cluster.begin_again(number)
    cluster.advance(2_000)
    cluster.record(other, "after")

    assert cluster.told("topic.created", "first") == ["before", "at its death", "while it is down", "after"]


def test_a_leader_that_stays_away_puts_the_others_in_distress_until_it_is_back(cluster: Audited) -> None:
    number, other = cluster.leader, cluster.other
    cluster.kill(number)
    cluster.record(other, "while it is down")
    cluster.advance(6_000)
    assert "not written after 5 s" in cluster.trails[other].distress
    cluster.begin_again(number)
    cluster.advance(1_000)

    assert cluster.trails[other].distress == ""
    assert cluster.told("topic.created", "first") == ["while it is down"]


def test_a_node_that_starts_again_has_its_events_told_although_they_begin_at_0_again(
    cluster: Audited,
) -> None:
    other = cluster.other
    cluster.record(other, "of the first")
    cluster.kill(other)
    cluster.advance(100)
    cluster.begin_again(other)
    cluster.record(other, "of the second")
    cluster.advance(1_000)

    assert cluster.told("topic.created", "first") == ["of the first", "of the second"]


def test_a_disk_that_takes_nothing_is_told_at_the_node_whose_events_wait(cluster: Audited) -> None:
    other = cluster.other
    cluster.disk.faults.append(failing("write", errno.EIO))
    cluster.record(other, "late")
    assert "KAFKA_STORAGE_ERROR" in cluster.trails[other].distress
    cluster.disk.faults.clear()
    cluster.advance(10_000)

    assert cluster.trails[other].distress == ""
    assert cluster.told("topic.created", "first") == ["late"]
