"""The broker as one synchronous state machine.

    receive(connection, size)   tick(now_ms)   job_done(vnode, job, error)         input
    take_unsent()   take_jobs(now_ms)   next_deadline()                           work for the shell

No method waits, so nothing interleaves inside a step and a check made at its start is still valid at its end.
`now_ms` is the monotonic clock; the wall clock, `wall_ms`, may jump: it is for records' times and retention.
"""

from __future__ import annotations

import logging
import os.path
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from broker.catalogue.answer_cache import AnswerCache
from broker.catalogue.catalogue_snapshots import CatalogueSnapshots
from broker.catalogue.closed_partitions import close_partitions
from broker.catalogue.database_directory import DatabaseDirectory
from broker.catalogue.followed_log import log_kind
from broker.catalogue.live_config import LiveConfig
from broker.catalogue.nodes import Nodes
from broker.catalogue.producer_ids import ProducerIds
from broker.catalogue.topic_directory import TopicDirectory
from broker.catalogue.topics import Catalogue, Topic
from broker.config.config import Config
from broker.config.loggers import Loggers
from broker.connections.connection import Connection
from broker.connections.connection_reaper import ConnectionReaper
from broker.connections.memory_limits import MemoryLimits
from broker.connections.receive_memory import receive_memory
from broker.coordinators.coordinators import NodeCoordinators, member_reads
from broker.coordinators.poll_watch import PollWatch
from broker.errors import RequestError
from broker.fetching.fetch_sessions import FetchSessions
from broker.loop.clock import Clock
from broker.loop.internal_errors import ErrorPlace, InternalErrors
from broker.loop.scheduler import Scheduler
from broker.loop.slices import Offload, run_here
from broker.loop.stats import Stats
from broker.loop.timers import Timers
from broker.loop.waiters import Waiters
from broker.requests.dispatcher import Dispatcher
from broker.requests.gate import Gate
from broker.requests.gates import authorizer_of, gate_of, tokens_of
from broker.requests.intake import Intake
from broker.requests.request_log import RequestLog
from broker.storage.log_outcomes import LogOutcomes
from broker.storage.vnode import DiskJob, Vnode
from broker.storage.vnodes import Vnodes, last_wall_ms
from broker.upkeep.compaction import CompactionTask
from broker.upkeep.retention import RetentionTask
from broker.upkeep.retirement import Retirement
from broker.view_topics.view_hub import ViewHub
from protocol.error_codes import ErrorCode
from wal.commit import Advanced
from wal.disk import DiskError
from wal.store import Store

if TYPE_CHECKING:
    from random import Random

    from broker.catalogue.catalogue_records import ViewReloaded
    from broker.coordinators.groups import Groups
    from broker.coordinators.transactions import Transactions
    from broker.fetching.member_views import MemberViews
    from broker.fetching.share_queues import ShareQueues
    from broker.security.authorizer import Authorizer
    from broker.storage.schemas import Lookups, Schemas
    from broker.upkeep.partition_splits import PartitionSplits
    from broker.upkeep.remote_copy import RemoteCopy

logger = logging.getLogger("kawal.broker")


