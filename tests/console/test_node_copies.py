"""The nodes' copies in words: who is alive, by the clocks or by another sign."""

from __future__ import annotations

import pytest

from broker.config.config import config_of
from console.node_copies import (
    SeenCopy,
    as_tree,
    copy_text,
    look_at,
    seconds_text,
    sign_text,
    state_of,
    stores_of,
)
from tests.wal.remote.copies import Node
from wal.memory_objects import MemoryObjects
from wal.remote.heartbeat import Heart, Places

NOW_MS = 1_000_000


class Copied:
    """A store with the copy of a server, whose clock is that of the one who looks unless it is told."""

    def __init__(self, *, ahead_ms: int = 0) -> None:
        self.objects = MemoryObjects()
        self.now_ms = NOW_MS
        node = Node(self.objects)
        node.append(b"one")
        node.round()
        self.heart = Heart(
            self.objects,
            prefix="cluster",
            incarnation="a",
            interval_ms=1_000,
            places=Places("h:1", listeners={"A": "h:1", "B": "h:2"}),
            wall_ms=lambda: self.now_ms + ahead_ms,
        )
        self.waits: list[float] = []

    def look(self, *, beats: bool = False) -> SeenCopy:
        def wait(seconds: float) -> None:
            self.waits.append(seconds)
            if beats:
                self.heart.beat(1)

        (seen,) = look_at({0: self.objects}, "cluster", wall_ms=lambda: self.now_ms, wait=wait)
        return seen


def test_a_server_with_a_new_sign_is_alive_at_once() -> None:
    copied = Copied()
    copied.heart.beat(1)
    copied.now_ms += 400
    seen = copied.look()
    assert (state_of(seen), sign_text(seen), copied.waits) == ("alive", "0.4 s ago", [])
    assert "epoch 1, served at h:1 and h:2; its newest cut is " in copy_text(seen)


def test_one_with_an_old_sign_is_silent_if_no_other_comes() -> None:
    copied = Copied()
    copied.heart.beat(1)
    copied.now_ms += 42_000
    seen = copied.look()
    assert (state_of(seen), sign_text(seen), copied.waits) == ("silent", "42 s ago", [2.5])
    assert "last served at h:1" in copy_text(seen)
    tree = as_tree(seen)
    assert (tree["state"], tree["sign_age_ms"], tree["epoch"]) == ("silent", 42_000, 1)


@pytest.mark.parametrize("ahead_ms", [-3_600_000, 3_600_000])
def test_a_clock_that_is_wrong_makes_no_server_silent(ahead_ms: int) -> None:
    copied = Copied(ahead_ms=ahead_ms)
    copied.heart.beat(1)
    assert state_of(copied.look(beats=True)) == "alive"


def test_a_copy_without_signs_and_one_that_was_taken_over_are_told() -> None:
    copied = Copied()
    assert (state_of(copied.look()), sign_text(copied.look())) == ("no signs", "none")
    copied.heart.beat(0)
    assert state_of(copied.look()) == "taken over"
    (empty,) = look_at({1: MemoryObjects()}, "", wall_ms=lambda: NOW_MS, wait=copied.waits.append)
    assert (state_of(empty), as_tree(empty)["cut_age_ms"]) == ("no copy", None)


def test_a_server_that_ended_cleanly_is_not_silent_and_not_waited_for() -> None:
    copied = Copied()
    copied.heart.beat(1)
    copied.heart.farewell(1)
    copied.now_ms += 600_000
    seen = copied.look()
    assert (state_of(seen), sign_text(seen), copied.waits) == ("ended", "10 min ago", [])
    assert "last served at h:1" in copy_text(seen)


def test_durations_have_the_unit_that_a_reader_expects() -> None:
    texts = [seconds_text(each) for each in (400, 42_000, 119_000, 300_000, 10_000_000, 864_000_000)]
    assert texts == ["0.4 s", "42 s", "119 s", "5 min", "3 h", "10 days"]


def test_workers_have_a_place_each() -> None:
    config = config_of({"kawal.remote.store": "s3://bucket/p", "kawal.workers": 3})
    assert [store.name for store in stores_of(config).values()] == [
        "s3://bucket/p",
        "s3://bucket/p/node-1",
        "s3://bucket/p/node-2",
    ]
