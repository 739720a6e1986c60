"""From a data directory to a broker: open or create the store, replay the catalogue, recover the vnodes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import UUID

from broker.catalogue.catalogue_records import (
    CatalogueRecord,
    DatabaseCreated,
    DirectoryRemoved,
    ScramCredentials,
    StreamIdsUsed,
    decode_record,
    encode_record,
)
from broker.catalogue.catalogue_replay import replay_all, with_default_database
from broker.catalogue.databases import DEFAULT_DATABASE, Database, log_options, vnode_options
from broker.catalogue.nodes import Nodes
from broker.catalogue.topics import Catalogue
from broker.config.config import Config
from broker.config.loggers import Loggers
from broker.config.several_nodes import check_known, check_server
from broker.core import Broker
from broker.loop.slices import Offload, run_here
from broker.loop.stats import Stats
from broker.requests.gate import Gate
from broker.storage.node_directory import check_directory
from broker.storage.node_epoch import begin_node_epoch
from broker.storage.vnode import Vnode
from wal.disk import Disk
from wal.errors import MetadataLost, StoreError
from wal.log import VnodeLog
from wal.options import LogOptions
from wal.store import DATABASE_PREFIX, VNODE_PREFIX, Store
from wal.store_marker import STORE_FORMAT, StoreIdentity
from wal.tiered_workers import refuse_other_workers

if TYPE_CHECKING:
    from random import Random

    from broker.storage.schemas import Lookups

logger = logging.getLogger("kawal.start")

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
    offload: Offload = run_here,
    gate: Gate | None = None,
    lookups: Lookups | None = None,
    users: Mapping[str, dict[str, str]] | None = None,
    user_added: Callable[[str], None] | None = None,
    kind: type[Broker] = Broker,
    nodes: Nodes | None = None,
    records: list[bytes] | None = None,
) -> Broker:
    """Open the data directory `config.log_dirs`, creating it if need be.

    `loggers` are those whose levels clients may change, by default the process's own.  `stats` provides the
    clock for durations, `offload` the threads; every request passes the `gate`.  `lookups` ask a schema
    registry.  `users` are added unless they exist; `user_added` gets their names.  `kind` is the class made.
    Only the vnodes are opened that this one of the `nodes` leads, by default all.  If it is not the
    controller, `records` are the catalogue's, as that one has them.
    Raises: StoreError, if the directory cannot be used: why and what to do; DiskError, of a file.
    """
    nodes = nodes or Nodes(config.node_id)
    check_server(config, nodes.count, own_directory=nodes.has_own_directory)
    options = log_options(config, {}, vnode_count=config.kawal_vnodes)
    options = replace(options, wall_offset_ms=wall_ms - now_ms)
    store = _open_store(disk, config, nodes, _new_identity(config, nodes, random), options, now_ms, records)
    try:
        known = list(map(decode_record, store.catalogue.records))
        store.catalogue.records.clear()
        vnode_ids = [index for database, index in store.vnodes() if database == DEFAULT_DATABASE]
        catalogue = replay_all(with_default_database(known, vnode_ids, config.kawal_durability))
        if nodes.is_controller:
            _prepare_catalogue(store, catalogue, config, nodes, now_ms)
            _add_users(store, catalogue, users or {}, now_ms, user_added)
        vnodes = _open_databases(store, catalogue, config, nodes, now_ms, wall_ms)
    except BaseException:
        store.release()
        raise
    _report_upgrade(store)
    return kind(
        store=store,
        catalogue=catalogue,
        vnodes=vnodes,
        config=config,
        random=random,
        now_ms=now_ms,
        wall_ms=wall_ms,
        loggers=loggers,
        stats=stats,
        offload=offload,
        gate=gate,
        lookups=lookups,
        nodes=nodes,
    )


def _open_store(
    disk: Disk,
    config: Config,
    nodes: Nodes,
    identity: StoreIdentity,
    options: LogOptions,
    now_ms: int,
    records: list[bytes] | None,
) -> Store:
    """Open the directory as its owner, or beside the controller, which is the owner then."""
    path = config.log_dirs
    refuse_other_workers(disk, path, 1 if nodes.has_own_directory else nodes.count)
    if not nodes.is_controller and not nodes.has_own_directory:
        return Store.follow(disk, path, records=records or [], now_ms=now_ms, options=options)
    store = Store.open(
        disk,
        path,
        new_identity=identity,
        now_ms=now_ms,
        options=options,
        # Where several processes share it, the one that starts them has the lock.
        locks=nodes.has_own_directory,
        records=None if nodes.is_controller else records or [],
    )
    try:
        _check_directory(store, nodes)
    except StoreError:
        store.release()
        raise
    return store


def _check_directory(store: Store, nodes: Nodes) -> None:
    """Check that it is this node's.  Raises: StoreError."""
    number, count = (nodes.number, nodes.count) if nodes.members is not None else (0, 1)
    check_directory(store.path, store.identity, number=number, count=count, cluster_id=nodes.cluster_id)


