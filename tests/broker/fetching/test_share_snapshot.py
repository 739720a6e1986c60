"""A snapshot of share groups has their counters and records under way, and is bounded."""

from __future__ import annotations

from dataclasses import replace

from broker.fetching.share_snapshot import ShareSnapshot
from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.shares import ACCEPT, Member


def taken(jobs: Jobs) -> tuple[ShareSnapshot, int]:
    """Return a snapshot and the number of pauses while it was made."""
    snapshot, gateway = ShareSnapshot(), jobs.gateway
    broker = gateway.broker
    steps = snapshot.steps(broker, broker.groups, broker.coordinators.shares, broker.clock, gateway.now_ms)
    return snapshot, len(list(steps))


def test_groups_are_told_with_records_under_way_and_counters() -> None:
    jobs = Jobs(partitions=2)
    member = jobs.member("m1")
    jobs.produce(b"a", b"b", b"c")
    jobs.produce(b"d", index=1)
    member.fetch(jobs.place)
    member.acknowledge(jobs.place, (0, 0, [ACCEPT]))
    jobs.gateway.advance(4_000)
    snapshot, _ = taken(jobs)
    (state,) = snapshot.groups
    assert (state.group, state.members, state.under_way) == ("g", 1, 2)
    assert state.oldest_ms >= 4_000
    assert {name: value for name, value in state.counters.items() if value} == {"acquired": 3, "accepted": 1}


def test_groups_are_bounded_and_those_left_out_counted() -> None:
    jobs = Jobs(partitions=3)
    for number in range(12):
        Member(jobs.gateway, "m", "jobs", group=f"g{number:02}")
    snapshot, pauses = taken(jobs)
    assert (len(snapshot.groups), snapshot.left_out) == (12, 0)
    assert pauses == 12 * (3 + 1) // 10
    broker = jobs.gateway.broker
    broker.config = replace(broker.config, kawal_metrics_share_groups_max=5)
    snapshot, _ = taken(jobs)
    assert ([state.group for state in snapshot.groups][-1], snapshot.left_out) == ("g04", 7)


def test_a_group_whose_topic_was_deleted_has_no_age() -> None:
    jobs = Jobs()
    jobs.member("m1")
    jobs.produce(b"a")
    jobs.gateway.client().call(DeleteTopicsRequest(topic_names=["jobs"], timeout_ms=1), 5)
    snapshot, _ = taken(jobs)
    assert [(state.under_way, state.oldest_ms) for state in snapshot.groups] == [(0, -1)]
