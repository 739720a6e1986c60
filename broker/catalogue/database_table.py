"""The databases of the catalogue, by name, and the effect of their records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from broker.catalogue.catalogue_records import (
    DatabaseConfigs,
    DatabaseCreated,
    DatabaseDropped,
    DirectoryRemoved,
    VnodesAdded,
)
from broker.catalogue.databases import Database

DatabaseRecord: TypeAlias = (
    DatabaseCreated | DatabaseConfigs | DatabaseDropped | DirectoryRemoved | VnodesAdded
)

Halves: TypeAlias = tuple[Callable[[], object], Callable[[], object]]
"""The action for when a planned record is durable, and the one for when it is lost."""


def _nothing() -> None:
    """Do nothing: the other half of a change that is done in one step."""


class Databases(dict[str, Database]):
    """All databases by name, planned ones too.

    `dropped` are the directories of dropped databases that may still be there, with the databases' names.
    """

    def __init__(self) -> None:
        super().__init__()
        self.dropped: dict[str, str] = {}
        self._listeners: list[Callable[[Database], None]] = []

    def listen(self, listener: Callable[[Database], None]) -> None:
        """Call `listener(database)` whenever settings of a database have changed."""
        self._listeners.append(listener)

    def plan(self, record: DatabaseRecord) -> Halves:
        """Apply a record as far as is right while it may still be lost."""
        match record:
            case DatabaseCreated():
                new = self[record.name] = Database(record)
                return new.confirm, lambda: self.pop(record.name)
            case DatabaseConfigs():
                return self._plan_configs(self[record.name], record.configs)
            case VnodesAdded():
                # Nothing may be placed on the new vnode before it is durable that there is one.
                return lambda: self._grow(record), _nothing
            case DatabaseDropped():
                return self._plan_drop(record)
            case DirectoryRemoved():
                return lambda: self.dropped.pop(record.directory, None), _nothing

    def _plan_configs(self, database: Database, configs: dict[str, str]) -> Halves:
        before = database.configs

        def put(configs: dict[str, str]) -> None:
            database.set_configs(configs)
            for listener in self._listeners:
                listener(database)

        put(configs)
        return _nothing, lambda: put(before)

    def _grow(self, record: VnodesAdded) -> None:
        self[record.name].vnode_count = record.vnode_count

    def _plan_drop(self, record: DatabaseDropped) -> Halves:
        # In a snapshot the record stands alone, and the name may be another database's by now.
        known = self.get(record.name)
        gone = self.pop(record.name) if known is not None and known.directory == record.directory else None

        def undo() -> None:
            if gone is not None:
                self[record.name] = gone

        return lambda: self.dropped.setdefault(record.directory, record.name), undo

    def snapshot(self) -> Iterator[DatabaseRecord]:
        """Yield the records that replay to this table."""
        for database in self.values():
            yield DatabaseCreated(
                name=database.name,
                vnode_count=database.vnode_count,
                first_vnode_count=database.first_vnode_count if database.spread else 0,
                durability=database.durability,
                directory=database.directory,
                created_ms=database.created_ms,
                configs=database.configs,
            )
        for directory, name in self.dropped.items():
            yield DatabaseDropped(name=name, directory=directory)
