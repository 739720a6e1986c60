"""The copy of a data directory in an object store in memory, and the store as a query finds it.

The directory may be divided as if several nodes had made it: each copies its own logs to its own folder.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from broker.catalogue.nodes import node_of_vnode
from tests.wal.stores import OPTIONS, open_store
from wal.disk import OsDisk
from wal.memory_objects import MemoryObjects
from wal.remote.formats import CUT
from wal.remote.places import ALL, Share, node_folder
from wal.remote.uploader import Uploader


class MemoryCopies(MemoryObjects):
    """The store, with the clusters that have a copy in it."""

    def clusters(self) -> list[str]:
        """Return those names on the first level that have a cut."""
        names = {key.partition("/")[0] for key in self.objects}
        return sorted(name for name in names if f"{name}/{CUT}" in self.objects)


def copy_of(data: Path, nodes: int = 1, *, are_workers: bool = False) -> MemoryCopies:
    """Return the copy of a stopped gateway's directory, or those that so many nodes or workers make."""
    found = MemoryCopies()
    for node in range(nodes):
        folder = node_folder(node)
        made = _copy(data, node, nodes, are_workers=are_workers).objects
        found.objects |= {f"{folder}/{key}" if folder else key: value for key, value in made.items()}
    return found


def _copy(data: Path, node: int, nodes: int, *, are_workers: bool) -> MemoryCopies:
    objects, disk = MemoryCopies(), OsDisk()
    store = open_store(disk, str(data))
    views = {} if node else {"meta": store.catalogue.log.view()}
    for path in sorted(data.glob("*/vnode-*")):
        database, number = path.parent.name, int(path.name.removeprefix("vnode-"))
        if node_of_vnode(number, nodes) == node:
            log = store.open_vnode(database, number, now_ms=0, options=OPTIONS)
            views[f"{database}/{path.name}"] = log.view()
    uploader = Uploader(
        objects,
        disk,
        path=str(data),
        identity=store.identity if are_workers else replace(store.identity, node=node, nodes=nodes),
        incarnation="a",
        delete_delay_ms=0,
        share=Share(node, nodes) if are_workers else ALL,
    )
    uploader.take_over(views, 0)
    report = uploader.round(views, budget_bytes=1 << 30, now_ms=0)
    assert not report.segments_missing
    store.close(0)
    return objects
