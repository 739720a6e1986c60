"""Blocks asked for before a sequential reader comes to them, and dropped when it does not."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from tests.wal.remote.copies import here
from tests.wal.test_block_cache import cache_of
from wal.block_cache import BlockCache
from wal.memory_objects import MemoryObjects
from wal.read_ahead import DEPTH_MAX, IDLE_TICKS, RUNS_MAX, Block, ReadAhead
from wal.read_rate import ReadRate

OBJECT_BLOCKS = 20


class Asked:
    """A cache that remembers what it was asked for."""

    def __init__(self, limit_blocks: int = 100) -> None:
        self.block_bytes, self.limit_bytes = 100, 100 * limit_blocks
        self.asked: list[Block] = []
        self.dropped: list[Block] = []
        self.ahead = ReadAhead(self)

    def fetch_ahead(self, block: Block, size_bytes: int) -> bool:
        """Note it."""
        assert 0 < size_bytes <= self.block_bytes
        self.asked.append(block)
        return True

    def drop_ahead(self, block: Block) -> None:
        """Note it."""
        self.dropped.append(block)

    def read(self, *numbers: int, key: str = "a") -> list[int]:
        """Read blocks of an object; return the numbers that were asked for."""
        before = len(self.asked)
        for number in numbers:
            self.ahead.touch((key, number), 100 * OBJECT_BLOCKS - 50, {"a": ("b", 150)}.get)
        return [number for _, number in self.asked[before:]]


def test_a_single_read_asks_for_nothing() -> None:
    asked = Asked()
    assert asked.read(5) == asked.read(5) == asked.read(9) == asked.read(2) == []


def test_a_sequential_reader_is_kept_ahead_of_by_more_and_more_blocks() -> None:
    asked = Asked()
    assert asked.read(0, 1) == [2]
    assert asked.read(2) == [3, 4]
    assert asked.read(3) == [5, 6, 7]
    assert asked.read(4) == [8]
    assert asked.read(4, 4) == []
    assert asked.ahead.unread_count == DEPTH_MAX


def test_the_end_of_an_object_is_followed_by_the_next_one() -> None:
    asked = Asked()
    asked.read(16, 17, 18)
    assert asked.asked[-2:] == [("a", 19), ("b", 0)]
    asked.read(19)
    assert asked.asked[-1] == ("b", 1)
    asked.ahead.touch(("b", 0), 150, lambda _: None)
    assert asked.ahead.unread_count == 1


def test_a_small_cache_has_little_read_ahead() -> None:
    assert Asked(limit_blocks=3).read(0, 1, 2, 3) == []
    assert Asked(limit_blocks=4).read(0, 1, 2) == [2, 3]


def test_readers_of_the_same_place_share_what_is_fetched() -> None:
    asked = Asked()
    asked.read(0, 1, 1, 2, 2, 3, 3)
    assert len(asked.asked) == len(set(asked.asked))


def test_what_a_reader_has_left_is_dropped_after_some_seconds() -> None:
    asked = Asked()
    asked.read(0, 1, 2)
    asked.read(10)
    for _ in range(IDLE_TICKS):
        assert asked.ahead.tick()
    assert not asked.ahead.tick()
    assert sorted(asked.dropped) == [("a", 3), ("a", 4)]
    assert asked.ahead.unread_count == 0


def test_a_reader_that_goes_on_keeps_what_is_ahead_of_it() -> None:
    asked = Asked()
    asked.read(0, 1, 2)
    for _ in range(3 * IDLE_TICKS):
        asked.read(2)
        assert asked.ahead.tick()
    assert asked.dropped == []


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, OBJECT_BLOCKS - 1)), max_size=400))
def test_all_readers_together_have_half_of_the_cache_at_most(reads: list[tuple[str, int]]) -> None:
    asked = Asked(limit_blocks=10)
    for key, number in reads:
        asked.read(number, key=key)
        assert asked.ahead.unread_count <= 5


def test_readers_beyond_the_limit_are_forgotten() -> None:
    asked = Asked()
    asked.read(0, 1, 2)
    for number in range(RUNS_MAX):
        asked.ahead.touch((f"other-{number}", 0), 100, lambda _: None)
    assert sorted(asked.dropped) == [("a", 3), ("a", 4)]


def read_through(blocks: BlockCache, objects: MemoryObjects, *, to: int) -> int:
    """Read an object in small steps up to a byte; return how often its reader had to wait."""
    waits = 0
    for start in range(0, to, 50):
        if blocks.find("a", start, start + 50) is None:
            waits += 1
            blocks.fetch("a", 1_024, start, start + 50, lambda _: None)
        blocks.follow("a", 1_024, start, start + 50, lambda _: None)
    assert objects.calls
    return waits


def test_a_catch_up_waits_for_the_first_blocks_only_and_fetches_each_once() -> None:
    blocks, objects, _ = cache_of()
    blocks.connect(objects, limit_bytes=10_000, submit=here)
    assert read_through(blocks, objects, to=1_000) == 2
    assert blocks.fetched_bytes == 1_024
    assert blocks.served_bytes == 1_000
    assert blocks.ahead_bytes == 824
    assert blocks.unread_bytes == 0


def test_what_is_left_unread_leaves_the_memory() -> None:
    blocks, objects, _ = cache_of()
    later: list[Callable[[], None]] = []
    blocks.connect(objects, limit_bytes=10_000, submit=here, later=later.append)
    read_through(blocks, objects, to=300)
    before = blocks.size_bytes
    for _ in range(IDLE_TICKS + 1):
        later.pop()()
    assert later == []
    assert (before, blocks.size_bytes, blocks.unread_bytes) == (500, 300, 200)


def test_nothing_is_read_ahead_while_the_rate_is_used_up() -> None:
    blocks, objects, _ = cache_of()
    waiting: list[tuple[int, Callable[[], None]]] = []
    blocks.connect(
        objects, limit_bytes=10_000, submit=here,
        rate=ReadRate(lambda: 100, lambda: 0), after=lambda delay_ms, call: waiting.append((delay_ms, call)),
    )  # fmt: skip
    blocks.fetch("a", 1_024, 0, 200, lambda _: None)
    ((delay_ms, call),) = waiting
    assert delay_ms == 1_000
    assert blocks.find("a", 100, 200) is None
    call()
    assert blocks.find("a", 100, 200) is not None
    blocks.follow("a", 1_024, 0, 200, lambda _: None)
    assert blocks.ahead_bytes == 0


def test_a_reader_that_comes_to_a_block_on_its_way_does_not_ask_for_it_again() -> None:
    blocks, objects, threads = cache_of()
    for start in (0, 100):
        blocks.fetch("a", 1_024, start, start + 50, lambda _: None)
        threads.run()
        blocks.follow("a", 1_024, start, start + 50, lambda _: None)
    asked = len(threads.waiting)
    assert asked == 1, "the third block was asked for ahead"
    told: list[Exception | None] = []
    blocks.fetch("a", 1_024, 200, 250, told.append)
    assert len(threads.waiting) == 1
    threads.run()
    assert told == [None]
    assert len(objects.calls) == 3
    assert blocks.fetched_bytes == 300
