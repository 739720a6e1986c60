"""DescribeGroups: state, members and assignments of classic groups."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from protocol.messages.describe_groups import NOT_REQUESTED, DescribeGroupsRequest
from tests.broker.gateway import Client
from tests.broker.groups import commit, join

SETTINGS = {"kawal_vnodes": 1, "group_initial_rebalance_delay_ms": 0, "kawal_rebalance_interval_ms": 0}
TOPICS = {"t": 4}


def test_a_group_is_shown_with_its_members(client: Client) -> None:
    member_id, _ = join(client, "g")
    (group,) = client.call(DescribeGroupsRequest(groups=["g"]), 6).groups
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    (member,) = group.members
    assert (member.member_id, member.client_id, member.client_host) == (member_id, "test", "/10.0.0.9")
    assert member.member_assignment == b"mine"
    assert group.authorized_operations == NOT_REQUESTED


def test_operations_are_told_when_asked_for(client: Client) -> None:
    commit(client, "g", ("t", 0, 1))
    request = DescribeGroupsRequest(groups=["g", "unknown"], include_authorized_operations=True)
    known, unknown = client.call(request, 6).groups
    assert (known.group_state, known.authorized_operations) == ("Empty", 3400)
    assert unknown.authorized_operations == NOT_REQUESTED


def test_a_group_that_is_not_there_is_dead_and_from_v6_on_an_error(client: Client) -> None:
    for version, code in ((5, 0), (6, ErrorCode.GROUP_ID_NOT_FOUND)):
        (group,) = client.call(DescribeGroupsRequest(groups=["g"]), version).groups
        assert (group.group_state, group.error_code) == ("Dead", code)
