"""Tests of groups/classic_answers.py: what members are told that have joined or ask for their assignment."""

from __future__ import annotations

from groups.classic_answers import assigned, joined, members_for_leader
from tests.groups.classic import FIRST_HALF, group_of, two_members
from tests.groups.driver import Driver


def test_only_the_leader_is_told_of_the_other_members(driver: Driver) -> None:
    leader, follower = two_members(driver)
    group = group_of(driver)
    assert {entry.member_id for entry in joined(group, group.members[leader]).members} == {leader, follower}
    assert joined(group, group.members[follower]).members == []
    assert joined(group, group.members[follower]).leader == leader


def test_of_a_group_that_the_server_assigns_no_member_leads(driver: Driver) -> None:
    leader, _ = two_members(driver)
    group = group_of(driver)
    group.server_assigned = True
    answer = joined(group, group.members[leader])
    assert (answer.leader, answer.members) == ("", [])


def test_the_leader_gets_each_members_metadata_for_the_chosen_protocol(driver: Driver) -> None:
    two_members(driver)
    group = group_of(driver)
    told = {entry.member_id: entry.metadata for entry in members_for_leader(group)}
    assert told == {member_id: member.metadata(group.protocol) for member_id, member in group.members.items()}


def test_a_member_is_told_its_assignment_and_what_the_group_speaks(driver: Driver) -> None:
    leader, _ = two_members(driver)
    group = group_of(driver)
    answer = assigned(group, group.members[leader])
    assert (answer.assignment, answer.protocol_type) == (FIRST_HALF, "consumer")
