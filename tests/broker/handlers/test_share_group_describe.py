"""ShareGroupDescribe: groups with their members."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from protocol.messages.share_group_describe import NOT_REQUESTED, ShareGroupDescribeRequest
from tests.broker.handlers.test_share_fetch import Jobs


def test_a_group_is_shown_with_its_members() -> None:
    jobs = Jobs()
    jobs.member("m1")
    request = ShareGroupDescribeRequest(group_ids=["g", "other"], include_authorized_operations=True)
    found, missing = jobs.gateway.client().call(request, 1).groups
    assert (found.group_state, found.assignor_name, found.authorized_operations) == ("Stable", "simple", 3400)
    assert [member.member_id for member in found.members] == ["m1"]
    assert missing.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert missing.authorized_operations == NOT_REQUESTED
