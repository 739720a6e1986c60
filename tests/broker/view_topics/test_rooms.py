"""Tests of broker/view_topics/rooms.py."""

from __future__ import annotations

from functools import partial

from broker.view_topics.rooms import OPENED_MAX, OpenedRoom


def test_steps_that_end_while_they_wait_take_no_place() -> None:
    room = OpenedRoom(None)
    for _ in range(OPENED_MAX):
        assert not [*room.enter()]
    given: list[str] = []
    first, second, third = (room.enter() for _ in range(3))
    for name, steps in (("first", first), ("second", second), ("third", third)):
        pause = next(steps)
        assert pause is not None
        pause.start(partial(given.append, name))
    first.close()
    room.leave()
    assert given == ["second"]
    second.close()
    assert given == ["second", "third"], "its place goes to the next"
    assert room.inside == OPENED_MAX
    for _ in range(OPENED_MAX):
        room.leave()
    assert room.inside == 0


def test_steps_that_begin_to_wait_when_the_last_one_has_left_enter_at_once() -> None:
    room = OpenedRoom(None)
    for _ in range(OPENED_MAX):
        room.enter_all_the_same()
    steps = room.enter()
    pause = next(steps)
    for _ in range(OPENED_MAX):
        room.leave()
    assert pause is not None
    resumed: list[bool] = []
    # The pause is only acted on when the steps have their turn.
    pause.start(lambda: resumed.append(True))
    assert resumed == [True]
    assert [*steps] == []
    assert room.inside == 1
