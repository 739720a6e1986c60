"""The members of each client are known, and those that have changed since code that follows it has looked."""

from __future__ import annotations

import pytest

from groups import clients
from groups.clients import ClientIndex

APP, OTHER = ("/127.0.0.1", "app"), ("/127.0.0.1", "other")


def groups_of(index: ClientIndex) -> dict[str, list[str]]:
    return {group_id: list(members) for group_id, members in index.groups_of(APP).items()}


def test_a_client_has_the_members_that_have_joined_and_not_left() -> None:
    index = ClientIndex()
    index.put(APP, "g", "a")
    index.put(APP, "g", "b")
    index.put(APP, "h", "a")
    index.put(OTHER, "g", "c")
    assert groups_of(index) == {"g": ["a", "b"], "h": ["a"]}
    assert list(index.members_of(APP)) == [("g", "a"), ("g", "b"), ("h", "a")]
    index.drop(APP, "g", "a")
    index.drop(APP, "h", "a")
    assert groups_of(index) == {"g": ["b"]}
    assert (index.has(APP, ("g", "b")), index.has(APP, ("g", "c"))) == (True, False)
    index.drop(APP, "g", "b")
    index.drop(OTHER, "g", "c")
    assert not index._clients, "nothing is kept of clients without members"


def test_what_has_changed_since_it_was_taken_is_told_once() -> None:
    index = ClientIndex()
    index.put(APP, "g", "a")
    assert index.has_changed(APP), "it is not watched"
    index.watch(APP)
    assert (index.has_changed(APP), index.take(APP)) == (False, set())
    index.changed(APP, "g", "a")
    index.put(APP, "h", "b")
    index.put(OTHER, "g", "c")
    assert index.has_changed(APP)
    assert index.take(APP) == {("g", "a"), ("h", "b")}
    index.drop(APP, "g", "a")
    assert index.take(APP) == {("g", "a")}
    assert not index.has_changed(APP)
    index.unwatch(APP)
    assert not index.watches(APP)


def test_a_group_is_dropped_with_all_members_of_a_client() -> None:
    index = ClientIndex()
    for member_id in "ab":
        index.put(APP, "g", member_id)
    index.put(APP, "h", "a")
    index.watch(APP)
    for _ in range(2):
        index.drop_group(APP, "g")
    assert groups_of(index) == {"h": ["a"]}
    assert index.take(APP) == {("g", "a"), ("g", "b")}
    index.drop_group(APP, "h")
    index.drop_group(OTHER, "g")
    assert not index._clients


def test_members_that_leave_while_they_are_gone_through_are_left_out() -> None:
    index = ClientIndex()
    for group_id in "gh":
        for member_id in "ab":
            index.put(APP, group_id, member_id)
    members = index.members_of(APP)
    assert next(members) == ("g", "a")
    index.drop(APP, "h", "a")
    index.drop(APP, "h", "b")
    assert list(members) == [("g", "b")]


def test_of_too_many_changes_none_are_kept_and_all_clients_are_watched_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clients, "CHANGES_MAX", 10)
    index = ClientIndex()
    index.watch(APP)
    index.watch(OTHER)
    for number in range(5):
        index.put(APP, "g", f"{number}")
        index.put(OTHER, "g", f"other {number}")
        index.changed(APP, "g", f"{number}")
    assert len(index.take(APP)) == 5
    index.watch(OTHER)
    for number in range(10):
        index.put(APP, "g", f"{number}")
    assert index.watches(APP)
    index.put(OTHER, "g", "one more")
    assert [index.watches(key) for key in (APP, OTHER)] == [False, False]
    assert index._untaken == 0
