"""The broker as one synchronous machine.

    receive(connection, size)   tick(now_ms)   job_done(vnode, job, error)         what comes in
    take_unsent()   take_jobs(now_ms)   next_deadline()                           what the shell must do

No method waits, so nothing interleaves inside a step and every check still holds at its end.  `now_ms` is
the shell's monotonic clock; the wall clock, which may jump, is `wall_ms` and is used only for timestamps of
records and for retention.
"""

from __future__ import annotations

import logging
import os.path
from collections.abc import Iterator
from dataclasses import replace
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from broker.catalogue.catalogue_snapshots import CatalogueSnapshots
from broker.catalogue.database_directory import DatabaseDirectory
from broker.catalogue.live_config import LiveConfig
from broker.catalogue.producer_ids import ProducerIds
from broker.catalogue.topic_directory import TopicDirectory
from broker.catalogue.topics import OFFSETS_TOPIC, Catalogue, Topic
from broker.config.config import Config
from broker.config.loggers import Loggers
from broker.connections.connection import Connection
from broker.connections.connection_reaper import ConnectionReaper
from broker.connections.memory_limits import MemoryLimits
from broker.errors import RequestError
from broker.fetching.fetch_sessions import FetchSessions
from broker.handlers import APIS, Api
from broker.loop.call import PARKED, Call
from broker.loop.scheduler import Scheduler
from broker.loop.stats import Cause, Stats
from broker.loop.timers import Timers
from broker.loop.waiters import Waiters
from broker.storage.vnode import DiskJob, Vnode
from broker.upkeep.compaction import CompactionTask
from broker.upkeep.retention import RetentionTask
from broker.upkeep.retirement import Retirement
from broker.view_topics.view_hub import ViewHub
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError, UnsupportedVersion
from protocol.framing import BufferPool
from protocol.wire import decode
from wal.disk import DiskError
from wal.store import Store

if TYPE_CHECKING:
    from random import Random

    from broker.coordinators.group_driver import GroupDriver

logger = logging.getLogger("kawal.broker")


