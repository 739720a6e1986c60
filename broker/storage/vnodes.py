"""The vnodes of a node: the log of the catalogue, and those of every database that serves."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace

from broker.errors import RequestError
from broker.loop.clock import Clock
from broker.storage.mixed_classes import ADVICE, mixed_classes
from broker.storage.vnode import Journal, Vnode
from protocol.error_codes import ErrorCode
from wal.options import Durability
from wal.store import Store

logger = logging.getLogger("kawal.broker")

WALL_STEP_MS = 1_000
"""The logs learn of a change of the wall clock by this much: it is for their frames' times alone."""


class Vnodes(Mapping[str, list[Vnode]]):
    """The vnodes that this node leads, by database; `every` lists all, the catalogue's own (`meta`) first."""

    def __init__(self, meta: Vnode, by_database: Mapping[str, list[Vnode]]) -> None:
        self.meta = meta
        self._by_database = dict(by_database)
        self._wall_offset_ms: int | None = None
        self._journal: Journal | None = None
        self._told: str | None = None
        """What was said of databases that are safer than `default`."""
        self.every: list[Vnode] = []
        self._by_index: dict[str, dict[int, Vnode]] = {}
        self._list()
        self.follow_durability()
        # The leader epoch of every partition: constant, as only a start begins one.
        self.leader_epoch = max(vnode.log.largest_leader_epoch() for vnode in self.every)

    def _list(self) -> None:
        for vnodes in self.values():
            for vnode in vnodes:
                vnode.journal = self._journal
        self.every = [self.meta, *(vnode for vnodes in self.values() for vnode in vnodes)]
        self._by_index = {
            name: {vnode.index: vnode for vnode in vnodes} for name, vnodes in self._by_database.items()
        }

    def __getitem__(self, database: str) -> list[Vnode]:
        return self._by_database[database]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_database)

    def __len__(self) -> int:
        return len(self._by_database)

    def with_appends(self) -> list[Vnode]:
        """Return those to which something was appended that no job has yet."""
        return [vnode for vnode in self.every if vnode.log.pending]

    def at(self, database: str, index: int) -> Vnode:
        """Return a vnode by its number.  Raises: RequestError(NOT_LEADER_OR_FOLLOWER) if others lead it."""
        found = self.here(database, index)
        if found is None:
            raise RequestError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"another node leads vnode {index} of database {database!r}"
            )
        return found

    def here(self, database: str, index: int) -> Vnode | None:
        """Return a vnode by its number; None if it is not open in this process."""
        return self._by_index.get(database, {}).get(index)

    @property
    def know_time(self) -> bool:
        """Whether every log has been told the time of day; one of a new database has not."""
        return self._wall_offset_ms is not None

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

    def join(self, journal: Journal) -> None:
        """Let commits of durability `remote` pass through a journal from now on."""
        self._journal = self.meta.journal = journal
        self._list()
        for vnode in self.every:
            vnode.is_confirmed = vnode.log.options.durability != "remote"
            if not vnode.is_confirmed:
                vnode.log.hide_replayed()

    def follow_durability(self) -> None:
        """Let changes of the catalogue be as safe as the safest database: its records need it."""
        options = self.meta.log.options
        classes = {name: vnodes[0].log.options.durability for name, vnodes in self.items() if vnodes}
        wanted: Durability = "remote" if "remote" in classes.values() else "disk"
        if options.durability != wanted:
            self.meta.log.change_options(replace(options, durability=wanted))
        text = mixed_classes(classes)
        if text is not None and text != self._told:
            logger.warning("%s; %s", text, ADVICE)
        self._told = text

    def add(self, database: str, vnodes: list[Vnode]) -> None:
        """Start to serve a database's vnodes."""
        self._by_database[database] = vnodes
        self._list()
        self.follow_durability()
        self._wall_offset_ms = None

    def remove(self, database: str) -> list[Vnode]:
        """Stop serving the database's vnodes, and return them."""
        vnodes = self._by_database.pop(database)
        for vnode in vnodes:
            if vnode.journal is not None:
                vnode.journal.forget(vnode)
        self._list()
        self.follow_durability()
        return vnodes


def last_wall_ms(store: Store, vnodes: Mapping[str, list[Vnode]]) -> int | None:
    """Return the latest time of day at which a log was written; None when none was scanned."""
    logs = [store.catalogue.log, *(vnode.log for found in vnodes.values() for vnode in found)]
    return max((log.recovery.last_wall_ms for log in logs), default=0) or None
