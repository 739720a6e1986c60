"""The vnodes of a node: the log of the catalogue, and those of every database that serves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from broker.storage.vnode import Vnode


class Vnodes(Mapping[str, list[Vnode]]):
    """The vnodes by database; `every` lists all of them, the catalogue's own (`meta`) first."""

    def __init__(self, meta: Vnode, by_database: Mapping[str, list[Vnode]]) -> None:
        self.meta = meta
        self._by_database = dict(by_database)
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

    def add(self, database: str, vnodes: list[Vnode]) -> None:
        """Start to serve a database's vnodes."""
        self._by_database[database] = vnodes
        self._list()

    def remove(self, database: str) -> list[Vnode]:
        """Stop serving the database's vnodes, and return them."""
        vnodes = self._by_database.pop(database)
        self._list()
        return vnodes
