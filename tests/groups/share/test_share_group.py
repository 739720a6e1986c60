"""The records of a share group make it up, and each can be undone."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from groups.record_keys import GroupEpoch, TargetEpoch
from groups.share.group_records import (
    InitializedTopic,
    ShareCurrent,
    ShareCurrentKey,
    ShareEpochKey,
    ShareGroupKey,
    ShareMember,
    ShareMemberKey,
    ShareStatesKey,
    ShareTargetEpochKey,
    ShareTargetKey,
)
from groups.share.share_group import ShareGroup, ShareGroupState

TOPIC_ID = UUID(int=1)

RECORDS: list[tuple[ShareGroupKey, Any]] = [
    (ShareMemberKey("g", "m"), ShareMember("c", "/h", ("b", "a"))),
    (ShareEpochKey("g"), GroupEpoch(3, 7)),
    (ShareTargetKey("g", "m"), {TOPIC_ID: frozenset({1})}),
    (ShareTargetEpochKey("g"), TargetEpoch(3, 99)),
    (ShareCurrentKey("g", "m"), ShareCurrent(3, 2, {TOPIC_ID: frozenset({1})})),
    (ShareStatesKey("g"), {TOPIC_ID: InitializedTopic("a", frozenset({0, 1}))}),
]


def made() -> ShareGroup:
    group = ShareGroup("g")
    for key, value in RECORDS:
        group.replay(key, value)
    return group


def test_a_group_is_what_its_records_say_and_writes_them_again() -> None:
    assert list(made().records()) == RECORDS


@pytest.mark.parametrize(("key", "value"), RECORDS)
def test_every_record_can_be_undone_and_deleted(key: ShareGroupKey, value: Any) -> None:
    group = ShareGroup("g")
    undo = group.replay(key, value)
    assert not group.is_blank or isinstance(key, ShareTargetEpochKey)
    undo()
    assert group.is_blank
    group = made()
    undo = group.replay(key, None)
    assert list(group.records()) != RECORDS
    undo()
    assert sorted(map(repr, group.records())) == sorted(map(repr, RECORDS))


def test_its_state_follows_from_its_members() -> None:
    assert made().state == ShareGroupState.STABLE
    assert ShareGroup("g").state == ShareGroupState.EMPTY


def test_it_knows_its_topics_and_where_it_has_a_state() -> None:
    group = made()
    assert group.names == {"a": 1, "b": 1}
    group.replay(ShareMemberKey("g", "m"), ShareMember("c", "/h", ("a",)))
    assert group.names == {"a": 1}
    assert group.is_initialized(TOPIC_ID, 1)
    assert not group.is_initialized(TOPIC_ID, 2)
    assert not group.is_initialized(UUID(int=2), 1)
    assert group.current_of("other").epoch == 0
