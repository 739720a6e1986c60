"""The copy of a simulated broker in a simulated store."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from broker.loop.slices import Offload
from broker.server.remote_setup import share_of
from broker.upkeep.remote_copy import RemoteCopy
from broker.upkeep.remote_journal import RemoteJournal
from tests.broker.gateway import Gateway
from wal.objects import ObjectStore
from wal.read_rate import ReadRate
from wal.remote.uploader import Uploader


def copy_of(
    gateway: Gateway,
    objects: ObjectStore,
    probe: Callable[[], None] = lambda: None,
    *,
    incarnation: str = "a",
    submit: Offload | None = None,
) -> RemoteCopy:
    """Have the broker keep a copy from now on; `submit` is its threads for the store."""
    broker = gateway.broker
    submit = submit or broker.scheduler.offload
    uploader = Uploader(
        objects,
        gateway.disk,
        path=broker.store.path,
        identity=broker.store.identity,
        incarnation=incarnation,
        delete_delay_ms=1_000,
        share=share_of(broker),
    )
    broker.store.blocks.connect(objects, limit_bytes=64 << 20, submit=broker.scheduler.offload)
    journal = RemoteJournal(
        broker,
        lambda: broker.config,
        objects=objects,
        incarnation=incarnation,
        store=broker.store,
        vnodes=broker.vnodes,
        outcomes=broker.logs,
        submit=submit,
        random=Random(2),
    )
    broker.remote = RemoteCopy(
        broker,
        broker.catalogue,
        broker.topics,
        broker.vnodes,
        lambda: broker.config,
        uploader=uploader,
        probe=probe,
        submit=submit,
        journal=journal,
        reads=ReadRate(
            lambda: broker.config.remote_log_manager_fetch_max_bytes_per_second, lambda: broker.clock.turn_ms
        ),
        random=Random(1),
    )
    return broker.remote
