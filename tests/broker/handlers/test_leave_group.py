"""LeaveGroup: one member or several."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.broker.gateway import Client
from tests.broker.groups import join, joining

SETTINGS = {"kawal_vnodes": 1, "group_initial_rebalance_delay_ms": 0, "kawal_rebalance_interval_ms": 0}
TOPICS = {"t": 4}


def test_a_member_leaves_and_the_next_one_need_not_wait_for_it(client: Client) -> None:
    member_id, generation = join(client, "g")
    assert client.call(LeaveGroupRequest(group_id="g", member_id=member_id), 2).error_code == 0
    assert join(client, "g")[1] > generation


def test_each_of_several_members_has_its_own_answer(client: Client) -> None:
    member_id, _ = join(client, "g")
    names = [MemberIdentity(member_id=member_id), MemberIdentity(member_id="stranger")]
    answer = client.call(LeaveGroupRequest(group_id="g", members=names), 5)
    assert (answer.error_code, [member.error_code for member in answer.members]) == (
        0,
        [0, ErrorCode.UNKNOWN_MEMBER_ID],
    )


def test_an_id_that_was_only_given_out_can_be_given_back(client: Client) -> None:
    member_id = client.call(joining("g"), 4).member_id
    leaving = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=member_id)])
    assert [member.error_code for member in client.call(leaving, 5).members] == [0]


def test_a_group_that_is_not_there_has_no_members(client: Client) -> None:
    answer = client.call(LeaveGroupRequest(group_id="g", member_id="stranger"), 2)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
