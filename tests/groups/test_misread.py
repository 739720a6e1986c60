"""Tests of groups/misread.py; what follows for groups is in test_loading.py."""

from __future__ import annotations

from groups.misread import KEYS_MAX, MisreadRecords


def test_records_are_known_by_group_and_by_partition() -> None:
    misread = MisreadRecords()
    misread.note(3, "g", b"one")
    misread.note(3, "g", b"two")
    misread.note(3, "g", b"one")
    assert "g" in misread
    assert misread.keys_of("g") == [b"one", b"two"]
    assert misread.keys_of("other") == []
    assert (misread.are_in(3), misread.are_in(4)) == (True, False)


def test_a_group_without_such_records_is_none_of_them() -> None:
    misread = MisreadRecords()
    for group_id, partition in (("a", 0), ("b", 0), ("c", 1), ("d", 1)):
        misread.note(partition, group_id, b"key")
    misread.forget_key("a", memoryview(b"key"))
    misread.forget("b")
    misread.forget_partition(1)
    assert not any(group_id in misread for group_id in "abcd")


def test_the_memory_for_keys_is_limited() -> None:
    misread = MisreadRecords()
    for number in range(KEYS_MAX + 5):
        misread.note(0, "g", b"%d" % number)
    assert len(misread.keys_of("g")) == KEYS_MAX
