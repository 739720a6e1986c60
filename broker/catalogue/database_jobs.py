"""The disk work for databases, done in threads: their directories and logs are made, and removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from broker.catalogue.catalogue_records import DatabaseCreated
from broker.catalogue.databases import Database, vnode_options
from broker.errors import RequestError
from wal.log import VnodeLog
from wal.maintenance_jobs import Job
from wal.options import LogOptions
from wal.store import Store

Done = Callable[[RequestError | None], None]
"""Called once: with None when all is done and durable, else with the error for the client."""


@dataclass(slots=True, eq=False)
class MakeJob(Job):
    """The job that makes a database's directories and opens the logs of the vnodes that are `led` here.

    `kept` are the vnodes whose directories it makes; those of others are made by another node.
    """

    store: Store
    record: DatabaseCreated
    led: range
    kept: range
    options: LogOptions
    now_ms: int
    done: Done | None
    logs: list[VnodeLog] = field(default_factory=list)

    def run(self) -> None:
        """Make, sync, open; if that fails, what was made is left to be removed."""
        directory = self.record.directory
        for index in self.kept:
            self.store.create_vnode(directory, index)
        for index in self.led:
            options = vnode_options(self.options, index)
            self.logs.append(self.store.open_vnode(directory, index, now_ms=self.now_ms, options=options))


@dataclass(slots=True, eq=False)
class SplitJob(Job):
    """The job that makes one vnode more for a database, and opens its log if it is `led` here.

    `kept`: it makes the directory, too.
    """

    store: Store
    database: Database
    index: int
    led: bool
    kept: bool
    options: LogOptions
    now_ms: int
    done: Done | None
    log: VnodeLog | None = None

    def run(self) -> None:
        """Make, sync, open."""
        directory, index = self.database.directory, self.index
        if self.kept:
            self.store.create_vnode(directory, index)
        if not self.led:
            return
        options = vnode_options(self.options, index)
        self.log = self.store.open_vnode(directory, index, now_ms=self.now_ms, options=options)


@dataclass(slots=True, eq=False)
class RemoveJob(Job):
    """The job that removes a directory that belongs to no database of the catalogue."""

    store: Store
    directory: str
    failed: bool = False
    """It has failed once: files whose removal was not synced may come back until the next start."""

    def run(self) -> None:
        """Remove what is left of the directory."""
        self.store.remove_database(self.directory)


def vnodes_made_by(jobs: Iterable[Job]) -> int:
    """Return the number of vnodes that these jobs are to make, of all nodes."""
    return sum(
        job.record.vnode_count if isinstance(job, MakeJob) else 1
        for job in jobs
        if isinstance(job, MakeJob | SplitJob)
    )
