"""The items of a fetch that wait for the object store: all are asked for, and one is waited for."""

from __future__ import annotations

from collections.abc import Callable, Generator
from uuid import UUID

from broker.fetching.cold_items import ColdItems
from broker.fetching.fetch_items import FetchItem
from protocol.error_codes import ErrorCode
from protocol.messages.fetch import PartitionData
from wal.block_cache import BlockCache, Told
from wal.errors import RemoteReadError
from wal.memory_disk import MemoryDisk
from wal.options import LogOptions
from wal.remote_reads import RemoteNotLoaded
from wal.state import LogState


class Store:
    """Blocks that are asked for by name; what was asked for is remembered in order."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[str] = []
        self._error = error
        self._state = LogState(MemoryDisk(), "log", LogOptions(), 0)
        assert isinstance(self._state.blocks, BlockCache)

    def missing(self, name: str) -> RemoteNotLoaded:
        """Return what a read tells that needs a block."""

        def fetch(told: Told) -> None:
            self.asked.append(name)
            told(self._error)

        return RemoteNotLoaded(self._state, name, fetch)


def item_of(index: int) -> FetchItem:
    """Return an item."""
    return FetchItem("t", UUID(int=1), index, by_id=False)


def again(item: FetchItem) -> Generator[None, None, PartitionData]:
    """Read an item."""
    yield from ()
    return PartitionData(partition_index=item.index, high_watermark=0)


def read(cold: ColdItems, *, has_some: Callable[[], bool] = lambda: False) -> dict[FetchItem, PartitionData]:
    """Wait as a fetch does, and read."""
    steps = cold.read(again, has_some)
    while True:
        try:
            waits = next(steps)
        except StopIteration as end:
            return dict(end.value)
        if waits is not None:
            waits.start(lambda: None)


def test_all_items_are_asked_for_before_the_first_is_waited_for_and_each_once() -> None:
    store, cold = Store(), ColdItems()
    items = [item_of(index) for index in range(3)]
    for item in items:
        cold.note(item, store.missing(str(item.index)))
    assert store.asked == ["1", "2"]
    assert list(read(cold)) == items
    assert store.asked == ["1", "2", "0"]


def test_a_fetch_that_has_something_to_give_waits_for_none_and_asks_for_all() -> None:
    store, cold = Store(), ColdItems()
    for index in range(3):
        cold.note(item_of(index), store.missing(str(index)))
    assert read(cold, has_some=lambda: True) == {}
    assert store.asked == ["1", "2", "0"]
    assert not cold


def test_an_error_of_the_store_is_told_of_the_item_that_was_waited_for() -> None:
    store, cold = Store(RemoteReadError("no answer")), ColdItems()
    first = item_of(0)
    cold.note(first, store.missing("0"))
    cold.note(item_of(1), store.missing("1"))
    found = read(cold)
    assert {item: data.error_code for item, data in found.items()} == {first: ErrorCode.UNKNOWN_SERVER_ERROR}


def test_a_fetch_waits_once() -> None:
    store, cold = Store(RemoteReadError("no answer")), ColdItems()
    cold.note(item_of(0), store.missing("0"))
    read(cold)
    cold.note(item_of(1), store.missing("1"))
    assert store.asked == ["0", "1"]
    assert read(cold) == {}
