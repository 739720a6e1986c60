"""The storage of the logs that a node leads, as `__kawal_storage_state` tells it."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Final

from wal.storage_state import storage_state, storage_version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker.catalogue.metadata import Metadata
    from broker.catalogue.nodes import Nodes
    from broker.storage.vnode import Vnode
    from broker.storage.vnodes import Vnodes

LOGS_PER_BATCH: Final = 100
"""The logs told at once, at 0.1 ms; further ones have their turn at the next look."""

Version = tuple[int, ...]


def own_logs(metadata: Metadata, vnodes: Vnodes) -> dict[str, Vnode]:
    """Return the logs by their names; that of the catalogue is the controller's, others have a copy."""
    is_controller = metadata.nodes.is_controller
    return {vnode.name: vnode for vnode in vnodes.every if is_controller or vnode is not vnodes.meta}


def changed_logs(logs: Mapping[str, Vnode], known: Mapping[str, Version]) -> tuple[dict[str, Version], bool]:
    """Return the versions of the first logs that are not as they are known, and whether there are more."""
    changed = (
        (name, version)
        for name, vnode in logs.items()
        if (version := storage_version(vnode.log)) != known.get(name)
    )
    found = list(islice(changed, LOGS_PER_BATCH + 1))
    return dict(found[:LOGS_PER_BATCH]), len(found) > LOGS_PER_BATCH


def value_of(vnode: Vnode, wall_ms: int, nodes: Nodes) -> bytes:
    """Return the value that tells of a log: a JSON object."""
    told = {"log": vnode.name, "time_ms": wall_ms}
    if nodes.count > 1:
        told["node"] = nodes.own_id
    return json.dumps({**told, **storage_state(vnode.log)}).encode()
