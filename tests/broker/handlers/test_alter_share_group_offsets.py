"""AlterShareGroupOffsets: groups that go on elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from broker.loop.call import Call
from protocol.error_codes import ErrorCode
from protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.shares import ACCEPT, Member, acquired


def alter(jobs: Jobs, offsets: dict[tuple[str, int], int], group_id: str = "g") -> Any:
    topics = [
        AlterShareGroupOffsetsRequestTopic(
            topic_name=name,
            partitions=[AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=offset)],
        )
        for (name, index), offset in offsets.items()
    ]
    return jobs.gateway.client().call(AlterShareGroupOffsetsRequest(group_id=group_id, topics=topics), 0)


def test_an_empty_group_goes_on_where_it_is_told_also_after_a_crash() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a", b"b", b"c")
    member.fetch(jobs.place)
    member.acknowledge(jobs.place, (0, 2, [ACCEPT]), epoch=-1)
    member.beat(epoch=-1)
    answer = alter(jobs, {("jobs", 0): 1, ("other", 0): 1, ("jobs", 9): 1})
    codes = [partition.error_code for topic in answer.responses for partition in topic.partitions]
    assert codes == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    jobs.gateway.crash()
    jobs.gateway.tick()
    jobs.gateway.settle()
    assert acquired(jobs.member("m2").fetch(jobs.place)) == [(1, 2, 1)]


def test_a_group_with_members_and_one_without_a_name_stay() -> None:
    jobs = Jobs()
    jobs.member("m1")
    assert alter(jobs, {("jobs", 0): 0}).error_code == ErrorCode.NON_EMPTY_GROUP
    assert alter(jobs, {("jobs", 0): 0}, "").error_code == ErrorCode.INVALID_GROUP_ID


def test_a_group_that_does_not_exist_is_made() -> None:
    jobs = Jobs()
    jobs.produce(b"a", b"b")
    assert alter(jobs, {("jobs", 0): 1}, "new").error_code == 0
    member = Member(jobs.gateway, "m1", "jobs", group="new")
    assert acquired(member.fetch(jobs.place)) == [(1, 1, 1)]


def test_a_wide_answer_is_encoded_by_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the event loop, that of 100,000 partitions took 28 ms."""
    jobs = Jobs()
    monkeypatch.setattr(Call, "reply", lambda *_: pytest.fail("the answer is encoded on the event loop"))
    answer = alter(jobs, {("jobs", index): 0 for index in range(9, 2_000)})
    assert {topic.partitions[0].error_code for topic in answer.responses} == {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    }
    assert len(answer.responses) == 1_991
