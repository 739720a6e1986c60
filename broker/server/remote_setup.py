"""The copy in an object store, from settings to the task that keeps it."""

from __future__ import annotations

import os
from typing import Final

from broker.config.config import Config
from broker.config.config_keys import ConfigProblem
from broker.core import Broker
from broker.server.listeners import StartError
from broker.server.object_probe import probe
from broker.server.object_store import StorePlace, open_store
from broker.server.workers import DiskWorkers
from broker.upkeep.remote_copy import RemoteCopy
from wal.disk import OsDisk
from wal.remote.uploader import Uploader

READ_WAIT_MS: Final = 500
"""How long a fetch waits for a block, as by default in Kafka (remote.fetch.max.wait.ms)."""


def place_of(config: Config) -> StorePlace:
    """Return the place that the settings name, with the environment's credentials."""
    assert config.kawal_remote_store is not None
    return StorePlace(
        url=config.kawal_remote_store,
        endpoint=config.kawal_remote_endpoint.rstrip("/"),
        region=config.kawal_remote_region,
        credentials=os.environ,
    )


def start_copy(broker: Broker, config: Config, workers: DiskWorkers) -> None:
    """Copy the broker's logs from now on; the store is first asked a second later, in a thread.

    Raises: StartError when obstore is not installed.
    """
    try:
        store = open_store(place_of(config))
    except ConfigProblem as problem:
        raise StartError(str(problem)) from problem
    incarnation = f"{broker.random.getrandbits(64):016x}"
    uploader = Uploader(
        store,
        OsDisk(),
        path=broker.store.path,
        identity=broker.store.identity,
        incarnation=incarnation,
        delete_delay_ms=config.kawal_remote_delete_delay_ms,
    )
    broker.store.blocks.connect(
        store,
        limit_bytes=config.kawal_remote_cache_bytes,
        submit=workers.submit_remote_read,
        later=lambda call: broker.timers.add(broker.clock.turn_ms + READ_WAIT_MS, lambda _: call()),
    )
    broker.remote = RemoteCopy(
        broker,
        broker.catalogue,
        broker.topics,
        broker.vnodes,
        lambda: broker.config,
        uploader=uploader,
        probe=lambda: probe(store, incarnation),
        submit=workers.submit_remote,
        random=broker.random,
    )
