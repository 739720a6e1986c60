"""Blocks of objects in memory: what is fetched, by how many, and what leaves."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from wal.block_cache import BlockCache
from wal.errors import RemoteReadError
from wal.memory_objects import MemoryObjects, ObjectFault

DATA = bytes(range(256)) * 4


def noted(told: list[int], number: int, _error: Exception | None) -> None:
    """Note which of several was told."""
    told.append(number)


class Threads:
    """Work that waits until it is told to run."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], object], Callable[[Exception | None], None]]] = []

    def submit(self, work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        """Take work."""
        self.waiting.append((work, done))

    def run(self) -> None:
        """Do all of it."""
        while self.waiting:
            work, done = self.waiting.pop(0)
            try:
                work()
            except RemoteReadError as error:
                done(error)
            else:
                done(None)


def cache_of(
    *, limit_bytes: int = 1 << 20, block_bytes: int = 100
) -> tuple[BlockCache, MemoryObjects, Threads]:
    """Return a cache over a store with one object."""
    objects, threads = MemoryObjects(), Threads()
    objects.create("a", DATA)
    objects.calls.clear()
    blocks = BlockCache(block_bytes=block_bytes)
    blocks.connect(objects, limit_bytes=limit_bytes, submit=threads.submit)
    return blocks, objects, threads


@pytest.mark.parametrize(("start", "end"), [(0, 1), (99, 101), (100, 200), (250, 950), (1_000, 1_024)])
def test_what_was_fetched_is_found_whichever_blocks_it_lies_in(start: int, end: int) -> None:
    blocks, _, threads = cache_of()
    told: list[Exception | None] = []
    blocks.fetch("a", len(DATA), start, end, told.append)
    assert (told, blocks.find("a", start, end)) == ([], None)
    threads.run()
    assert told == [None]
    assert blocks.find("a", start, end) == DATA[start:end]


def test_one_block_is_read_once_however_many_wait_for_it() -> None:
    blocks, objects, threads = cache_of()
    told: list[int] = []
    for number in range(5):
        blocks.fetch("a", len(DATA), 120, 130 + number, partial(noted, told, number))
    threads.run()
    assert told == [0, 1, 2, 3, 4]
    assert [call.size_bytes for call in objects.calls] == [100]


def test_blocks_of_one_read_are_fetched_beside_each_other() -> None:
    blocks, _, threads = cache_of()
    blocks.fetch("a", len(DATA), 0, 500, lambda _: None)
    assert len(threads.waiting) == blocks.loading == 5


def test_the_blocks_not_used_for_longest_leave() -> None:
    blocks, _, threads = cache_of(limit_bytes=300)
    for number in range(3):
        blocks.fetch("a", len(DATA), number * 100, number * 100 + 1, lambda _: None)
    threads.run()
    blocks.find("a", 0, 1)
    blocks.fetch("a", len(DATA), 300, 301, lambda _: None)
    threads.run()
    assert [blocks.find("a", start, start + 1) is not None for start in (0, 100, 200, 300)] == [
        True, False, True, True,
    ]  # fmt: skip
    assert blocks.size_bytes == 300


def test_a_block_above_the_limit_stays_until_the_next_one_comes() -> None:
    blocks, _, threads = cache_of(limit_bytes=0)
    blocks.fetch("a", len(DATA), 0, 1, lambda _: None)
    threads.run()
    assert blocks.find("a", 0, 1) == DATA[:1]


def test_an_error_is_told_to_all_that_wait_and_the_next_fetch_asks_again() -> None:
    blocks, objects, threads = cache_of()
    objects.hook = lambda _: ObjectFault.AWAY
    told: list[Exception | None] = []
    blocks.fetch("a", len(DATA), 0, 1, told.append)
    blocks.fetch("a", len(DATA), 50, 150, told.append)
    threads.run()
    assert [type(error) for error in told] == [RemoteReadError, RemoteReadError]
    objects.hook = None
    blocks.fetch("a", len(DATA), 0, 1, told.append)
    threads.run()
    assert told[-1] is None


def test_an_object_that_ends_too_early_is_an_error_with_its_name() -> None:
    blocks, _, threads = cache_of()
    told: list[Exception | None] = []
    blocks.fetch("a", len(DATA) + 100, 1_000, 1_050, told.append)
    threads.run()
    assert str(told[0]) == "memory/a: the object ends at byte 1024, before the end of its segment"


def test_what_was_forgotten_is_read_again() -> None:
    blocks, objects, threads = cache_of()
    for _ in range(2):
        blocks.fetch("a", len(DATA), 0, 1, lambda _: None)
        threads.run()
        blocks.forget("a", 0, 1)
    assert (len(objects.calls), blocks.size_bytes) == (2, 0)


def test_a_smaller_limit_applies_at_once() -> None:
    blocks, _, threads = cache_of()
    blocks.fetch("a", len(DATA), 0, 1_000, lambda _: None)
    threads.run()
    blocks.change_limit(250)
    assert blocks.size_bytes == 200


def test_without_a_store_the_error_says_which_setting_is_missing() -> None:
    told: list[Exception | None] = []
    BlockCache().fetch("a", 10, 0, 1, told.append)
    assert "set kawal.remote.store" in str(told[0])
