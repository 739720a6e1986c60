"""ShareGroupHeartbeat: joining, following, leaving."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from tests.broker.config.test_share_keys import Configured
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.shares import ACCEPT, RELEASE, Member, acquired, configure, outcome

MINUTE_MS = 60_000


def test_a_member_joins_and_leaves() -> None:
    jobs = Jobs(partitions=3)
    member = Member(jobs.gateway, "m1")
    answer = member.beat("jobs")
    assert (answer.error_code, answer.member_id, answer.heartbeat_interval_ms) == (0, "m1", 5_000)
    assert answer.assignment is not None
    (topic,) = answer.assignment.topic_partitions
    assert (topic.topic_id, topic.partitions) == (jobs.topic_id, [0, 1, 2])
    assert member.beat().assignment is None
    assert member.beat(epoch=-1).member_epoch == -1


def test_a_member_is_told_the_settings_of_its_group() -> None:
    jobs = Jobs(share_heartbeat_interval_ms="7000")
    assert Member(jobs.gateway, "m1").beat("jobs").heartbeat_interval_ms == 7_000


def test_errors_are_kafkas() -> None:
    jobs = Jobs()
    member = Member(jobs.gateway, "m1")
    assert member.beat(epoch=3).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert member.beat().error_code == ErrorCode.INVALID_REQUEST
    assert Member(jobs.gateway, "x" * 37).beat("jobs").error_code == ErrorCode.INVALID_REQUEST
    member.beat("jobs")
    assert member.beat(epoch=99).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert Member(jobs.gateway, "m2").beat(epoch=1).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_without_members_stays_until_it_is_deleted() -> None:
    jobs = Configured(offsets_retention_minutes=1)
    member = jobs.member("m1")
    jobs.produce(b"a", b"b")
    member.fetch(jobs.place)
    member.acknowledge(jobs.place, (0, 0, [ACCEPT]))
    member.fetch(epoch=-1)
    member.beat(epoch=-1)
    jobs.gateway.advance(30 * MINUTE_MS)
    jobs.gateway.restart()
    jobs.gateway.settle()
    assert acquired(Member(jobs.gateway, "m2", "jobs").fetch(jobs.place)) == [(1, 1, 2)]


def test_a_name_is_another_member_in_another_group_and_each_group_is_given_everything() -> None:
    jobs = Jobs()
    jobs.produce(b"a", b"b")
    configure(jobs.gateway, "other", share_auto_offset_reset="earliest")
    members = [Member(jobs.gateway, "m1", "jobs", group=group) for group in ("g", "other")]
    assert [acquired(member.fetch(jobs.place)) for member in members] == [[(0, 1, 1)]] * 2
    assert outcome(members[0].acknowledge(jobs.place, (0, 1, [ACCEPT]))) == [0]
    assert outcome(members[1].acknowledge(jobs.place, (0, 1, [RELEASE]))) == [0]
    assert [acquired(member.fetch()) for member in members] == [[], [(0, 1, 2)]]


def test_a_name_that_joins_its_group_again_is_the_same_member() -> None:
    jobs = Jobs()
    Member(jobs.gateway, "m1", "jobs")
    Member(jobs.gateway, "m1", "jobs")
    with jobs.gateway.broker.groups.step(jobs.gateway.now_ms) as coordinator:
        assert list(coordinator.share(jobs.gateway.now_ms).groups["g"].members) == ["m1"]


def test_there_are_any_number_of_groups_and_those_without_members_are_not_looked_at() -> None:
    jobs = Jobs()
    with jobs.gateway.broker.groups.step(jobs.gateway.now_ms) as coordinator:
        before_ms = coordinator.next_deadline()
    for number in range(300):
        member = Member(jobs.gateway, "m1", "jobs", group=f"g{number}")
        member.beat(epoch=-1)
        member.client.close()
    jobs.gateway.settle()
    with jobs.gateway.broker.groups.step(jobs.gateway.now_ms) as coordinator:
        assert len(coordinator.share(jobs.gateway.now_ms).groups) == 300
        assert coordinator.next_deadline() == before_ms
