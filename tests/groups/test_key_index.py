"""Keys are found by group and by topic, and nothing is left of those that were removed."""

from __future__ import annotations

from groups.key_index import KeyIndex
from groups.record_keys import OffsetKey

KEYS = [OffsetKey("g", "t", 0), OffsetKey("g", "u", 0), OffsetKey("h", "t", 1)]


def test_keys_are_found_by_either_name() -> None:
    index = KeyIndex()
    for key in (*KEYS, KEYS[0]):
        index.add(key)
    assert list(index.of_group("g")) == KEYS[:2]
    assert list(index.of_topic("t")) == [KEYS[0], KEYS[2]]
    assert (list(index.of_group("x")), list(index.of_topic("x"))) == ([], [])


def test_nothing_is_left_of_keys_that_were_removed() -> None:
    index = KeyIndex()
    for key in KEYS:
        index.add(key)
    for key in (*KEYS, KEYS[0]):
        index.remove(key)
    assert (index._groups, index._topics) == ({}, {})
