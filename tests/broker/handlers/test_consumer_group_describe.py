"""ConsumerGroupDescribe: current and target assignments."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tests.broker.gateway import Client
from tests.broker.groups import beating, join

SETTINGS = {"kawal_vnodes": 1, "group_initial_rebalance_delay_ms": 0, "kawal_rebalance_interval_ms": 0}
TOPICS = {"t": 4}


def describing(*names: str, operations: bool = False) -> ConsumerGroupDescribeRequest:
    return ConsumerGroupDescribeRequest(group_ids=list(names), include_authorized_operations=operations)


def test_a_group_is_shown_with_members_and_assignments(client: Client) -> None:
    joined = client.call(beating("g", "a", topics=["t"]), 1)
    (group,) = client.call(describing("g", operations=True), 1).groups
    assert (group.group_state, group.assignor_name) == ("Stable", "tdengine")
    assert (group.group_epoch, group.authorized_operations) == (joined.member_epoch, 3400)
    (member,) = group.members
    assert (member.member_id, member.member_type, member.subscribed_topic_names) == ("a", 1, ["t"])
    for assignment in (member.assignment, member.target_assignment):
        assert [(assigned.topic_name, assigned.partitions) for assigned in assignment.topic_partitions] == [
            ("t", [0, 1, 2, 3])
        ]


def test_classic_groups_and_strangers_are_not_found(client: Client) -> None:
    join(client, "classic")
    groups = client.call(describing("classic", "unknown"), 1).groups
    assert [group.error_code for group in groups] == [ErrorCode.GROUP_ID_NOT_FOUND] * 2
    assert groups[0].error_message == "Group classic is not a consumer group."
