"""Share groups as seen from outside."""

from __future__ import annotations

import pytest

from groups.share.describe import describe_share_groups, list_share_groups
from protocol.error_codes import ErrorCode
from protocol.messages.share_group_describe import DescribedGroup, ShareGroupDescribeRequest
from tests.groups.kit import in_one_go
from tests.groups.share.members import JOBS, Members


def describe(members: Members, *group_ids: str) -> list[DescribedGroup]:
    request = ShareGroupDescribeRequest(group_ids=list(group_ids), include_authorized_operations=False)
    return in_one_go(describe_share_groups(members.machine.table, request)).groups


def test_a_group_is_shown_with_its_members_and_what_they_have() -> None:
    members = Members()
    members.join("m1")
    (group,) = describe(members, "g")
    assert (group.error_code, group.group_state, group.assignor_name) == (0, "Stable", "simple")
    assert (group.group_epoch, group.assignment_epoch) == (2, 2)
    (member,) = group.members
    assert (member.member_id, member.member_epoch, member.client_host) == ("m1", 2, "/127.0.0.1")
    assert member.subscribed_topic_names == ["jobs"]
    (topic,) = member.assignment.topic_partitions
    assert (topic.topic_id, topic.topic_name, topic.partitions) == (JOBS, "jobs", [0, 1, 2, 3])


def test_a_deleted_topic_is_not_shown() -> None:
    members = Members()
    members.join("m1")
    members.topics.by_id.clear()
    (group,) = describe(members, "g")
    assert group.members[0].assignment.topic_partitions == []


def test_groups_that_cannot_be_shown_have_their_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    members = Members()
    members.join("m1")
    codes = [group.error_code for group in describe(members, "", "none", "g")]
    assert codes == [ErrorCode.INVALID_GROUP_ID, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.NONE]
    monkeypatch.setattr(type(members.context), "exists", lambda *_: True)
    (other,) = describe(members, "other")
    assert other.error_message == "Group other is not a share group."
    members.context.loaded.clear()
    assert describe(members, "g")[0].error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_groups_are_listed_with_their_type_and_state() -> None:
    members = Members()
    members.join("m1")
    (listed,) = list_share_groups(members.machine.table)
    assert (listed.group_id, listed.group_type, listed.group_state) == ("g", "share", "Stable")
    assert listed.protocol_type == "share"
    members.beat("m1", -1)
    (listed,) = list_share_groups(members.machine.table)
    assert listed.group_state == "Empty"
