"""All groups, from Kawal and from any broker."""

from __future__ import annotations

from typing import Any

import pytest

from console.web import group_list
from console.web.group_list import GroupName, GroupRow, groups_of, progress_of
from console.wire import NotKawal
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse


def closed(*_: Any) -> Any:
    raise NotKawal("closed")


def test_a_broker_that_knows_no_types_is_asked_for_states(monkeypatch: pytest.MonkeyPatch) -> None:
    versions: list[int] = []

    def ask(_: str, __: Any, version: int) -> ListGroupsResponse:
        versions.append(version)
        return ListGroupsResponse(
            groups=[ListedGroup(group_id="g", protocol_type="consumer", group_state="Stable")]
        )

    monkeypatch.setattr(group_list, "ask_server", closed)
    monkeypatch.setattr(group_list, "ask", ask)
    monkeypatch.setattr(group_list, "addresses", lambda bootstrap: [bootstrap])
    assert groups_of("h:1") == [GroupName("g", "", "Stable")]
    assert versions == [4]


def test_each_broker_is_asked_for_its_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(address: str, *_: Any) -> ListGroupsResponse:
        group = ListedGroup(
            group_id=f"of {address}", protocol_type="consumer", group_state="Stable", group_type="Consumer"
        )
        return ListGroupsResponse(groups=[group])

    monkeypatch.setattr(group_list, "ask_server", ask)
    monkeypatch.setattr(group_list, "addresses", lambda _: ["h:2", "h:1"])
    assert [name.group for name in groups_of("h:1")] == ["of h:1", "of h:2"]


def test_another_broker_leaves_members_and_lag_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_list, "ask_server", closed)
    group = GroupName("g", "consumer", "Stable")
    assert progress_of("h:1", [group]) == ([GroupRow("g", "consumer", "Stable", None, None, None)], False)
