"""Tests of groups/hidden_offsets.py."""

from __future__ import annotations

from groups.hidden_offsets import HiddenOffsets, SetAside
from groups.record_keys import OffsetKey


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


def test_what_is_set_aside_is_found_by_partition_and_one_takes_the_place_of_another() -> None:
    aside = SetAside()
    assert aside.put(3, OffsetKey("g", "t", 0), b"a") is None
    assert aside.put(3, OffsetKey("g", "t", 0), b"b") == b"a"
    aside.add(3, HiddenOffsets("g", "t", {1: b"c"}, {}))
    aside.put(4, OffsetKey("h", "t", 0), b"d")
    (part,) = aside.take(3)
    assert (part.group_id, part.topic, part.values) == ("g", "t", {0: b"b", 1: b"c"})
    assert not list(aside.take(3))
    assert [part.values for part in aside.take(4)] == [{0: b"d"}]
    assert not aside.parts


def test_what_was_superseded_is_not_set_aside_any_more() -> None:
    aside = SetAside()
    aside.put(3, OffsetKey("g", "t", 0), b"a")
    assert aside.pop(4, OffsetKey("g", "t", 0)) is None
    assert aside.pop(3, OffsetKey("g", "u", 0)) is None
    aside.put(3, OffsetKey("g", "t", 1), b"b")
    assert [aside.pop(3, OffsetKey("g", "t", index)) for index in (0, 0, 1)] == [b"a", None, b"b"]
    assert not aside.parts, "nothing is looked for any more"
