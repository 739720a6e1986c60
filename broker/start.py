"""From a data directory to a broker: open or make the store, replay the catalogue, recover the vnodes."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import UUID

from broker.catalogue_records import DatabaseCreated, decode_record, encode_record
from broker.config import Config
from broker.core import Broker
from broker.loggers import Loggers
from broker.stats import Stats
from broker.topics import Catalogue
from broker.vnode import Vnode
from wal.disk import Disk
from wal.errors import MetadataLost
from wal.log import VnodeLog
from wal.options import LogOptions
from wal.store import Store, StoreIdentity

if TYPE_CHECKING:
    from random import Random

logger = logging.getLogger("kawal.start")

DEFAULT_DATABASE: Final = "default"

SALT_BITS: Final = 128


def open_broker(
    disk: Disk,
    config: Config,
    *,
    random: Random,
    now_ms: int,
    wall_ms: int,
    loggers: Loggers | None = None,
    stats: Stats | None = None,
) -> Broker:
    """Open the data directory `config.log_dirs`, making it when it is new.

    `loggers` are those whose levels clients may change; by default the process's own.  `stats` brings the
    clock for durations.
    Raises:
        StoreError: the directory cannot be used; the text says why and what to do.
        DiskError: a file call failed.
    """
    identity = StoreIdentity(
        cluster_id=_cluster_id(random),
        node_id=config.node_id,
        secret=f"{random.getrandbits(SALT_BITS):0{SALT_BITS // 4}x}",
    )
    store = Store.open(
        disk, config.log_dirs, new_identity=identity, now_ms=now_ms, options=log_options(config)
    )
    try:
        catalogue = Catalogue()
        for data in store.catalogue.records:
            catalogue.replay(decode_record(data))
        if DEFAULT_DATABASE not in catalogue.databases:
            _refuse_to_lose(store)
            _create_default_database(store, catalogue, config, now_ms)
        vnodes = {
            database.name: [
                _open_vnode(store, database, index, config, now_ms) for index in range(database.vnode_count)
            ]
            for database in catalogue.databases.values()
        }
    except BaseException:
        store.release()
        raise
    return Broker(
        store=store,
        catalogue=catalogue,
        vnodes=vnodes,
        config=config,
        random=random,
        now_ms=now_ms,
        wall_ms=wall_ms,
        loggers=loggers,
        stats=stats,
    )


def _cluster_id(random: Random) -> str:
    """22 characters of URL-safe base64, as Kafka's own cluster ids."""
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(UUID(int=random.getrandbits(128), version=4).bytes).decode().rstrip("=")


def log_options(config: Config) -> LogOptions:
    """What every log takes from the configuration."""
    return LogOptions(
        durability="os" if config.kawal_durability == "os" else "disk",
        segment_bytes=config.kawal_segment_bytes,
        tail_cache_bytes=config.kawal_tail_cache_bytes // config.kawal_vnodes,
        flush_ms=config.kawal_flush_ms,
        min_free_bytes=config.kawal_min_free_bytes,
        delete_delay_ms=config.log_segment_delete_delay_ms,
        producer_expiry_ms=config.producer_id_expiration_ms,
    )


def _refuse_to_lose(store: Store) -> None:
    """Raises MetadataLost when a vnode was in use: a catalogue without records cannot be the one it had."""
    for database, index in store.vnodes():
        path = store.vnode_path(database, index)
        if store.disk.list(path):
            raise MetadataLost(
                f"{store.path}: the catalogue is empty and {path} is not; restore {store.path}/meta from a"
                " backup"
            )


def _create_default_database(store: Store, catalogue: Catalogue, config: Config, now_ms: int) -> None:
    """Make the vnodes first and record them then: a crash between leaves directories nobody knows."""
    for index in range(config.kawal_vnodes):
        store.create_vnode(DEFAULT_DATABASE, index)
    record = DatabaseCreated(
        name=DEFAULT_DATABASE, vnode_count=config.kawal_vnodes, durability=config.kawal_durability
    )
    store.catalogue.append(encode_record(record))
    log = store.catalogue.log
    while (job := log.begin_sync(now_ms)) is not None:
        job.run()
        log.synced(job, now_ms)
    catalogue.replay(record)


def _open_vnode(store: Store, database: DatabaseCreated, index: int, config: Config, now_ms: int) -> Vnode:
    options = replace(log_options(config), vnode_id=index)
    log = store.open_vnode(database.name, index, now_ms=now_ms, options=options)
    vnode = Vnode(log, database=database.name, index=index)
    _report_recovery(vnode, log)
    return vnode


def _report_recovery(vnode: Vnode, log: VnodeLog) -> None:
    if log.damage is not None:
        logger.error("vnode %s is damaged and refuses writes: %s", vnode.name, log.damage)
    if log.recovery.truncated_bytes:
        logger.warning(
            "vnode %s: cut %d bytes that were never acknowledged from its tail",
            vnode.name,
            log.recovery.truncated_bytes,
        )
