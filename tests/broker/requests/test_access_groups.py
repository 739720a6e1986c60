"""Requests about groups: what a client may not see of them is refused, or left out."""

from __future__ import annotations

from broker.security.authorized_operations import Operation
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.broker.groups import beating, codes, commit, committing
from tests.broker.guarded import ALICE, CLUSTER, GROUP, TOPIC, Guarded
from tests.broker.kit import create

GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def guarded_groups() -> Guarded:
    guarded = Guarded()
    for name in ("a", "b"):
        create(guarded.admin, name)
    for name in ("a", "b"):
        commit(guarded.admin, f"g{name}", ("a", 0, 1), ("b", 0, 2))
    return guarded


def test_groups_are_listed_that_may_be_seen() -> None:
    guarded = guarded_groups()
    listing = ListGroupsRequest()
    assert guarded.of(ALICE).call(listing, 4).groups == []
    guarded.allow(Operation.READ, GROUP, "ga")
    assert [group.group_id for group in guarded.of(ALICE).call(listing, 4).groups] == ["ga"]
    guarded.allow(Operation.DESCRIBE, CLUSTER)
    assert len(guarded.of(ALICE).call(listing, 4).groups) == 2


def test_offsets_of_topics_that_may_not_be_seen_are_left_out() -> None:
    guarded = guarded_groups()
    guarded.allow(Operation.DESCRIBE, GROUP, "ga")
    guarded.allow(Operation.READ, TOPIC, "a")
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=name, topics=None) for name in ("ga", "gb")]
    )
    mine, other = guarded.of(ALICE).call(request, 8).groups
    assert [topic.name for topic in mine.topics] == ["a"]
    assert (other.group_id, other.error_code) == ("gb", GROUP_DENIED)


def test_offsets_are_committed_for_the_topics_that_may_be_read() -> None:
    guarded = guarded_groups()
    guarded.allow(Operation.READ, GROUP, "ga")
    guarded.allow(Operation.READ, TOPIC, "b")
    answer = guarded.of(ALICE).call(committing("ga", ("a", 0, 5), ("b", 0, 6)), 8)
    assert sorted(codes(answer)) == [0, TOPIC_DENIED]


def test_a_group_is_described_with_the_operations_that_are_allowed() -> None:
    guarded = guarded_groups()
    guarded.allow(Operation.READ, GROUP, "ga")
    request = DescribeGroupsRequest(groups=["ga", "gb"], include_authorized_operations=True)
    mine, other = guarded.of(ALICE).call(request, 5).groups
    assert mine.authorized_operations == 1 << Operation.READ | 1 << Operation.DESCRIBE
    assert (other.group_id, other.error_code) == ("gb", GROUP_DENIED)


def test_a_group_with_a_hidden_topic_is_not_described() -> None:
    guarded = guarded_groups()
    guarded.admin.call(beating("new", "m", topics=["a", "b"]), 1)
    guarded.advance(5_000)
    guarded.admin.call(beating("new", "m", 1), 1)
    guarded.allow(Operation.DESCRIBE, GROUP, "new")
    guarded.allow(Operation.DESCRIBE, TOPIC, "a")
    request = ConsumerGroupDescribeRequest(group_ids=["new"], include_authorized_operations=False)
    (group,) = guarded.of(ALICE).call(request, 1).groups
    assert (group.error_code, group.members) == (TOPIC_DENIED, [])
    guarded.allow(Operation.DESCRIBE, TOPIC, "b")
    (group,) = guarded.of(ALICE).call(request, 1).groups
    assert (group.error_code, len(group.members)) == (0, 1)


def test_a_pattern_matches_only_what_may_be_seen_also_among_later_topics() -> None:
    guarded = guarded_groups()
    guarded.allow(Operation.READ, GROUP, "new")
    guarded.allow(Operation.DESCRIBE, TOPIC, "a")
    alice = guarded.of(ALICE)
    alice.send(beating("new", "m", regex=".*"), 1)
    guarded.settle()
    guarded.advance(5_000)
    create(guarded.admin, "later")
    guarded.advance(5_000)
    request = ConsumerGroupDescribeRequest(group_ids=["new"], include_authorized_operations=False)
    (group,) = guarded.admin.call(request, 1).groups
    seen = {topic.topic_name for topic in group.members[0].target_assignment.topic_partitions}
    assert seen == {"a"}
