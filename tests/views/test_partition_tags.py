"""Tests of views/partition_tags.py: what was forgotten is the same when it is learned again."""

from __future__ import annotations

from tests.views.test_tag_history import learn
from views.key_room import KeyRoom
from views.partition_tags import PartitionTags


def test_partitions_make_room_for_each_other_and_learn_again_what_they_need() -> None:
    limit = 1_000_000
    room = KeyRoom(lambda: limit)
    first, second = PartitionTags(room=room), PartitionTags(room=room)
    history, _ = first.at(0, log_start=0)
    learn(history, 0, [(b"k", "a")])
    assert first.at(1, log_start=0) == (history, 1)
    limit = first.size_bytes - 1
    second.at(0, log_start=0)
    assert (first.size_bytes, room.used_bytes) == (0, 0)
    again, begin = first.at(1, log_start=0)
    assert begin == 0, "everything is learned again"
    learn(again, 0, [(b"k", "a")])
    assert learn(again, 1, [(b"k", None)]) == ["a"]


def test_a_batch_that_is_being_learned_is_not_taken_from_its_reader() -> None:
    room = KeyRoom(lambda: 0)
    first, second = PartitionTags(room=room), PartitionTags(room=room)
    history, _ = first.at(0, log_start=0)
    learn(history, 0, [(b"k", "a")])
    tags = history.open(1)
    second.at(0, log_start=0)
    assert first.at(0, log_start=0)[0] is history
    tags.abandon()
