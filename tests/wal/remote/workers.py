"""Workers of one data directory: each has its logs, and its uploader at a place of its own in one store."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count as counter

from tests.wal.logs import batch
from tests.wal.remote.copies import LARGE, at_once, bodies, here
from tests.wal.remote.folders import Folder
from tests.wal.stores import IDENTITY, OPTIONS
from wal.log import VnodeLog
from wal.log_view import LogView
from wal.memory_disk import MemoryDisk
from wal.memory_objects import MemoryObjects
from wal.remote.places import Share, node_folder
from wal.remote.restore import RemoteRestore
from wal.remote.uploader import RoundReport, Uploader
from wal.store import Store
from wal.tierable import LocalPolicy

INCARNATIONS = counter()


class Worker:
    """The process of one worker; worker 0 makes the vnodes, with a record of each in the catalogue."""

    def __init__(
        self,
        objects: MemoryObjects,
        disk: MemoryDisk,
        number: int,
        *,
        count: int = 2,
        vnodes: int = 2,
        incarnation: str = "",
    ) -> None:
        self.disk, self.number, self.now_ms = disk, number, 0
        if number:
            self.store = Store.follow(disk, "data", records=[], now_ms=0, options=OPTIONS)
        else:
            self.store = Store.open(
                disk, "data", new_identity=IDENTITY, now_ms=0, options=OPTIONS, locks=False
            )
            for index in range(vnodes):
                self.store.create_vnode("default", index)
            if not self.store.catalogue.records:
                self.record(*(f"default/vnode-{index}" for index in range(vnodes)))
        self.logs = {
            f"default/vnode-{index}": self.store.open_vnode("default", index, now_ms=0, options=OPTIONS)
            for index in range(number, vnodes, count)
        }
        place = Folder(objects, node_folder(number))
        self.store.blocks.connect(place, limit_bytes=1 << 20, submit=here)
        self.uploader = Uploader(
            place,
            disk,
            path="data",
            identity=self.store.identity,
            incarnation=incarnation or f"process-{next(INCARNATIONS)}",
            delete_delay_ms=1_000,
            share=Share(number, count),
            first=Folder(objects, "") if number else None,
        )

    @property
    def log(self) -> VnodeLog:
        """The first log that it leads."""
        return self.logs[f"default/vnode-{self.number}"]

    def record(self, *logs: str) -> None:
        """Have the catalogue know these logs."""
        for name in logs:
            self.store.catalogue.append(name.encode())
        self.commit(self.store.catalogue.log)

    def append(self, *found: bytes, stream: int = 7) -> None:
        """Append a batch for each body, one frame each."""
        for body in found:
            self.log.append(stream, batch(body=body))
            self.commit(self.log)

    def commit(self, log: VnodeLog) -> None:
        """Write and sync what is open, and do the upkeep that is due."""
        self.now_ms += 1
        while (job := log.begin_sync(self.now_ms)) is not None:
            job.run()
            log.synced(job, self.now_ms)
        while (work := log.begin_maintenance(self.now_ms)) is not None:
            work.run()
            log.maintained(work, self.now_ms)

    def checkpoint(self) -> None:
        """Write two checkpoints, so that no start needs the closed segments."""
        for log in self.logs.values():
            for _ in range(2):
                log.storage[1].checkpoint_wanted = True
                self.commit(log)

    def tier(self, *, budget_bytes: int = LARGE) -> None:
        """Have segments leave the disk that the store has."""
        for name, log in self.logs.items():
            steps = log.tierable(lambda _stream: LocalPolicy(-1, 0), wall_ms=self.now_ms)
            proofs = self.uploader.proved({name: at_once(steps)}, budget_bytes=budget_bytes)
            log.tier(proofs.records.get(name, []))
            self.commit(log)

    def views(self) -> dict[str, LogView]:
        """Return its logs as its event loop sees them."""
        own = {"meta": self.store.catalogue.log.view()} if not self.number else {}
        return own | {name: log.view() for name, log in self.logs.items()}

    def round(self, *, budget_bytes: int = LARGE) -> RoundReport:
        """Upload what is missing."""
        if self.uploader.cut is None:
            self.uploader.take_over(self.views(), self.now_ms)
        return self.uploader.round(self.views(), budget_bytes=budget_bytes, now_ms=self.now_ms)


def workers_over(objects: MemoryObjects, *, count: int = 2, vnodes: int = 2) -> list[Worker]:
    """Return the workers of a new directory."""
    disk = MemoryDisk()
    return [
        Worker(objects, disk, number, count=count, vnodes=vnodes, incarnation=f"first-{number}")
        for number in range(count)
    ]


def known_logs(records: Iterable[bytes]) -> list[str]:
    """Return the logs that these records of the catalogue name."""
    return [record.decode() for record in records]


def restore_of(
    objects: MemoryObjects, disk: MemoryDisk, *, at_ms: int | None = None, first: str = ""
) -> RemoteRestore:
    """Return the restore of all copies; `first` is the folder that is named to it."""
    return RemoteRestore(
        Folder(objects, first),
        disk,
        cluster_id="cluster",
        data="data",
        at_ms=at_ms,
        place_of=lambda number: Folder(objects, node_folder(number)),
        vnodes_of=known_logs,
    )


def all_restored(objects: MemoryObjects, *, at_ms: int | None = None) -> MemoryDisk:
    """Return a disk with the directory made from the copies of all workers."""
    disk = MemoryDisk()
    for _ in restore_of(objects, disk, at_ms=at_ms).run():
        pass
    return disk


def found_in(disk: MemoryDisk, *, vnodes: int = 2) -> list[list[bytes]]:
    """Return what one process finds in each log of a directory, which it opens as any other."""
    store = Store.open(disk, "data", new_identity=IDENTITY, now_ms=0, options=OPTIONS, locks=False)
    logs = [store.open_vnode("default", index, now_ms=0, options=OPTIONS) for index in range(vnodes)]
    assert all(log.state == "OPEN" for log in logs)
    return [bodies(log) for log in logs]
