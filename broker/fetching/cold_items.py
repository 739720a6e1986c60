"""The items of a fetch whose records are in the object store, and in no block of memory yet.

All of them are asked for before the first is waited for: an item after the other would take a request of the
store's time each (KAFKA-19336).  A fetch waits for one of them, and only when it has nothing else to give;
what comes later is found in memory by the next fetch.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final

from broker.fetching.fetch_items import FetchItem
from broker.fetching.item_errors import error_data, remote_error
from broker.loop.slices import Until, WaitingSteps, in_thread
from protocol.messages.fetch import PartitionData
from wal.errors import RemoteReadError
from wal.remote_reads import RemoteNotLoaded

WAITS_MAX: Final = 40
"""The waits of one fetch: an index that was lost, then a block, one after the other."""


class ColdItems:
    """Those of one fetch, in its order."""

    __slots__ = ("_missing", "has_waited")

    def __init__(self) -> None:
        self._missing: dict[FetchItem, RemoteNotLoaded] = {}
        self.has_waited = False
        """Whether the fetch has waited as long as it may."""

    def __bool__(self) -> bool:
        return bool(self._missing)

    def note(self, item: FetchItem, missing: RemoteNotLoaded) -> None:
        """Note an item; what it needs is asked for by now, or as soon as the fetch waits for it."""
        if self._missing or self.has_waited:
            missing.begin()
        self._missing[item] = missing

    def read(
        self, read_again: Callable[[FetchItem], WaitingSteps], has_some: Callable[[], bool]
    ) -> Generator[Until | None, None, dict[FetchItem, PartitionData]]:
        """Wait for the first item, if nothing else was found, and return what was read of all of them then.

        `read_again(item)` reads an item, and notes it again if it needs more.
        """
        found: dict[FetchItem, PartitionData] = {}
        for _ in range(WAITS_MAX):
            if not self._missing or self.has_waited or has_some():
                break
            first, missing = next(iter(self._missing.items()))
            assert missing.offload is not None
            yield from in_thread(missing.offload, missing.load)
            items = list(self._missing)
            self._missing.clear()
            try:
                self.has_waited = not missing.adopt()
            except RemoteReadError as error:
                found[first], self.has_waited = error_data(first, remote_error(first, error).code), True
            if self.has_waited:
                break
            for item in items:
                found[item] = yield from read_again(item)
        if self._missing and not self.has_waited:
            next(iter(self._missing.values())).begin()  # the others were asked for when they were noted
        self._missing.clear()
        return found
