"""Reading backwards until enough records were seen."""

from __future__ import annotations

from typing import Any

from kafka.structs import TopicPartition

from console.client import Trouble
from console.last_records import last_records
from console.positions import Extent
from protocol.record_reader import Record

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)


class Shelf:
    """A fetcher of records at these offsets; everything comes with the first poll."""

    asked: list[dict[Any, int]]

    def __init__(self, offsets: dict[Any, list[int]]) -> None:
        self._offsets = offsets
        self.asked = []

    def __call__(self, begins: dict[Any, int], ends: dict[Any, int]) -> Any:
        self.asked.append(begins)
        self._begins, self._ends = begins, ends
        return self

    def poll(self, timeout_ms: int) -> dict[Any, list[Record]]:
        return {
            key: [Record(at, 0, None, b"") for at in self._offsets[key] if begin <= at < self._ends[key]]
            for key, begin in self._begins.items()
        }

    def position(self, partition: Any) -> int:
        return self._ends[partition]

    def pause(self, _partition: Any) -> None: ...

    def close(self) -> None: ...


def begins(shelf: Shelf, extents: dict[Any, Extent], count: int) -> dict[Any, int]:
    return last_records(shelf, extents, count, trouble=Trouble(), bootstrap="h:1")


def test_where_every_offset_has_a_record_one_look_is_enough() -> None:
    shelf = Shelf({ZERO: list(range(10))})
    assert begins(shelf, {ZERO: Extent(0, 10)}, 3) == {ZERO: 7}
    assert len(shelf.asked) == 1


def test_where_most_are_left_out_it_looks_further_back() -> None:
    shelf = Shelf({ZERO: [5, 100, 990], ONE: [0]})
    extents = {ZERO: Extent(0, 1000), ONE: Extent(0, 500)}
    assert begins(shelf, extents, 2) == {ZERO: 100, ONE: 0}
    assert begins(shelf, extents, 9) == {ZERO: 5, ONE: 0}


def test_an_empty_partition_begins_at_its_end() -> None:
    shelf = Shelf({ZERO: []})
    assert begins(shelf, {ZERO: Extent(3, 3)}, 2) == {ZERO: 3}
    assert begins(shelf, {ZERO: Extent(3, 30)}, 2) == {ZERO: 30}
    assert begins(shelf, {ZERO: Extent(3, 30)}, 0) == {ZERO: 30}