class Broker:
    """Composes the catalogue, the vnodes, the waiters and the connections."""

    def __init__(
        self,
        *,
        store: Store,
        catalogue: Catalogue,
        vnodes: dict[str, list[Vnode]],
        config: Config,
        random: Random,
        now_ms: int,
        wall_ms: int,
        loggers: Loggers | None = None,
        stats: Stats | None = None,
    ) -> None:
        self.live_config = LiveConfig(config, catalogue)
        # What holds now, also after clients have changed it.
        self.config = self.live_config.current
        self.live_config.reaction = self._reconfigure
        self.loggers = loggers or Loggers()
        self.random = random
        self.store = store
        self.catalogue = catalogue
        self.timers = Timers()
        self.waiters = Waiters(self.timers)
        session_slots = config.max_incremental_fetch_session_cache_slots
        self.fetch_sessions = FetchSessions(slots=session_slots, random=random)
        self.stats = stats or Stats()
        self.memory = MemoryLimits(self.config)
        self.connections: dict[int, Connection] = {}
        self.reaper = ConnectionReaper(self)
        self.scheduler = Scheduler(self._failed)
        self.stopping = False
        self._pool = BufferPool()
        self._unsent: list[Connection] = []
        self._next_connection = 1
        self._wall_offset_ms = wall_ms - now_ms
        self.meta = Vnode(store.catalogue.log, database="meta", index=0)
        self.vnodes = vnodes
        self.vnodes_changed()
        self.topics = TopicDirectory(
            catalogue=catalogue,
            config=self.live_config,
            meta=self.meta,
            random=random,
            store=store,
            vnodes=vnodes,
        )
        self.topics.drop_orphans()
        self.retirement = Retirement(self.timers, self.topics, vnodes)
        self.views = ViewHub(self)
        self.databases = DatabaseDirectory(self)
        self.snapshots = CatalogueSnapshots(catalogue, store.catalogue, self.meta)
        self.producer_ids = ProducerIds(self.catalogue, self.topics)
        self.retention = RetentionTask(self, now_ms)
        self.compaction = CompactionTask(self, now_ms)
        self._now_ms = now_ms
        self._groups: GroupDriver | None = None
        if OFFSETS_TOPIC in catalogue.by_name:
            # There are groups: replay them as soon as clients are answered.
            self.timers.add(now_ms, lambda _now_ms: self.groups.pump(self._now_ms))
        self._reconfigure(self.config)

    @property
    def cluster_id(self) -> str:
        """The id that all clients of this cluster see."""
        return self.store.identity.cluster_id

    def _reconfigure(self, config: Config) -> None:
        """Let a changed configuration hold everywhere."""
        if self._groups is not None:
            self._groups.reconfigure()
        self.config = config
        self.memory.configure(config)
        meta = replace(
            self.meta.log.options,
            delete_delay_ms=config.log_segment_delete_delay_ms,
            min_free_bytes=config.kawal_min_free_bytes,
            producer_expiry_ms=config.producer_id_expiration_ms,
        )
        self.meta.log.change_options(meta)
        for database in self.catalogue.databases.values():
            self.databases.configure_logs(database)

    def vnodes_changed(self) -> None:
        """Take note that `vnodes` has others than before."""
        self._all_vnodes = [self.meta, *(vnode for group in self.vnodes.values() for vnode in group)]

    @property
    def data_directory(self) -> str:
        """The data directory as tools shall see it, from the root."""
        return os.path.abspath(self.store.path)

    # --- clocks ----------------------------------------------------------------------------------------

    def set_clocks(self, *, now_ms: int, wall_ms: int) -> None:
        """Tell the difference between the monotonic and the wall clock; the shell does so every turn."""
        self._now_ms = now_ms
        self._wall_offset_ms = self.topics.wall_offset_ms = wall_ms - now_ms

    @property
    def turn_ms(self) -> int:
        """The monotonic time at which this turn began."""
        return self._now_ms

    def wall_ms(self, now_ms: int) -> int:
        """The time of day (ms since 1970) at the monotonic moment `now_ms`."""
        return now_ms + self._wall_offset_ms

    def tick(self, now_ms: int) -> None:
        """Do everything whose time has come."""
        self.timers.run_due(now_ms)
        if self._groups is not None:
            self._groups.tick(now_ms)
        for vnode in self._all_vnodes:
            vnode.log.tick(now_ms)

    def next_deadline(self) -> int | None:
        """The monotonic moment of the next `tick`, None when nothing is due ever."""
        moments = [vnode.next_deadline() for vnode in self._all_vnodes]
        moments.append(self.timers.next_deadline())
        if self._groups is not None:
            moments.append(self._groups.next_deadline())
        return min((moment for moment in moments if moment is not None), default=None)

    # --- connections -----------------------------------------------------------------------------------

    def connect(
        self, *, peer: str, advertised: tuple[str, int], now_ms: int, descriptor: int = -1
    ) -> Connection:
        """Register a client; `advertised` is the address that it learns for this node."""
        connection = Connection(
            identity=self._next_connection,
            peer=peer,
            frame_bytes_max=self.config.socket_request_max_bytes,
            pool=self._pool,
            unsent=self._unsent,
            memory=self.memory,
            stats=self.stats,
            now_ms=now_ms,
            advertised=advertised,
            descriptor=descriptor,
        )
        self._next_connection += 1
        self.connections[connection.identity] = connection
        self.stats.connections_opened += 1
        self.reaper.connected(now_ms)
        return connection

    def disconnect(self, connection: Connection) -> None:
        """The client is gone; whatever it waited for is withdrawn."""
        connection.lost()
        self.stats.connections_closed[connection.close_cause] += 1
        del self.connections[connection.identity]

    def receive(self, connection: Connection, size_bytes: int, now_ms: int) -> bool:
        """Serve the frames completed by the bytes just read into the connection's buffer.

        True: read no more from this client for now.
        """
        connection.reader.received(size_bytes)
        connection.active_ms = now_ms
        self.stats.received_bytes += size_bytes
        return self.resume(connection, now_ms)

    def resume(self, connection: Connection, now_ms: int) -> bool:
        """Serve the frames the connection holds, as far as its limits allow; True as for `receive`."""
        reader = connection.reader
        connection.stalled = False
        served = False
        try:
            while connection.close_reason is None:
                if connection.saturated:
                    connection.stalled = True
                    connection.note_received(now_ms, served=served)
                    self.held_back(connection, now_ms)
                    return True
                frame = reader.next_frame()
                if frame is None:
                    connection.note_received(now_ms, served=served)
                    return False
                served = True
                self._serve(connection, frame, frame_owned=reader.owned, now_ms=now_ms)
        except ProtocolError as error:
            logger.info("connection %d from %s closed: %s", connection.identity, connection.peer, error)
            connection.close(str(error))
        return True

    def held_back(self, connection: Connection, now_ms: int) -> None:
        """A connection that is saturated is not read; see to it that this ends."""
        if not connection.at_own_limit:
            self.reaper.relieve_soon(now_ms)

    def _serve(self, connection: Connection, frame: memoryview, *, frame_owned: bool, now_ms: int) -> None:
        call, position = connection.open_call(frame, frame_owned=frame_owned, now_ms=now_ms)
        api = APIS.get(call.api_key)
        if api is None or not api.minimum <= call.version <= api.maximum:
            if call.api_key != ApiKey.API_VERSIONS:
                raise UnsupportedVersion(call.api_key, call.version)
            self._answer_unsupported(call)
            return
        call.request, _ = decode(api.request_type(), call.version, frame, position)
        self._handle(api, call)

    def _answer_unsupported(self, call: Call[Any]) -> None:
        """Answer an ApiVersions we do not serve in the v0 layout, with the list to choose from (KIP-511)."""
        from broker.handlers.api_versions import unsupported

        call.version = 0
        call.reply(unsupported())

    def _handle(self, api: Api, call: Call[Any]) -> None:
        try:
            response = api.handler()(self, call)
        except Exception:  # noqa: BLE001  (it ends the connection)
            self._failed(call)
            return
        if type(response) is GeneratorType:
            self.scheduler.begin(call, response)
        elif response is not PARKED:
            call.reply(response)

    def _failed(self, call: Call[Any]) -> None:
        """A handler has raised, our own bug: the end of its connection tells its client, others live on."""
        logger.exception(
            "connection %d closed: api=%s v%d correlation=%d failed",
            call.connection.identity,
            APIS[call.api_key].name,
            call.version,
            call.correlation_id,
        )
        call.connection.close("internal error", Cause.BUG)

    @property
    def has_unsent(self) -> bool:
        """True while some connection has something to send."""
        return bool(self._unsent)

    def take_unsent(self) -> list[Connection]:
        """The connections that got something to send, or a reason to close, since the last call."""
        taken = self._unsent[:]
        self._unsent.clear()
        for connection in taken:
            connection.account()
        return taken

    @property
    def groups(self) -> GroupDriver:
        """The group coordinator and its log, made at their first use: a node without groups starts sooner."""
        if self._groups is None:
            from broker.coordinators.group_driver import GroupDriver

            self._groups = GroupDriver(self, self._now_ms)
        return self._groups

    # --- topics ----------------------------------------------------------------------------------------

    def find_topic(self, name: str) -> Topic:
        """The topic of that name.  Raises: RequestError(UNKNOWN_TOPIC_OR_PARTITION)."""
        topic = self.catalogue.find(name)
        if topic is None:
            raise RequestError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
            )
        return topic

    def delete_topic(self, topic: Topic, now_ms: int) -> None:
        """Remove the topic and answer the fetches that wait for its records.  Raises: RequestError."""
        self.waiters.wake(self.topics.delete(topic, now_ms), now_ms)
        self.retirement.topic_deleted(topic, now_ms)
        self.views.forget(topic)

    # --- disk ------------------------------------------------------------------------------------------

    @property
    def disk_threads(self) -> int:
        """Threads that keep every vnode busy, within reason."""
        return min(2 * len(self._all_vnodes), 16)

    @property
    def has_disk_work(self) -> bool:
        """True while a job is in flight."""
        return (
            self.snapshots.job is not None
            or self.databases.busy
            or any(vnode.busy for vnode in self._all_vnodes)
        )

    def take_jobs(self, now_ms: int) -> Iterator[tuple[Vnode, DiskJob]]:
        """The disk work that can begin now."""
        for vnode in self._all_vnodes:
            for job in vnode.begin_jobs(now_ms):
                yield vnode, job
        for made in self.databases.take_jobs(now_ms):
            yield self.meta, made
        snapshot = self.snapshots.begin()
        if snapshot is not None:
            yield self.meta, snapshot

    def job_done(self, vnode: Vnode, job: DiskJob, error: DiskError | None, now_ms: int) -> None:
        """A job has ended: durable answers leave and parked fetches are woken."""
        if job is self.snapshots.job:
            self.snapshots.done(error)
            return
        if self.databases.owns(job):
            self.databases.job_done(job, error, now_ms)  # type: ignore[arg-type]
            return
        if error is not None:
            logger.error("vnode %s: %s", vnode.name, error)
        streams = vnode.job_done(job, error, now_ms)
        for advanced in streams:
            self.waiters.advanced(advanced.stream_id, advanced.added_bytes, now_ms)
        self.views.advanced(vnode, streams, now_ms)

    # --- the end ---------------------------------------------------------------------------------------

    def begin_stop(self, now_ms: int) -> None:
        """Answer the fetches that wait; the shell reads no more, and lets what is in work leave."""
        self.stopping = True
        self.waiters.wake_all(now_ms)
        if self._groups is not None:
            self._groups.begin_stop(now_ms)

    def close(self, now_ms: int) -> None:
        """Seal and checkpoint every vnode; nothing may be in flight.

        A log that the disk does not let close is left to the next start, which recovers it.
        """
        for vnode in self._all_vnodes[1:]:
            try:
                vnode.log.close(now_ms)
            except DiskError as error:
                logger.error("vnode %s is not closed in order: %s", vnode.name, error)
        try:
            self.store.close(now_ms)
        except DiskError as error:
            logger.error("the catalogue is not closed in order: %s", error)
