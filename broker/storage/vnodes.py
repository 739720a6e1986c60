"""The vnodes of a node: the log of the catalogue, and those of every database that serves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from broker.loop.clock import Clock
from broker.storage.vnode import Vnode
from wal.store import Store

WALL_STEP_MS = 1_000
"""The logs learn of a change of the wall clock by this much: it is for their frames' times alone."""


class Vnodes(Mapping[str, list[Vnode]]):
    """The vnodes by database; `every` lists all of them, the catalogue's own (`meta`) first."""

    def __init__(self, meta: Vnode, by_database: Mapping[str, list[Vnode]]) -> None:
        self.meta = meta
        self._by_database = dict(by_database)
        self._wall_offset_ms: int | None = None
        self.every: list[Vnode] = []
        self._list()
        # The leader epoch of every partition: constant, as only a start begins one.
        self.leader_epoch = max(vnode.log.largest_leader_epoch() for vnode in self.every)

    def _list(self) -> None:
        self.every = [self.meta, *(vnode for vnodes in self.values() for vnode in vnodes)]

    def __getitem__(self, database: str) -> list[Vnode]:
        return self._by_database[database]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_database)

    def __len__(self) -> int:
        return len(self._by_database)

    def follow(self, clock: Clock) -> None:
        """Let the logs write the time of day into their frames, without a jump that does not count yet.

        The next start trusts the time of the newest frame: it must not be that of a clock that is wrong.
        """
        now_ms = clock.turn_ms
        offset_ms = clock.settled_wall_ms - now_ms
        if self._wall_offset_ms is None or abs(offset_ms - self._wall_offset_ms) >= WALL_STEP_MS:
            self._wall_offset_ms = offset_ms
            for vnode in self.every:
                vnode.log.set_wall_clock(now_ms=now_ms, wall_ms=now_ms + offset_ms)

    def add(self, database: str, vnodes: list[Vnode]) -> None:
        """Start to serve a database's vnodes."""
        self._by_database[database] = vnodes
        self._list()
        self._wall_offset_ms = None

    def remove(self, database: str) -> list[Vnode]:
        """Stop serving the database's vnodes, and return them."""
        vnodes = self._by_database.pop(database)
        self._list()
        return vnodes


def last_wall_ms(store: Store, vnodes: Mapping[str, list[Vnode]]) -> int | None:
    """Return the latest time of day at which a log was written; None when none was scanned."""
    logs = [store.catalogue.log, *(vnode.log for found in vnodes.values() for vnode in found)]
    return max((log.recovery.last_wall_ms for log in logs), default=0) or None
