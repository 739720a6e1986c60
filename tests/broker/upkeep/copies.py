"""The copy of a simulated broker in a simulated store."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from broker.upkeep.remote_copy import RemoteCopy
from tests.broker.gateway import Gateway
from wal.memory_objects import MemoryObjects
from wal.remote.uploader import Uploader


def copy_of(gateway: Gateway, objects: MemoryObjects, probe: Callable[[], None] = lambda: None) -> RemoteCopy:
    """Have the broker keep a copy from now on."""
    broker = gateway.broker
    uploader = Uploader(
        objects,
        gateway.disk,
        path=broker.store.path,
        identity=broker.store.identity,
        incarnation="a",
        delete_delay_ms=1_000,
    )
    broker.store.blocks.connect(objects, limit_bytes=64 << 20, submit=broker.scheduler.offload)
    broker.remote = RemoteCopy(
        broker,
        broker.catalogue,
        broker.topics,
        broker.vnodes,
        lambda: broker.config,
        uploader=uploader,
        probe=probe,
        submit=broker.scheduler.offload,
        random=Random(1),
    )
    return broker.remote
