"""The copy in an object store, from settings to the task that keeps it."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from typing import Final

from broker.config.config import Config
from broker.config.config_keys import ConfigProblem
from broker.core import Broker
from broker.server.listeners import StartError
from broker.server.object_probe import probe
from broker.server.object_store import StorePlace, open_store
from broker.server.workers import DiskWorkers
from broker.upkeep.heartbeat import Heartbeat
from broker.upkeep.remote_copy import RemoteCopy
from broker.upkeep.remote_journal import RemoteJournal
from wal.disk import OsDisk
from wal.objects import Fenced, ObjectStore
from wal.read_rate import ReadRate
from wal.remote.heartbeat import Heart, refuse_while_alive
from wal.remote.uploader import Uploader

logger = logging.getLogger("kawal.remote")

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


def start_copy(broker: Broker, config: Config, workers: DiskWorkers, *, took_over: bool = False) -> None:
    """Copy the broker's logs from now on; the store is first asked a second later, in a thread.

    Raises: StartError when obstore is not installed.
    """
    try:
        store = open_store(place_of(config))
    except ConfigProblem as problem:
        raise StartError(str(problem)) from problem
    beats = config.kawal_remote_heartbeat_ms > 0
    incarnation = f"{broker.random.getrandbits(64):016x}"
    uploader = Uploader(
        store,
        OsDisk(),
        path=broker.store.path,
        identity=broker.store.identity,
        incarnation=incarnation,
        delete_delay_ms=config.kawal_remote_delete_delay_ms,
        history_ms=config.kawal_remote_history_ms,
    )

    def after(delay_ms: int, call: Callable[[], None]) -> None:
        broker.timers.add(broker.clock.turn_ms + delay_ms, lambda _: call())

    reads = ReadRate(
        lambda: broker.config.remote_log_manager_fetch_max_bytes_per_second, lambda: broker.clock.turn_ms
    )
    broker.store.blocks.connect(
        store,
        limit_bytes=config.kawal_remote_cache_bytes,
        submit=workers.submit_remote_read,
        later=lambda call: after(READ_WAIT_MS, call),
        rate=reads,
        after=after,
    )
    remote = broker.remote = RemoteCopy(
        broker,
        broker.catalogue,
        broker.topics,
        broker.vnodes,
        lambda: broker.config,
        uploader=uploader,
        probe=lambda: _probe(store, broker.cluster_id, incarnation, looks=not took_over and beats),
        submit=workers.submit_remote,
        journal=_journal_of(broker, store, incarnation, workers),
        reads=reads,
        random=broker.random,
    )
    _begin_heartbeat(broker, remote, store, incarnation, workers)


def _journal_of(broker: Broker, store: ObjectStore, incarnation: str, workers: DiskWorkers) -> RemoteJournal:
    """Return the journal of logs whose acknowledgements wait for the store."""
    return RemoteJournal(
        broker,
        lambda: broker.config,
        objects=store,
        incarnation=incarnation,
        store=broker.store,
        vnodes=broker.vnodes,
        outcomes=broker.logs,
        submit=workers.submit_journal,
        random=broker.random,
        lost=lambda error: _end(broker, error),
    )


def _probe(store: ObjectStore, prefix: str, incarnation: str, *, looks: bool) -> None:
    """Try whether the store can be trusted, and if it `looks`, whether another server is alive.

    Raises: Fenced when one is; ObjectStoreError.
    """
    if looks:
        refuse_while_alive(store, prefix, wait=time.sleep)
    probe(store, incarnation)


def _begin_heartbeat(
    broker: Broker, remote: RemoteCopy, store: ObjectStore, incarnation: str, workers: DiskWorkers
) -> None:
    """Tell standbys of this server from now on, if that is asked for."""
    interval_ms = broker.config.kawal_remote_heartbeat_ms
    if not interval_ms:
        return
    heart = Heart(
        store,
        prefix=broker.cluster_id,
        incarnation=incarnation,
        interval_ms=interval_ms,
        address=broker.config.specs[0].endpoint.text,
    )
    Heartbeat(
        broker,
        heart,
        interval_ms=interval_ms,
        epoch=lambda: remote.epoch,
        submit=workers.submit_heartbeat,
        lost=remote.journal.stop,
    )


def _end(broker: Broker, error: Exception) -> None:
    """End the server when it can acknowledge nothing more, so that clients look for the one that can."""
    has_remote = any(vnode.log.options.durability == "remote" for vnode in broker.vnodes.every)
    if has_remote or (broker.config.kawal_remote_heartbeat_ms and isinstance(error, Fenced)):
        logger.critical("the server ends: %s", error)
        broker.failure = str(error)
        os.kill(os.getpid(), signal.SIGTERM)
