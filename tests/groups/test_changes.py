"""Tests of groups/changes.py: an operation happens as a whole, or not at all."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from groups.changes import Changes, nobody, nothing
from groups.consumer_member import MemberAssignment, MemberMetadata
from groups.context import Context
from groups.record_keys import CurrentKey, GroupEpoch, GroupEpochKey, MemberKey, OffsetKey
from tests.groups.driver import Driver

METADATA = MemberMetadata(client_id="c", client_host="/h", topics=("t",))
T = UUID(int=1)


@pytest.fixture
def context() -> Context:
    return Driver().coordinator._context


def has(*indexes: int) -> MemberAssignment:
    return MemberAssignment(epoch=1, assigned={T: dict.fromkeys(indexes, 1)})


def test_changes_are_seen_as_they_are_made(context: Context) -> None:
    with Changes(context, "g") as changes:
        changes.put(MemberKey("g", "m"), METADATA)
        changes.put(GroupEpochKey("g"), GroupEpoch(3, 4))
        group = context.consumer("g")
        assert group is not None
        assert (group.epoch, group.metadata) == (3, {"m": METADATA})
        changes.commit(nothing, nobody)
    assert context.consumer("g") is group


def test_an_exception_takes_everything_back(context: Context) -> None:
    def fail() -> None:
        with Changes(context, "g") as changes:
            changes.put(MemberKey("g", "m"), METADATA)
            changes.offset(OffsetKey("g", "t", 0), b"\0\3value")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert context.groups == {}
    assert context.offsets.keys("g") == set()
    assert context.journal.take() == []


def test_without_commit_nothing_has_happened(context: Context) -> None:
    with Changes(context, "g") as changes:
        changes.put(MemberKey("g", "m"), METADATA)
    assert context.groups == {}


def test_everything_is_one_batch(context: Context) -> None:
    with Changes(context, "g") as changes:
        changes.put(MemberKey("g", "m"), METADATA)
        changes.put(CurrentKey("g", "m"), has(0))
        changes.commit(nothing, nobody)
    [effects] = context.journal.take()
    assert effects.partition == context.partition("g")
    assert len(effects.records) == 2


def test_an_operation_without_records_is_answered_at_once(context: Context) -> None:
    seen: list[Any] = []
    with Changes(context, "g") as changes:
        changes.commit(lambda: seen.append("answered"), seen.append)
    assert seen == ["answered"]


def test_a_partition_cannot_be_given_to_two_members(context: Context) -> None:
    with Changes(context, "g") as changes:
        changes.put(CurrentKey("g", "a"), has(0, 1))
        with pytest.raises(AssertionError, match=r"which other members have, given to 'b'"):
            changes.put(CurrentKey("g", "b"), has(1, 2))
        changes.put(CurrentKey("g", "a"), has(0))
        changes.put(CurrentKey("g", "b"), has(1, 2))
        changes.put(CurrentKey("g", "b"), None)
        changes.put(CurrentKey("g", "a"), has(0, 2))
