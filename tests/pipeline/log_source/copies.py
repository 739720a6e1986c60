"""The copy of a data directory in an object store in memory, and the store as a query finds it."""

from __future__ import annotations

from pathlib import Path

from tests.wal.stores import OPTIONS, open_store
from wal.disk import OsDisk
from wal.memory_objects import MemoryObjects
from wal.remote.uploader import Uploader


class MemoryCopies(MemoryObjects):
    """The store, with the clusters that have a copy in it."""

    def clusters(self) -> list[str]:
        """Return the first level of keys."""
        return sorted({key.partition("/")[0] for key in self.objects})


def copy_of(data: Path) -> MemoryCopies:
    """Return the copy of a stopped gateway's directory."""
    objects, disk = MemoryCopies(), OsDisk()
    store = open_store(disk, str(data))
    views = {"meta": store.catalogue.log.view()}
    for path in sorted(data.glob("*/vnode-*")):
        database, number = path.parent.name, int(path.name.removeprefix("vnode-"))
        log = store.open_vnode(database, number, now_ms=0, options=OPTIONS)
        views[f"{database}/{path.name}"] = log.view()
    uploader = Uploader(
        objects, disk, path=str(data), identity=store.identity, incarnation="a", delete_delay_ms=0
    )
    uploader.take_over(views, 0)
    report = uploader.round(views, budget_bytes=1 << 30, now_ms=0)
    assert not report.segments_missing
    store.close(0)
    return objects