def _prepare_catalogue(store: Store, catalogue: Catalogue, config: Config, nodes: Nodes, now_ms: int) -> None:
    """Make what a new directory lacks.

    Raises: StoreError, if there is something that so many nodes cannot serve.
    """
    topics = {topic.name: topic.configs for topic in catalogue.by_name.values()} if nodes.count > 1 else {}
    check_known(nodes.count, topics, catalogue.group_configs)
    if DEFAULT_DATABASE not in catalogue.databases:
        _refuse_to_lose(store)
        _create_default_database(store, catalogue, config, nodes, now_ms)
    if not nodes.has_own_directory:
        from broker.storage.restored_streams import first_free_stream  # for workers alone

        next_id = first_free_stream(store, nodes.leads)
        if next_id > catalogue.next_stream:
            _record(store, catalogue, [StreamIdsUsed(next_id=next_id)], now_ms)


def _new_identity(config: Config, nodes: Nodes, random: Random) -> StoreIdentity:
    """Return the identity of a directory that is made now."""
    identity = StoreIdentity(
        cluster_id=nodes.cluster_id or _cluster_id(random),
        node_id=config.node_id,
        secret=f"{random.getrandbits(SALT_BITS):0{SALT_BITS // 4}x}",
    )
    return identity if nodes.members is None else replace(identity, node=nodes.number, nodes=nodes.count)


def vnodes_of(records: Iterable[bytes]) -> list[str]:
    """Return the folders, `DATABASE/vnode-N`, of the logs that a start with these catalogue records opens."""
    catalogue = replay_all(map(decode_record, records))
    return [
        f"{database.directory}/{VNODE_PREFIX}{index}"
        for database in catalogue.databases.values()
        for index in range(database.vnode_count)
    ]


def _report_upgrade(store: Store) -> None:
    if store.upgraded_from is not None:
        logger.warning(
            "%s was of format %d and is of format %d now; programs older than this one refuse it",
            store.path,
            store.upgraded_from,
            STORE_FORMAT,
        )


def _cluster_id(random: Random) -> str:
    """Return 22 characters of URL-safe base64, like Kafka's own cluster ids."""
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(UUID(int=random.getrandbits(128), version=4).bytes).decode().rstrip("=")


def _refuse_to_lose(store: Store) -> None:
    """Raise MetadataLost if a vnode was in use: its catalogue cannot have been empty."""
    for database, index in store.vnodes():
        path = store.vnode_path(database, index)
        if store.disk.list(path):
            raise MetadataLost(
                f"{store.path}: the catalogue is empty and {path} is not; restore {store.path}/meta from a"
                " backup"
            )


def _create_default_database(
    store: Store, catalogue: Catalogue, config: Config, nodes: Nodes, now_ms: int
) -> None:
    """Make the vnodes, then record them: a crash in between leaves directories that no record knows."""
    # A node without a log would have nothing to do.
    vnode_count = max(config.kawal_vnodes, nodes.count)
    for index in nodes.kept(vnode_count):
        store.create_vnode(DEFAULT_DATABASE, index)
    record = DatabaseCreated(
        name=DEFAULT_DATABASE, vnode_count=vnode_count, durability=config.kawal_durability
    )
    _record(store, catalogue, [record], now_ms)


