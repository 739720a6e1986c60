"""The thread that reads the signs of other nodes."""

from __future__ import annotations

import logging

import pytest

from broker.server.member_watch import MemberWatch
from wal.memory_objects import MemoryObjects, ObjectFault
from wal.remote.heartbeat import Heart, Places
from wal.remote.members import Members


def test_a_look_takes_what_is_due_and_reads_nothing_when_nothing_is() -> None:
    objects = MemoryObjects()
    Heart(objects, prefix="c", incarnation="a", interval_ms=1, places=Places("h:9", 1, "inner:1")).beat(1)
    members = Members([1])
    watch = MemberWatch(members, {1: objects}, lambda: "c", interval_ms=1_000)
    watch.look()
    found = members.sign_of(1)
    assert found is not None
    assert found.inner == "inner:1"
    before = len(objects.calls)
    watch.look()
    assert len(objects.calls) == before


def test_a_store_that_is_away_is_asked_again_and_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    objects = MemoryObjects(lambda _: ObjectFault.AWAY)
    watch = MemberWatch(Members([1]), {1: objects}, lambda: "c", interval_ms=1_000)
    for _ in range(5):
        watch.look()
    assert len(objects.calls) == 5
    assert len([line for line in caplog.messages if "cannot be looked up" in line]) == 1


def test_the_thread_looks_at_once_and_ends_when_it_is_told() -> None:
    objects = MemoryObjects()
    watch = MemberWatch(Members([1]), {1: objects}, lambda: "c", interval_ms=3_600_000)
    watch.start()
    watch.stop()
    watch._thread.join(10)
    assert not watch._thread.is_alive()
    assert len(objects.calls) == 1
