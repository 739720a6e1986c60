"""The copies of all nodes of a cluster, as their store has them: for people who look after it.

Nothing is changed, and nothing that must be right depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from wal.errors import StoreError
from wal.objects import NoSuchObject, ObjectStore, ObjectStoreError
from wal.remote.formats import CUT, Cut, open_cut
from wal.remote.heartbeat import Sign, read_sign
from wal.remote.journal_format import JOURNAL, mark_of
from wal.remote.restore import clusters_in


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCopy:
    """The copy of one node; without a cut there is none, or it could not be read."""

    number: int
    place: str
    """The address of its folder, for people."""
    cluster_id: str = ""
    cut: Cut | None = None
    sign: Sign | None = None
    chunks: int = 0
    """The chunks of the journal that are newer than the cut; a take-over reads them."""
    chunk_bytes: int = 0
    is_away: bool = False
    """The store did not answer, or refused."""
    problem: str = ""
    """The reason why the copy cannot be read."""


def read_copy(store: ObjectStore, number: int, cluster_id: str = "") -> NodeCopy:
    """Read what a node's place has: two requests, and one for each thousand chunks.

    Without a `cluster_id` it is that of the one copy there, for which all names are listed.  Errors are in
    the answer.
    """
    found = NodeCopy(number=number, place=store.name, cluster_id=cluster_id)
    try:
        if not cluster_id:
            clusters = clusters_in(store)
            if len(clusters) != 1:
                several = f"copies of {len(clusters)} clusters are there: {', '.join(clusters)}"
                return replace(found, problem=several if clusters else "")
            found = replace(found, cluster_id=clusters[0])
        return _read(store, found)
    except ObjectStoreError as error:
        return replace(found, is_away=True, problem=str(error))
    except StoreError as error:
        return replace(found, problem=str(error))


def _read(store: ObjectStore, found: NodeCopy) -> NodeCopy:
    """Return what is there.  Raises: StoreError; ObjectStoreError."""
    prefix = found.cluster_id
    try:
        cut = open_cut(store.read(f"{prefix}/{CUT}").data, f"{store.name}/{prefix}/{CUT}")
    except NoSuchObject:
        return found
    sizes = [] if cut.journal is None else _chunk_sizes(store, prefix, cut)
    return replace(found, cut=cut, sign=read_sign(store, prefix), chunks=len(sizes), chunk_bytes=sum(sizes))


def _chunk_sizes(store: ObjectStore, prefix: str, cut: Cut) -> list[int]:
    """Return the sizes of the journal's chunks that are not in the cut."""
    assert cut.journal is not None
    return [
        size_bytes
        for key, size_bytes in store.list(f"{prefix}/{JOURNAL}/")
        if (mark := mark_of(key, prefix)) is not None and mark >= cut.journal
    ]
