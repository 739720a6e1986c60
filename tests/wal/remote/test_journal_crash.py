"""A crash between any two calls of the disk or the store, from an append to its acknowledgement.

After each, two successors start: one on the disk that was kept, by page cache or by what was synced, and one
on a disk that is made from the store.  Both have every acknowledged record, in order, and no half of another.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.wal.remote.copies import bodies, restored
from tests.wal.remote.journals import FIRST, Writer, opened
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL
from wal.memory_objects import MemoryObjects, ObjectCall

VALUES = [b"1", b"2" * 30_000, b"3" * 30_000, b"4" * 30_000, b"5"]


class Moment(NamedTuple):
    """The world between two calls."""

    disk: MemoryDisk
    objects: MemoryObjects
    acknowledged: int


class Recorder:
    """A writer at work, and all moments of that."""

    def __init__(self) -> None:
        self.writer = opened()
        self.acknowledged = 0
        self.moments: list[Moment] = []
        self.writer.disk.observe = lambda _effect: self.note()
        self.writer.objects.hook = self._called

    def _called(self, _call: ObjectCall) -> None:
        self.note()

    def note(self) -> None:
        """Keep this moment, as a process that is killed leaves it."""
        self.moments.append(Moment(self.writer.disk.kill(), same(self.writer.objects), self.acknowledged))

    def run(self) -> list[Moment]:
        """Write all values, and a copy in between; return the moments."""
        for number, body in enumerate(VALUES):
            self.writer.write(body)
            self.note()
            (put,) = self.writer.journal.begin()
            put.run()
            self.note()
            self.writer.done(put)
            self.acknowledged += 1
            self.note()
            if number == 2:
                self.writer.round()
        return self.moments


def same(objects: MemoryObjects) -> MemoryObjects:
    """Return a store with the same objects."""
    copy = MemoryObjects()
    copy.objects = dict(objects.objects)
    copy._writes = objects._writes
    return copy


MOMENTS = Recorder().run()


def test_there_are_moments_before_and_after_each_step() -> None:
    assert len(MOMENTS) > 40
    assert {moment.acknowledged for moment in MOMENTS} == set(range(len(VALUES) + 1))


def found(disk: MemoryDisk, objects: MemoryObjects, incarnation: str) -> list[bytes]:
    """Return what a successor has that has taken over, and goes on."""
    after = Writer(objects, disk, incarnation=incarnation)
    after.round()
    after.write(b"goes on")
    assert len(after.send()) == 1
    values = bodies(after.logs[FIRST])
    assert values.pop() == b"goes on"
    return values


@pytest.mark.parametrize("is_power_cut", [False, True])
def test_the_next_process_on_the_same_disk_has_all_that_was_acknowledged(is_power_cut: bool) -> None:
    for moment in MOMENTS:
        disk = moment.disk.crash(DROP_ALL) if is_power_cut else moment.disk.kill()
        values = found(disk, same(moment.objects), "b")
        assert values == VALUES[: len(values)]
        assert len(values) >= moment.acknowledged


def test_a_restore_has_all_that_was_acknowledged() -> None:
    for moment in MOMENTS:
        objects = same(moment.objects)
        values = found(restored(objects), objects, "c")
        assert values == VALUES[: len(values)]
        assert len(values) >= moment.acknowledged


def test_a_restore_after_the_successor_on_the_kept_disk_has_what_that_had() -> None:
    for moment in MOMENTS[::5]:
        objects = same(moment.objects)
        values = found(moment.disk.crash(DROP_ALL), objects, "b")
        assert found(restored(objects), objects, "c") == [*values, b"goes on"]
