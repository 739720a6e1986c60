"""KawalQueues: what members of share groups have, and what became of records."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from broker.handlers.kawal_queues import RANGES_MAX, handle
from broker.security.authorized_operations import Operation
from groups.share.record_range import StoredRange
from groups.share.show import RANGES_PER_STEP
from groups.share.states import RecordState
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_queues import KawalQueuesRequest, QueueGroup
from tests.broker.guarded import ADMIN, ALICE, GROUP, TOPIC
from tests.broker.guarded_shares import GuardedShares
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.kit import batch, create, send
from tests.broker.shares import ACCEPT, REJECT, RELEASE, Member, configure


def shown(jobs: Any, group_id: str = "g", ranges_max: int = 0) -> QueueGroup:
    request = KawalQueuesRequest(group_ids=[group_id], ranges_max=ranges_max)
    (found,) = jobs.gateway.client().call(request, 0).groups
    assert isinstance(found, QueueGroup)
    return found


def test_records_are_shown_by_state_and_members_by_what_they_have() -> None:
    jobs = Jobs()
    first, second = jobs.member("m1"), jobs.member("m2")
    jobs.produce(*(b"%d" % number for number in range(6)))
    first.fetch(jobs.place, max_records=4)
    first.acknowledge(jobs.place, (0, 5, [RELEASE, RELEASE, ACCEPT, REJECT, RELEASE, RELEASE]))
    second.fetch(jobs.place, max_records=1, share_acquire_mode=1)
    jobs.produce(b"more")
    jobs.gateway.advance(2_000)
    group = shown(jobs)
    assert group.error_code == 0
    ((topic,), counters) = group.topics, {item.name: item.value for item in group.counters}
    (row,) = topic.partitions
    assert (topic.topic_name, topic.topic_id) == ("jobs", jobs.topic_id)
    assert (row.start_offset, row.next_offset, row.end_offset) == (0, 6, 7)
    assert (row.acquired, row.available, row.released) == (1, 4, 3)
    assert (row.acknowledged, row.archived) == (1, 1)
    assert [(item.delivery_count, item.records) for item in row.deliveries] == [(1, 3), (2, 1)]
    assert row.oldest_ms >= 2_000
    assert row.ranges == []
    assert {name: value for name, value in counters.items() if value} == {
        "acquired": 7, "redeliveries": 1, "accepted": 1, "released": 4, "rejected": 1, "archived": 1,
    }  # fmt: skip
    members = [(row.member_id, row.status, row.window, row.pending, row.slots) for row in group.members]
    assert members == [("m1", "Running", 4, 0, 4), ("m2", "Running", 1, 1, 0)]
    assert [row.idle_ms for row in group.members] == [2_000, 2_000]


def test_the_first_ranges_that_are_not_finished_are_shown_with_their_locks() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a", b"b", b"c", b"d")
    member.fetch(jobs.place)
    member.acknowledge(jobs.place, (1, 3, [ACCEPT, RELEASE, RELEASE]))
    jobs.gateway.advance(1_000)
    (row,) = shown(jobs, ranges_max=5).topics[0].partitions
    found = [
        (item.first_offset, item.last_offset, item.state, item.delivery_count, item.member_id, item.lock_ms)
        for item in row.ranges
    ]
    assert found == [(0, 0, 1, 1, "m1", 29_000), (2, 3, 0, 1, "", 0)]
    (row,) = shown(jobs, ranges_max=1).topics[0].partitions
    assert [item.first_offset for item in row.ranges] == [0]
    assert shown(jobs, ranges_max=-5).topics[0].partitions[0].ranges == []


def test_what_is_shown_is_not_acquired() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a")
    shown(jobs, ranges_max=9)
    assert shown(jobs, ranges_max=9).topics[0].partitions[0].acquired == 0
    assert member.fetch(jobs.place).responses[0].partitions[0].acquired_records[0].delivery_count == 1


def test_members_that_leave_are_leaving_and_then_gone_with_or_without_records() -> None:
    jobs = Jobs()
    lost, done = jobs.member("lost"), jobs.member("done")
    jobs.produce(b"a", b"b")
    lost.fetch(jobs.place, max_records=1, share_acquire_mode=1)
    done.fetch(jobs.place)
    done.acknowledge(jobs.place, (1, 1, [ACCEPT]), epoch=-1)
    lost.client.close()
    jobs.gateway.settle()
    assert {row.member_id: row.status for row in shown(jobs).members} == {
        "lost": "Leaving",
        "done": "Leaving",
    }
    done.beat(epoch=-1)
    jobs.gateway.advance(46_000)
    assert {row.member_id: row.status for row in shown(jobs).members} == {"lost": "Exit", "done": "Complete"}
    jobs.gateway.advance(600_000)
    assert shown(jobs).members == []


def test_a_group_that_does_not_exist_or_is_no_share_group_has_an_error() -> None:
    jobs = Jobs()
    assert shown(jobs, "other").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    answer = jobs.gateway.client().call(KawalQueuesRequest(group_ids=["x", "x", "y"]), 0)
    assert [group.group_id for group in answer.groups] == ["x", "y"]


def test_all_groups_are_shown_but_those_and_the_topics_that_may_not_be_seen() -> None:
    guarded = GuardedShares()
    for group in ("g", "h"):
        Member(guarded, "m", "open", "shut", group=group, client=guarded.of(ADMIN))
    guarded.deny(Operation.DESCRIBE, TOPIC, "shut")
    (found,) = guarded.of(ALICE).call(KawalQueuesRequest(), 0).groups
    assert (found.group_id, [topic.topic_name for topic in found.topics]) == ("g", ["open"])
    denied = guarded.of(ALICE).call(KawalQueuesRequest(group_ids=["g", "h"]), 0).groups
    assert {group.group_id: group.error_code for group in denied} == {
        "g": 0,
        "h": ErrorCode.GROUP_AUTHORIZATION_FAILED,
    }
    guarded.allow(Operation.DESCRIBE, GROUP, "h")
    assert len(guarded.of(ALICE).call(KawalQueuesRequest(), 0).groups) == 2


def test_a_group_that_reads_committed_and_all_its_topics() -> None:
    jobs = Jobs()
    configure(jobs.gateway, share_isolation_level="read_committed")
    create(jobs.gateway.client(), "other")
    jobs.member("m1").beat("jobs", "other")
    send(jobs.gateway.client(), "other", batch(b"a"))
    found = shown(jobs)
    assert found.read_committed
    assert {topic.topic_name for topic in found.topics} == {"jobs", "other"}


def test_an_answer_has_a_bounded_number_of_ranges() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a", b"b", b"c")
    member.fetch(jobs.place)
    member.acknowledge(jobs.place, (1, 1, [ACCEPT]))
    (row,) = shown(jobs, ranges_max=RANGES_MAX * 10).topics[0].partitions
    assert len(row.ranges) == 2


def test_a_group_with_very_many_ranges_is_shown_in_many_steps() -> None:
    jobs = Jobs(partitions=4)
    jobs.member("m1")
    broker, count = jobs.gateway.broker, 10 * RANGES_PER_STEP
    with broker.coordinators.shares.step(jobs.gateway.now_ms) as machine:
        for key in machine.keys_of("g"):
            states = (RecordState.ACKNOWLEDGED, RecordState.AVAILABLE)
            stored = [StoredRange(number, number, states[number % 2], 1) for number in range(1, count)]
            share = machine.find(key)
            assert share is not None
            share.replay(0, stored)
    client = SimpleNamespace(from_peer=False)
    call: Any = SimpleNamespace(request=KawalQueuesRequest(ranges_max=9), rights=None, connection=client)
    assert len(list(handle(broker, call))) >= 4 * 9
    (topic,) = shown(jobs).topics
    assert [row.available for row in topic.partitions] == [count // 2 + 1] * 4
