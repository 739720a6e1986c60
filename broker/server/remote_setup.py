"""The copy in an object store, from settings to the task that keeps it."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from broker.config.config import Config
from broker.config.config_keys import ConfigProblem
from broker.config.endpoints import Endpoint
from broker.config.listener_specs import WILDCARDS
from broker.config.node_keys import inter_broker_spec
from broker.core import Broker
from broker.server.listeners import Listener, StartError, advertised_by
from broker.server.object_probe import probe
from broker.server.object_store import open_store
from broker.server.store_place import place_of
from broker.server.workers import DiskWorkers
from broker.upkeep.heartbeat import Heartbeat
from broker.upkeep.remote_copy import CopyState, RemoteCopy
from broker.upkeep.remote_journal import RemoteJournal
from wal.disk import OsDisk
from wal.objects import Fenced, ObjectStore, ObjectStoreError
from wal.read_rate import ReadRate
from wal.remote.formats import RemoteDamaged
from wal.remote.heartbeat import Heart, Places, refuse_while_alive
from wal.remote.places import ALL, Share, node_folder
from wal.remote.uploader import Uploader

logger = logging.getLogger("kawal.remote")

READ_WAIT_MS: Final = 500
"""How long a fetch waits for a block, as by default in Kafka (remote.fetch.max.wait.ms)."""


FAREWELL_SECONDS: Final = 2.0
"""The time that a clean end may take for its last sign of life."""

STORE_AGAIN_SECONDS: Final = 0.5
"""The pause between two tries of a start that waits for the store."""


def start_copy(
    broker: Broker,
    config: Config,
    workers: DiskWorkers,
    listeners: Sequence[Listener],
    now_ms: Callable[[], int],
    *,
    took_over: bool = False,
    waiting: Callable[[], object] = lambda: None,
) -> None:
    """Copy the broker's logs from now on; the store is first asked a second later, in a thread.

    One of several nodes, or workers, with logs of durability `remote` waits here until the store has what
    they contain: it tells the others of it, and they go on from there.  It calls `waiting` meanwhile.
    Raises: StartError when obstore is not installed; or another process has the node's place.
    """
    try:
        store = open_store(place_of(config), node_folder(broker.nodes.number))
        first = open_store(place_of(config)) if share_of(broker).number else None
    except ConfigProblem as problem:
        raise StartError(str(problem)) from problem
    ending = Ending(broker)
    beats = config.kawal_remote_heartbeat_ms > 0
    incarnation = f"{broker.random.getrandbits(64):016x}"

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
        uploader=_uploader_of(broker, store, incarnation, first),
        # A standby has tried the store before it took over, and ended the other server.
        probe=lambda: None if took_over else _probe(store, broker.cluster_id, incarnation, looks=beats),
        submit=workers.submit_remote,
        journal=_journal_of(broker, store, incarnation, workers, ending),
        reads=reads,
        random=broker.random,
    )
    if broker.nodes.count > 1 and remote.journal.is_wanted:
        wait_for_store(broker, remote, now_ms, waiting=waiting)
    ending.is_serving = True
    _begin_heartbeat(broker, remote, store, incarnation, workers, listeners)


def share_of(broker: Broker) -> Share:
    """Return which logs of its data directory this process copies: those that it leads as a worker."""
    nodes = broker.nodes
    return ALL if nodes.has_own_directory else Share(nodes.number, nodes.count)


def _uploader_of(broker: Broker, store: ObjectStore, incarnation: str, first: ObjectStore | None) -> Uploader:
    """Return this process's hand on the copy; `first` is the place of worker 0, where that is another one."""
    return Uploader(
        store,
        OsDisk(),
        path=broker.store.path,
        identity=broker.store.identity,
        incarnation=incarnation,
        delete_delay_ms=broker.config.kawal_remote_delete_delay_ms,
        history_ms=broker.config.kawal_remote_history_ms,
        share=share_of(broker),
        first=first,
    )


def wait_for_store(
    broker: Broker,
    remote: RemoteCopy,
    now_ms: Callable[[], int],
    sleep: Callable[[float], None] = time.sleep,
    waiting: Callable[[], object] = lambda: None,
) -> None:
    """Do rounds of the copy until the store has all that is here, and call `waiting` before each.

    Raises: StartError when it never will.
    """
    waiting()
    while not remote.try_now():
        if remote.counts.state is CopyState.STOPPED:
            raise StartError(remote.counts.problem)
        sleep(STORE_AGAIN_SECONDS)
        waiting()
        broker.clock.turn_ms = now_ms()


def _journal_of(
    broker: Broker, store: ObjectStore, incarnation: str, workers: DiskWorkers, ending: Ending
) -> RemoteJournal:
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
        lost=ending.lost,
    )


def _probe(store: ObjectStore, prefix: str, incarnation: str, *, looks: bool) -> None:
    """Try whether the store can be trusted, and if it `looks`, whether another server is alive.

    Raises: Fenced when one is; ObjectStoreError.
    """
    if looks:
        refuse_while_alive(store, prefix, wait=time.sleep)
    probe(store, incarnation)


def _begin_heartbeat(
    broker: Broker,
    remote: RemoteCopy,
    store: ObjectStore,
    incarnation: str,
    workers: DiskWorkers,
    listeners: Sequence[Listener],
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
        places=places_of(broker, listeners),
        wall_ms=lambda: time.time_ns() // 1_000_000,
    )
    remote.farewell = lambda: say_farewell(heart, remote.epoch)
    remote.heartbeat = Heartbeat(
        broker,
        heart,
        interval_ms=interval_ms,
        epoch=lambda: remote.epoch,
        submit=workers.submit_heartbeat,
        lost=remote.journal.stop,
    )


def say_farewell(heart: Heart, epoch: int | None, within_seconds: float = FAREWELL_SECONDS) -> None:
    """Tell the store that this server ends, so that the next one need not look whether it is alive.

    A store that does not answer in time is left alone: then the next one looks.
    """
    if epoch is None:
        return

    def say() -> None:
        with suppress(ObjectStoreError, RemoteDamaged):
            heart.farewell(epoch)

    thread = threading.Thread(target=say, name="kawal-farewell", daemon=True)
    thread.start()
    thread.join(within_seconds)


def places_of(broker: Broker, listeners: Sequence[Listener]) -> Places:
    """Return where this node is reached: what its signs of life say.

    Of a listener that is bound to all addresses, and advertises none, they say nothing.
    """
    addresses = {listener.name: Endpoint(*advertised_by(listener)) for listener in listeners}
    told = {name: address.text for name, address in addresses.items() if address.host not in WILDCARDS}
    is_alone = broker.nodes.count == 1
    return Places(
        address=broker.config.specs[0].endpoint.text,
        number=broker.nodes.number,
        inner="" if is_alone else told.get(inter_broker_spec(broker.config).name, ""),
        listeners=told,
    )


class Ending:
    """Ends the server when it can acknowledge nothing more, so that clients look for the one that can."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.is_serving = False
        """False while it starts: then the start fails."""

    def lost(self, error: Exception) -> None:
        """Learn that another process has the node's place, or that the store has what this one lacks."""
        broker = self._broker
        has_remote = any(vnode.log.options.durability == "remote" for vnode in broker.vnodes.every)
        is_replaced = broker.config.kawal_remote_heartbeat_ms and isinstance(error, Fenced)
        if self.is_serving and (has_remote or is_replaced):
            logger.critical("the server ends: %s", error)
            broker.failure = str(error)
            os.kill(os.getpid(), signal.SIGTERM)
