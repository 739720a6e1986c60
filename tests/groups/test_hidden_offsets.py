"""Tests of groups/hidden_offsets.py."""

from __future__ import annotations

from groups.hidden_offsets import HiddenOffsets


def test_parts_are_taken_until_nothing_is_left() -> None:
    hidden = HiddenOffsets("g", "t", {0: b"a", 1: b"b", 2: b"c"}, {3: b"d", 4: b"e"})
    parts = [hidden.take(2) for _ in range(3)]
    assert [len(part) for part in parts] == [2, 2, 1]
    assert len(hidden) == 0
    found: dict[int, bytes] = {}
    for part in parts:
        found |= part.values | part.on_their_way
    assert found == {0: b"a", 1: b"b", 2: b"c", 3: b"d", 4: b"e"}


def test_what_was_on_its_way_stays_apart() -> None:
    part = HiddenOffsets("g", "t", {0: b"a"}, {1: b"b"}).take(9)
    assert (part.group_id, part.topic, part.values, part.on_their_way) == ("g", "t", {0: b"a"}, {1: b"b"})
