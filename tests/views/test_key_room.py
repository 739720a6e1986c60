"""Tests of views/key_room.py: whole histories make room, the one used longest ago first."""

from __future__ import annotations

from views.key_room import SMALL, KeyRoom, Tables


class Owner:
    """The histories of a partition."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.is_learning = False

    def make_room(self) -> None:
        self.size_bytes = 0


def test_the_one_used_longest_ago_makes_room() -> None:
    room = KeyRoom(lambda: 100)
    first, second, third = Owner(50), Owner(40), Owner(30)
    for owner in (first, second, first, third):
        room.weigh(owner)
    assert [owner.size_bytes for owner in (first, second, third)] == [50, 0, 30]
    assert room.used_bytes == 80


def test_one_that_is_learning_and_the_one_in_use_stay() -> None:
    room = KeyRoom(lambda: 100)
    busy, idle, user = Owner(90), Owner(30), Owner(200)
    busy.is_learning = True
    for owner in (busy, idle, user):
        room.weigh(owner)
    assert (busy.size_bytes, idle.size_bytes, user.size_bytes) == (90, 0, 200)


def test_one_that_ends_is_counted_no_longer() -> None:
    room = KeyRoom(lambda: 100)
    owner = Owner(70)
    room.weigh(owner)
    del owner
    assert room.used_bytes == 0


def test_the_tables_of_a_history_are_freed_by_steps_when_it_ends() -> None:
    freed: list[Tables] = []
    room = KeyRoom(discard=freed.append)
    owner = Owner(1)
    tables: Tables = [dict.fromkeys(range(SMALL + 1)), {}]
    room.keep(owner, tables)
    del owner
    assert freed == [tables]
    room.free([{1: 2}])
    assert len(freed) == 1, "few entries need no steps"
