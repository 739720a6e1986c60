"""The progress of a node's own groups: watched from the first question on, told in parts."""

from __future__ import annotations

from typing import Any

import pytest

from groups import offset_changes
from protocol.messages.kawal_progress import KawalProgressRequest
from tests.broker.groups import beating
from tests.broker.kit import create
from tests.broker.upkeep.holding_nodes import Holding


def asked(nodes: Holding, **more: Any) -> Any:
    request = KawalProgressRequest(node_id=nodes.leader, catalogue_version=0, **more)
    return nodes.ask(nodes.coordinator, request, 0)


def all_told(nodes: Holding) -> tuple[dict[tuple[str, int], int], int]:
    """Return all offsets that a node is told from the beginning, and in how many parts."""
    found: dict[tuple[str, int], int] = {}
    life, after, parts = -1, 0, 0
    while True:
        answer = asked(nodes, life=life, after=after)
        assert not answer.error_code
        life, after, parts = answer.life, answer.next_after, parts + 1
        for told in answer.progress:
            found |= {
                (told.topic, index): offset
                for index, offset in zip(told.partitions, told.offsets, strict=True)
            }
        if not answer.has_more:
            return found, parts


def test_groups_without_holds_are_not_told() -> None:
    nodes = Holding()
    nodes.commit(1)
    assert (asked(nodes).groups, asked(nodes).progress) == ([], [])


def test_many_offsets_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_changes, "CHUNK", 10)
    monkeypatch.setattr(offset_changes, "WEIGHT_AT_ONCE", 40)
    nodes = Holding()
    create(nodes[0].client(), "wide", 200)
    nodes.settle()
    nodes.hold(important="true")
    for index in range(200):
        nodes.commit(index, index, "wide")
    found, parts = all_told(nodes)
    own = [index for index in range(200) if nodes.leader_of(index, "wide") == nodes.leader]
    assert found == {("wide", index): index for index in own}
    assert parts == 6, "the group itself comes last"


def test_topics_that_a_member_subscribes_to_are_told_when_they_change() -> None:
    nodes = Holding()
    nodes.hold(important="true")
    first = asked(nodes)
    assert [group.topics for group in first.groups] == [[]]
    nodes.client_of_group().call(beating(nodes.group, "m", topics=["t"]), 1)
    second = asked(nodes, life=first.life, after=first.next_after)
    assert [group.topics for group in second.groups] == [["t"]]
    assert asked(nodes, life=first.life, after=second.next_after).groups == []


def test_a_group_that_holds_no_more_begins_another_life() -> None:
    nodes = Holding()
    nodes.hold(important="true")
    nodes.commit(1)
    first = asked(nodes)
    nodes.hold(important="false")
    second = asked(nodes, life=first.life, after=first.next_after)
    assert second.life != first.life
    assert (second.groups, second.progress) == ([], [])
    nodes.hold(important="true")
    third = asked(nodes, life=second.life, after=second.next_after)
    assert [group.group_id for group in third.groups] == ["g"]
    assert [told.offsets for told in third.progress] == [[1]]


def test_the_offsets_that_are_watched_count_in_the_memory_of_offsets() -> None:
    nodes = Holding()
    nodes.hold(important="true")
    nodes.commit(1)
    groups = nodes[nodes.coordinator].broker.groups
    before = groups.offset_room.size_bytes
    asked(nodes)
    assert groups.offset_room.size_bytes > before
