"""A data directory whose log waits for a store, and the journal on the way there, call by call."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from tests.wal.logs import batch
from tests.wal.stores import OPTIONS, open_store
from wal.jobs import CommitJob
from wal.log import VnodeLog
from wal.log_view import LogView
from wal.memory_disk import MemoryDisk
from wal.memory_objects import MemoryObjects
from wal.remote.formats import JournalMark
from wal.remote.journal import Journal, Put
from wal.remote.uploader import RoundReport, Uploader
from wal.store import META, Store
from wal.unstored import FileSlice, LogPlace

REMOTE = replace(OPTIONS, durability="remote")
FIRST, SECOND = "default/vnode-0", "default/vnode-1"


class LogCommit(NamedTuple):
    """A commit of a log."""

    name: str
    log: VnodeLog
    job: CommitJob

    def slices(self, since: LogPlace) -> list[FileSlice]:
        """Return the bytes of the log's files from a place to the end of the commit."""
        return self.log.slices(since, self.job)


class Writer:
    """A directory with two logs of durability `remote`, its journal and its uploader."""

    def __init__(
        self, objects: MemoryObjects | None = None, disk: MemoryDisk | None = None, *, incarnation: str = "a"
    ) -> None:
        self.objects = objects or MemoryObjects()
        self.disk = disk or MemoryDisk()
        self.now_ms = 0
        self.store: Store = open_store(self.disk)
        self.logs: dict[str, VnodeLog] = {}
        for index in range(2):
            self.store.create_vnode("default", index)
            self.logs[f"default/vnode-{index}"] = self.store.open_vnode(
                "default", index, now_ms=0, options=REMOTE
            )
        self.meta = self.store.catalogue.log
        self.journal = Journal[LogCommit](
            self.objects,
            prefix="cluster",
            incarnation=incarnation,
            logs=lambda: [META, *self.logs],
            companion=(META, self.meta),
        )
        self.uploader = Uploader(
            self.objects, self.disk, path="data", identity=self.store.identity, incarnation=incarnation,
            delete_delay_ms=1_000,
        )  # fmt: skip

    def write(self, body: bytes, name: str = FIRST, stream: int = 7) -> LogCommit:
        """Have a commit on the disk, and in the journal."""
        log = self.logs[name]
        log.append(stream, batch(body=body))
        return self.flush(name)

    def flush(self, name: str = FIRST) -> LogCommit:
        """Have what was appended on the disk, and in the journal."""
        self.now_ms += 1
        log = self.logs[name]
        job = log.begin_sync(self.now_ms)
        assert isinstance(job, CommitJob)
        job.run()
        log.written(job, self.now_ms)
        commit = LogCommit(name, log, job)
        self.journal.add(commit)
        return commit

    def record(self, record: bytes) -> None:
        """Append a record to the catalogue, which counts at once."""
        self.store.catalogue.append(record)
        self.sync_meta()

    def sync_meta(self, after_ms: int = 1) -> None:
        """Write what the catalogue's log has to write after some time."""
        self.now_ms += after_ms
        while (job := self.meta.begin_sync(self.now_ms)) is not None:
            job.run()
            self.meta.synced(job, self.now_ms)

    def views(self) -> dict[str, LogView]:
        """Return all logs as the event loop sees them."""
        return {META: self.meta.view(), **{name: log.view() for name, log in self.logs.items()}}

    def round(self) -> RoundReport:
        """Bring the copy up to now; the journal follows it."""
        if self.uploader.cut is None:
            self.uploader.take_over(self.views(), self.now_ms)
        places = {META: self.meta.place, **{name: log.place for name, log in self.logs.items()}}
        report = self.uploader.round(
            self.views(), budget_bytes=1 << 30, now_ms=self.now_ms, chunk=self.journal.mark.number
        )
        self.journal.covered(places)
        if self.journal.mark.epoch == 0:
            assert self.uploader.cut is not None
            self.journal.open(self.uploader.cut.epoch)
        return report

    def done(self, put: Put[LogCommit], error: Exception | None = None) -> list[LogCommit]:
        """Have the journal learn of a chunk, and the logs of what counts."""
        counting = self.journal.done(put, error)
        for commit in counting:
            commit.log.synced(commit.job, self.now_ms)
        return counting

    def send(self) -> list[Put[LogCommit]]:
        """Send all that can be sent at once; return it."""
        sent = []
        while puts := self.journal.begin():
            for put in puts:
                put.run()
                self.done(put)
            sent += puts
        return sent


def opened(objects: MemoryObjects | None = None) -> Writer:
    """Return a writer whose journal is open and follows a cut."""
    writer = Writer(objects)
    writer.record(b"catalogue")
    writer.round()
    return writer


def mark(epoch: int, number: int) -> JournalMark:
    """Return a place in a journal."""
    return JournalMark(epoch, number)