class Broker:
    """Composes the catalogue, the vnodes, the coordinators, the waiters and the connections."""

    dispatcher = Dispatcher
    """The class that passes requests to handlers; brokers for tests have another."""

    def __init__(
        self,
        *,
        store: Store,
        catalogue: Catalogue,
        vnodes: Mapping[str, list[Vnode]],
        config: Config,
        random: Random,
        now_ms: int,
        wall_ms: int,
        loggers: Loggers | None = None,
        stats: Stats | None = None,
        offload: Offload = run_here,
        gate: Gate | None = None,
        lookups: Lookups | None = None,
        nodes: Nodes | None = None,
    ) -> None:
        """Make a broker; `offload` runs work in a thread, and every request passes the `gate`."""
        self._lookups, self.nodes = lookups, nodes or Nodes(config.node_id)
        self.catalogue, self.live_config = catalogue, LiveConfig(config, catalogue, changed=self._reconfigure)
        self.config = self.live_config.current  # the one in effect, with changes by clients
        self.loggers, self.random, self.store = loggers or Loggers(), random, store
        self.clock = Clock(now_ms=now_ms, wall_ms=wall_ms, last_wall_ms=last_wall_ms(store, vnodes))
        self.internal_errors = InternalErrors()
        self.timers = Timers(self.internal_errors)
        self.authorizer: Authorizer | None = authorizer_of(self.config, catalogue)
        self._dispatcher = self.dispatcher(self, self, gate or gate_of(self))
        self.stats, self.stopping, self.failure = stats or Stats(), False, ""
        self.scheduler = Scheduler(self._dispatcher.failed, self.internal_errors, offload, self.stats.turns)
        self.waiters = Waiters(self.timers, self._dispatcher.failed, self.scheduler.soon, self.stats.turns)
        self.remote: RemoteCopy | None = None
        self._prepare_for_clients()
        self.meta = Vnode(store.catalogue.log, database="meta", index=0)
        self.vnodes = Vnodes(self.meta, vnodes)
        self.logs = LogOutcomes(self, self._advanced)
        self.nodes.note_epoch(self.nodes.own_id, self.vnodes.leader_epoch)
        self.views = ViewHub(self, self, self.vnodes, lambda: self.schemas)
        self._open_metadata()
        self.coordinators = NodeCoordinators(self, self, random, self.producer_ids, lambda: self.share_queues)
        self.member_reads = member_reads(self, self, lambda: self.groups, now_ms)
        self.poll_watch = PollWatch(self, self, self.connections, lambda: self.groups, now_ms)
        self.retirement = Retirement(self.timers, self.topics, self.vnodes)
        self.retention = RetentionTask(self, self, self.vnodes, lambda: self.groups, now_ms)
        self.compaction = CompactionTask(self, self, now_ms, compacted=self.retention.compacted)
        self._reconfigure(self.config)

    def _prepare_for_clients(self) -> None:
        """Make the objects that connections and their requests need."""
        self.memory: MemoryLimits[Connection] = MemoryLimits(self.config)
        self.connections: dict[int, Connection] = {}
        self.reaper = ConnectionReaper(self, self.connections, self.memory, lambda: self.config)
        self.fetch_sessions = FetchSessions(
            slots=self.config.max_incremental_fetch_session_cache_slots,
            limit_bytes=self.config.kawal_fetch_session_cache_bytes,
            share=self.config.kawal_memory_share_per_ip,
            random=self.random,
        )
        self.request_log = RequestLog()
        self.stats.on_logged = self.request_log.write
        self.intake = Intake(self, self._dispatcher, self.memory, self.reaper, self.request_log)
        self.receive_memory = receive_memory(self.config, self.timers, self.clock)
        self.unsent, self._next_connection = list[Connection](), 1

    def _open_metadata(self) -> None:
        """Make the objects that read and change the catalogue, over its log and the vnodes."""
        store, catalogue, errors = self.store, self.catalogue, self.internal_errors
        self.metadata_log = log_kind(self.nodes)(catalogue, store.catalogue, self.vnodes, self.clock, errors)
        catalogue.room.limit = lambda: self.config.kawal_catalogue_max_bytes
        self.tokens = tokens_of(self, self, self.random)
        self.topics: TopicDirectory = TopicDirectory(
            catalogue=catalogue,
            config=self.live_config,
            log=self.metadata_log,
            vnodes=self.vnodes,
            clock=self.clock,
            scheduler=self.scheduler,
            random=self.random,
            nodes=self.nodes,
            open_view=self.views.open_partition,
        )
        self.topics.take_stock()
        self.answers = AnswerCache(catalogue)
        self.databases = DatabaseDirectory(self, self, store=store, vnodes=self.vnodes, random=self.random)
        self.snapshots = CatalogueSnapshots(catalogue, store.catalogue, self.meta)
        self.producer_ids: ProducerIds = ProducerIds(catalogue, self.metadata_log, self.nodes)

    @property
    def cluster_id(self) -> str:
        """The id that all clients of this cluster see."""
        return self.store.identity.cluster_id

    @property
    def data_directory(self) -> str:
        """The absolute path of the data directory, for tools."""
        return os.path.abspath(self.store.path)

    @property
    def groups(self) -> Groups:
        """The group coordinator."""
        return self.coordinators.groups

    @cached_property
    def member_views(self) -> MemberViews:
        """The partitions as groups with settings for reading see them; a start need not know how."""
        from broker.fetching.member_views import MemberViews

        return MemberViews(self, self.member_reads)

    @cached_property
    def schemas(self) -> Schemas:
        """The schemas that produced values name."""
        from broker.storage.schemas import Schemas

        return Schemas(self, lambda: self.config, self._lookups)

    @cached_property
    def share_queues(self) -> ShareQueues:
        """The sessions of share groups' members."""
        from broker.fetching.share_queues import ShareQueues

        return ShareQueues(self, self, lambda: self.coordinators.shares)

    @cached_property
    def splits(self) -> PartitionSplits:
        """The splits of partitions, and what leads to them."""
        from broker.upkeep.partition_splits import PartitionSplits

        return PartitionSplits(self, self, self.metadata_log)

    @property
    def transactions(self) -> Transactions:
        """The transaction coordinator."""
        return self.coordinators.transactions

    def _reconfigure(self, config: Config) -> None:
        """Apply a changed configuration everywhere."""
        self.config = config
        self.coordinators.reconfigure()
        self.memory.configure(config)
        self.request_log.configure(config)
        meta = replace(
            self.meta.log.options,
            delete_delay_ms=config.log_segment_delete_delay_ms,
            min_free_bytes=config.kawal_min_free_bytes,
            producer_expiry_ms=config.producer_id_expiration_ms,
        )
        self.meta.log.change_options(meta)
        for database in self.catalogue.databases.values():
            self.databases.configure_logs(database)

    def set_clocks(self, *, now_ms: int, wall_ms: int) -> None:
        """Begin a turn at this moment of the monotonic clock and of the wall clock; called by the shell."""
        clock = self.clock
        if (now_ms, wall_ms) == (clock.turn_ms, clock.turn_wall_ms) and self.vnodes.know_time:
            return  # in one millisecond there are several turns with small requests
        clock.set(now_ms=now_ms, wall_ms=wall_ms)
        self.vnodes.follow(clock)

    def tick(self, now_ms: int) -> None:
        """Do all work that is due."""
        self.timers.run_due(now_ms, self.stats.clock_ns)
        self.coordinators.tick(now_ms)
        for vnode in self.vnodes.every:
            try:
                vnode.log.tick(now_ms)
            except Exception as error:  # noqa: BLE001  (the net)
                self.logs.crashed(vnode, error, now_ms)

    def next_deadline(self, *, of_logs: bool = True) -> int | None:
        """Return the monotonic time of the next `tick`, or None; `of_logs`: their moments count, too."""
        nearest, other = self.timers.next_deadline(), self.coordinators.next_deadline()
        if nearest is None or (other is not None and other < nearest):
            nearest = other
        if of_logs:
            moments = [vnode.next_deadline() for vnode in self.vnodes.every]
            nearest = min((moment for moment in (nearest, *moments) if moment is not None), default=None)
        return nearest

    def connect(
        self, *, peer: str, advertised: tuple[str, int], now_ms: int, descriptor: int = -1
    ) -> Connection:
        """Register a client, which learns `advertised` as the address of this node."""
        connection = Connection(
            identity=self._next_connection,
            peer=peer,
            request_bytes_max=self.config.socket_request_max_bytes,
            plain_request_bytes_max=self.config.kawal_request_max_bytes,
            pool=self.receive_memory,
            unsent=self.unsent,
            memory=self.memory,
            stats=self.stats,
            offload=self.scheduler.offload,
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
        """Forget a client that has left, and withdraw all that it waited for."""
        connection.lost()
        self.fetch_sessions.disconnected(connection.identity)
        if "share_queues" in self.__dict__:
            self.share_queues.disconnected(connection.identity)
        self.stats.connections_closed[connection.close_cause] += 1
        del self.connections[connection.identity]

    def take_unsent(self) -> list[Connection]:
        """Take the connections that got something to send, or a reason to close, since the last call.

        What they hold is accounted for when it is sent; of one to which nothing is sent, `account` is to be
        called.
        """
        taken, self.unsent[:] = self.unsent[:], []
        return taken

    def find_topic(self, name: str) -> Topic:
        """Return the topic of that name.  Raises: RequestError(UNKNOWN_TOPIC_OR_PARTITION)."""
        if topic := self.catalogue.find(name):
            return topic
        text = "This server does not host this topic-partition."
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)

    def delete_topic(self, topic: Topic, now_ms: int) -> None:
        """Remove the topic and answer the fetches that wait for its records.  Raises: RequestError."""
        self.topics.delete(topic, now_ms)
        close_partitions(topic, self.waiters, self.scheduler, self.clock)
        self.retirement.topic_deleted(topic, now_ms)
        self.retention.deleted(topic)
        self.views.forget(topic)

    def reload_view(self, topic: Topic, record: ViewReloaded, now_ms: int) -> None:
        """Give a view another definition; fetches that wait for it read on by the new one.

        Raises: RequestError.
        """

        def counts() -> None:
            self.views.forget(topic)
            close_partitions(topic, self.waiters, self.scheduler, self.clock)

        self.metadata_log.append(record, now_ms, confirmed=counts)

    @property
    def disk_threads(self) -> int:
        """The number of threads that keep every vnode busy, at most 16."""
        return min(2 * len(self.vnodes.every), 16)

    @property
    def has_disk_work(self) -> bool:
        """True while a job is in flight."""
        if self.remote is not None and self.remote.journal.is_working:
            return True
        return bool(self.snapshots.job or self.databases.busy or any(log.busy for log in self.vnodes.every))

    def take_jobs(self, now_ms: int, of: list[Vnode] | None = None) -> Iterator[tuple[Vnode, DiskJob]]:
        """Yield the disk work that can begin now; `of`: commits of these vnodes alone."""
        for vnode in self.vnodes.every if of is None else of:
            try:
                # One by one: a commit that has begun must be done, whatever comes after it.
                for job in vnode.begin_jobs(now_ms, maintains=of is None):
                    yield vnode, job
            except Exception as error:  # noqa: BLE001  (the net)
                self.logs.crashed(vnode, error, now_ms)
        if of is not None:
            return
        yield from ((self.meta, made) for made in self.databases.take_jobs(now_ms))
        if (snapshot := self.snapshots.begin()) is not None:
            yield self.meta, snapshot

    def job_done(self, vnode: Vnode, job: DiskJob, error: Exception | None, now_ms: int) -> None:
        """Take the result of a job: durable answers leave and parked fetches are woken."""
        if job is self.snapshots.job:
            self.snapshots.done(error)
            return
        if self.databases.owns(job):
            self.databases.job_done(job, error, now_ms)  # type: ignore[arg-type]
            return
        if isinstance(error, DiskError):
            logger.error("vnode %s: %s", vnode.name, error)
        elif error is not None:
            self.internal_errors.note(ErrorPlace.LOG, f"vnode {vnode.name}: {type(job).__name__}", error)
        self.logs.apply(vnode, lambda: vnode.job_done(job, error, now_ms), now_ms)

    def _advanced(self, vnode: Vnode, streams: list[Advanced], now_ms: int) -> None:
        """Wake all that reads streams of which more can be read."""
        self.retention.advanced(streams)
        for advanced in streams:
            self.waiters.advanced(advanced.stream_id, advanced.added_bytes, now_ms)
        self.views.advanced(vnode, streams, now_ms)

    def begin_stop(self, now_ms: int) -> None:
        """Answer the fetches that wait; the shell reads no more, and lets answers in progress leave."""
        self.stopping = True
        self.waiters.wake_all(now_ms)
        self.coordinators.begin_stop(now_ms)

    def close(self, now_ms: int) -> None:
        """Seal and checkpoint every vnode; nothing may be in flight.

        A log that cannot be closed because of the disk is left to the next start, which recovers it.
        """
        for vnode in self.vnodes.every:
            vnode.before_close(now_ms)
        closing = [(f"vnode {vnode.name}", vnode.log.close) for vnode in self.vnodes.every[1:]]
        for name, close in [*closing, ("the catalogue", self.store.close)]:
            try:
                close(now_ms)
            except DiskError as error:
                logger.error("%s was not closed cleanly: %s", name, error)
