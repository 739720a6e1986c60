"""DescribeShareGroupOffsets: where groups are, and what they have left."""

from __future__ import annotations

from typing import Any

from protocol.error_codes import ErrorCode
from protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.shares import ACCEPT


def describe(jobs: Jobs, group_id: str, topics: dict[str, list[int]] | None = None) -> Any:
    asked = None
    if topics is not None:
        asked = [
            DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=indexes)
            for name, indexes in topics.items()
        ]
    group = DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=asked)
    (found,) = jobs.gateway.client().call(DescribeShareGroupOffsetsRequest(groups=[group]), 1).groups
    return found


def shown(group: Any) -> list[tuple[str, int, int, int, int]]:
    return [
        (topic.topic_name, part.partition_index, part.start_offset, part.lag, part.error_code)
        for topic in group.topics
        for part in topic.partitions
    ]


def test_start_and_lag_leave_out_what_is_finished() -> None:
    jobs = Jobs(partitions=2)
    member = jobs.member("m1")
    jobs.produce(b"a", b"b", b"c", b"d")
    member.fetch(jobs.place)
    member.acknowledge(jobs.place, (0, 0, [ACCEPT]), (2, 2, [ACCEPT]))
    assert shown(describe(jobs, "g")) == [("jobs", 0, 1, 2, 0), ("jobs", 1, 0, 0, 0)]
    assert shown(describe(jobs, "g", {"jobs": [0]})) == [("jobs", 0, 1, 2, 0)]


def test_a_topic_that_does_not_exist_has_no_state_and_a_partition_that_does_not_is_unknown() -> None:
    jobs = Jobs()
    jobs.member("m1")
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert shown(describe(jobs, "g", {"other": [0], "jobs": [7]})) == [
        ("other", 0, -1, -1, 0),
        ("jobs", 7, -1, -1, missing),
    ]
    for group_id in ("unknown", ""):
        assert (describe(jobs, group_id).error_code, shown(describe(jobs, group_id))) == (0, [])
