"""A data directory with a vnode, the store that it is copied to, and what a reader finds in either."""

from __future__ import annotations

from collections.abc import Callable, Generator

from tests.wal.logs import batch
from tests.wal.stores import OPTIONS, open_store
from wal.errors import RemoteWaits
from wal.log import VnodeLog
from wal.log_view import LogView
from wal.memory_disk import MemoryDisk
from wal.memory_objects import MemoryObjects
from wal.remote.read_objects import read_manifest
from wal.remote.restore import RemoteRestore
from wal.remote.uploader import RoundReport, Uploader
from wal.remote_record import RemoteRecord
from wal.segment import FileRange, base_version_of, segment_name
from wal.store import Store
from wal.tierable import LocalPolicy

LARGE = 1 << 30


class Node:
    """A store with one vnode, and its uploader."""

    def __init__(
        self, objects: MemoryObjects, *, disk: MemoryDisk | None = None, incarnation: str = "a"
    ) -> None:
        self.disk = disk or MemoryDisk()
        self.objects = objects
        self.now_ms = 0
        self.store: Store = open_store(self.disk)
        self.store.create_vnode("default", 0)
        self.log: VnodeLog = self.store.open_vnode("default", 0, now_ms=0, options=OPTIONS)
        self.store.blocks.connect(objects, limit_bytes=1 << 20, submit=here)
        self.uploader = Uploader(
            objects,
            self.disk,
            path="data",
            identity=self.store.identity,
            incarnation=incarnation,
            delete_delay_ms=1_000,
        )

    def append(self, *bodies: bytes, stream: int = 7) -> None:
        """Append a batch for each body, one frame each."""
        for body in bodies:
            self.log.append(stream, batch(body=body))
            self.commit(self.log)

    def record(self, record: bytes) -> None:
        """Append a record to the catalogue."""
        self.store.catalogue.append(record)
        self.commit(self.store.catalogue.log)

    def commit(self, log: VnodeLog) -> None:
        """Write and sync what is open, and do the upkeep that is due."""
        self.now_ms += 1
        while (job := log.begin_sync(self.now_ms)) is not None:
            job.run()
            log.synced(job, self.now_ms)
        while (work := log.begin_maintenance(self.now_ms)) is not None:
            work.run()
            log.maintained(work, self.now_ms)

    def tier(self, *, stays: tuple[int, ...] = (), budget_bytes: int = LARGE) -> list[int]:
        """Have segments leave the disk that the store has, but for those with a stream that stays."""
        everything = LocalPolicy(-1, 0)
        steps = self.log.tierable(lambda stream: None if stream in stays else everything, wall_ms=self.now_ms)
        log = "default/vnode-0"
        proofs = self.uploader.proved({log: at_once(steps)}, budget_bytes=budget_bytes)
        records = proofs.records.get(log, [])
        self.log.tier(records)
        self.commit(self.log)
        return [record.base_version for record in records]

    def local_files(self) -> list[str]:
        """Return the names of the segments that are on the disk."""
        return [name for name in self.disk.list("data/default/vnode-0") if base_version_of(name) is not None]

    def views(self) -> dict[str, LogView]:
        """Return the logs as the event loop sees them."""
        return {
            "meta": self.store.catalogue.log.view(),
            "default/vnode-0": self.log.view(),
        }

    def round(self, *, budget_bytes: int = LARGE) -> RoundReport:
        """Upload what is missing."""
        if self.uploader.cut is None:
            self.uploader.take_over(self.views(), self.now_ms)
        return self.uploader.round(self.views(), budget_bytes=budget_bytes, now_ms=self.now_ms)


def here(work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
    """Do the work at once, as a thread would later."""
    try:
        work()
    except Exception as error:  # noqa: BLE001
        done(error)
    else:
        done(None)


def at_once(steps: Generator[None, None, list[int]]) -> list[int]:
    """Return what the steps return, without a pause."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return list(end.value)


def restored(objects: MemoryObjects, *, cluster_id: str = "cluster") -> MemoryDisk:
    """Return a disk with the data directory made from the copy."""
    disk = MemoryDisk()
    for _ in RemoteRestore(objects, disk, cluster_id=cluster_id, data="data").run():
        pass
    return disk


def bodies(log: VnodeLog, stream: int = 7) -> list[bytes]:
    """Return the bodies of a stream's batches, in order."""
    found: list[bytes] = []
    offset = log.log_start(stream)
    while offset < log.high_watermark(stream):
        try:
            result = log.read(stream, offset, 1 << 20)
        except RemoteWaits:
            continue  # it was fetched meanwhile
        data = b"".join(part.read() if isinstance(part, FileRange) else bytes(part) for part in result.parts)
        while data:
            size = int.from_bytes(data[8:12], "big") + 12
            found.append(data[61:size])
            data = data[size:]
        offset = result.next_offset
    return found


def without_files(node: Node, count: int = 2) -> dict[str, LogView]:
    """Remove the files of the oldest uploaded segments, and return views that tell of them by records."""
    uploader = node.uploader
    assert uploader.cut is not None
    log = "default/vnode-0"
    key = f"{node.store.identity.cluster_id}/{log}"
    segments = read_manifest(node.objects, key, uploader.cut.logs[log]).segments[:count]
    records = {
        segment.base_version: RemoteRecord(
            segment.base_version, segment.salt, f"{key}/{segment.stem}.wal", segment.size_bytes, segment.crc
        )
        for segment in segments
    }
    for segment in segments:
        path = f"data/{log}/{segment_name(segment.base_version)}"
        if node.disk.exists(path):
            node.disk.remove(path)
    views = node.views()
    return {**views, log: views[log]._replace(remote=records)}