def _record(store: Store, catalogue: Catalogue, records: Sequence[CatalogueRecord], now_ms: int) -> None:
    """Write records, wait for the disk, then apply them to the catalogue."""
    for record in records:
        store.catalogue.append(encode_record(record))
    log = store.catalogue.log
    while (job := log.begin_sync(now_ms)) is not None:
        job.run()
        log.synced(job, now_ms)
    for record in records:
        catalogue.replay(record)


def _add_users(
    store: Store,
    catalogue: Catalogue,
    users: Mapping[str, dict[str, str]],
    now_ms: int,
    added: Callable[[str], None] | None,
) -> None:
    """Add the users that do not exist, and say so."""
    new = {user: own for user, own in users.items() if user not in catalogue.scram_credentials}
    _record(store, catalogue, [ScramCredentials(user=user, credentials=new[user]) for user in new], now_ms)
    for user in users:
        logger.info("the user %r %s", user, "was added" if user in new else "exists, and was not changed")
        if added is not None and user in new:
            added(user)


def _remove_leftovers(store: Store, catalogue: Catalogue, nodes: Nodes, now_ms: int) -> None:
    """Remove what is left of databases that were dropped, as while a node was away, or never recorded.

    Where several nodes have directories, the catalogue names a dropped one until each has told that it has
    nothing of it (broker/catalogue/database_removals.py).  A directory that no record knows is removed only
    if it holds no records, as the catalogue may have been restored from a backup.
    """
    if not (nodes.is_controller or nodes.has_own_directory):
        return
    removed: list[CatalogueRecord] = []
    for directory in tuple(catalogue.databases.dropped):
        store.remove_database(directory)
        removed.append(DirectoryRemoved(directory=directory))
    if removed and not (nodes.has_own_directory and nodes.count > 1):
        _record(store, catalogue, removed, now_ms)
    known = {database.directory for database in catalogue.databases.values()}
    for directory in sorted(store.databases() - known):
        if directory.startswith(DATABASE_PREFIX) and not store.holds_records(directory):
            store.remove_database(directory)
        else:
            logger.error(
                "%s/%s: the catalogue knows no database there, and it may hold records; it was left as it is:"
                " move it away, or restore the %s/meta that knows it",
                store.path,
                directory,
                store.path,
            )


def _open_databases(
    store: Store, catalogue: Catalogue, config: Config, nodes: Nodes, now_ms: int, wall_ms: int
) -> dict[str, list[Vnode]]:
    _remove_leftovers(store, catalogue, nodes, now_ms)
    databases = catalogue.databases.values()
    led = {database.name: nodes.led(database.vnode_count) for database in databases}
    count = sum(map(len, led.values()))
    vnodes = {
        database.name: _open_vnodes(
            store, database, led[database.name], config, count, now_ms, makes=nodes.makes_directories
        )
        for database in databases
    }
    if nodes.count > 1:
        begin_node_epoch([vnode for opened in vnodes.values() for vnode in opened], now_ms, wall_ms)
    return vnodes


def _open_vnodes(
    store: Store, database: Database, led: range, config: Config, count: int, now_ms: int, *, makes: bool
) -> list[Vnode]:
    """Open the logs; `makes`: the database may have been made while this node was away."""
    options = log_options(config, database.configs, vnode_count=count)
    vnodes = []
    for index in led:
        if makes:
            store.have_vnode(database.directory, index)
        log = store.open_vnode(
            database.directory, index, now_ms=now_ms, options=vnode_options(options, index)
        )
        vnode = Vnode(log, database=database.name, index=index)
        _report_recovery(vnode, log)
        vnodes.append(vnode)
    return vnodes


def _report_recovery(vnode: Vnode, log: VnodeLog) -> None:
    if log.damage is not None:
        logger.error("vnode %s is damaged and refuses writes: %s", vnode.name, log.damage)
    if log.recovery.truncated_bytes:
        logger.warning(
            "vnode %s: cut %d bytes, never acknowledged, from its tail",
            vnode.name,
            log.recovery.truncated_bytes,
        )
