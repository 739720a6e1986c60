"""Changes of share groups: all of them, or none."""

from __future__ import annotations

import pytest

from groups.errors import GroupFull
from groups.record_keys import GroupEpoch
from groups.share.group_records import ShareEpochKey, ShareMember, ShareMemberKey, ShareTargetKey
from groups.share.group_table import GroupChanges, member_bytes
from tests.groups.share.members import JOBS, Members

KEY = ShareMemberKey("g", "m1")

MEMBER = ShareMember("c", "/h", ("a",))


def fail_in_the_middle(members: Members) -> None:
    with GroupChanges(members.machine.table, "g") as changes:
        changes.put(KEY, MEMBER)
        changes.put(ShareTargetKey("g", "m1"), {JOBS: frozenset({1})})
        assert members.context.memory.group_bytes("g") > member_bytes(MEMBER)
        raise ZeroDivisionError


def test_an_error_in_the_middle_undoes_everything() -> None:
    members = Members()
    with pytest.raises(ZeroDivisionError):
        fail_in_the_middle(members)
    assert members.machine.table.groups == {}
    assert members.context.memory.group_bytes("g") == 0


def test_a_group_exists_as_long_as_a_record_of_it_does() -> None:
    table = Members().machine.table
    table.replay(ShareEpochKey("g"), GroupEpoch(1, 0))
    assert "g" in table.groups
    table.replay(ShareEpochKey("g"), None)
    assert "g" not in table.groups
    table.replay(ShareEpochKey("g"), None)()
    assert "g" not in table.groups


def test_a_member_that_says_too_much_does_not_fit() -> None:
    members = Members()
    with pytest.raises(GroupFull):
        members.machine.table.check_room(KEY, MEMBER._replace(topics=("x" * 40_000_000,)))
