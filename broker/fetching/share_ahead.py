"""The partitions of a share fetch that come after the one that waits for the object store.

What they need is asked for at once, before the first wait: one partition after the other would take a request
of the store's time each (KAFKA-19336). What comes is found in memory when their turn has come, or by the next
fetch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial

from broker.catalogue.metadata import Metadata
from broker.errors import RequestError
from broker.fetching.pieces import PIECE_BYTES
from broker.fetching.share_places import Place, Span, find_partition
from broker.view_topics.view_partition import ViewPartition
from groups.errors import GroupError
from wal.disk import DiskError
from wal.errors import WalError


class PlacesInTurn:
    """The partitions of a fetch in their order, and what those that have not had their turn need."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata
        self._rest: deque[Place] = deque()
        self._is_asked = False

    def each(self, places: Iterable[Place]) -> Iterator[Place]:
        """Yield the partitions."""
        self._rest, self._is_asked = deque(places), False
        while self._rest:
            yield self._rest.popleft()

    def asking(self, span_of: Callable[[Place], Span | None]) -> Callable[[], None]:
        """Return what calls `ask`."""
        return partial(self.ask, span_of)

    def ask(self, span_of: Callable[[Place], Span | None]) -> None:
        """Have the store asked for what the next ones need; once, however often it is waited for.

        `span_of` tells what could be acquired of a partition.

        A read that needs the store begins to fetch, and says so by an error, as reads do that fail: their own
        turn tells.
        """
        if self._is_asked:
            return
        self._is_asked = True
        for place in self._rest:
            with suppress(RequestError, GroupError, WalError, DiskError):
                if isinstance(find_partition(self._metadata, place), ViewPartition):
                    continue  # its source is read when its turn has come
                span = span_of(place)
                if span is not None:
                    span.partition.read(span.first, PIECE_BYTES, minimum_one=True, end=span.end)
