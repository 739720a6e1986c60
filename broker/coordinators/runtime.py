"""The runtime of a coordinator: its machine, its log, its clock and its topic.

    step --> machine --take_effects--> one batch each, appended to its partition --durable--> answers leave

Requests reach the machine only through `step`. At its end it appends all that the machine wants stored, as
one batch for each of the machine's effects: after a crash all records of an effect are there, or none.

The internal topic is created when the first record has to be stored, so a node without groups has none;
records wait until the topic is durable.  At the start all its partitions are replayed in slices (loader.py);
until a partition is replayed, the machine refuses its requests with COORDINATOR_LOAD_IN_PROGRESS. Partitions
that consist mostly of superseded records are copied forward (copier.py).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Generic
from uuid import UUID

from broker.catalogue.catalogue_records import (
    CatalogueRecord,
    PartitionsAdded,
    PartitionSplit,
    PartitionsRenewed,
    TopicCreated,
    TopicDeleted,
    VnodesAdded,
)
from broker.catalogue.metadata import Metadata
from broker.catalogue.topics import Topic
from broker.coordinators.copier import Copier, DurableWaiter
from broker.coordinators.loader import LOAD_AGAIN_MS, Loader
from broker.coordinators.machine import Kind, MachineT
from broker.coordinators.records import MarkerBatch, append_records
from broker.errors import RequestError
from broker.loop.internal_errors import ErrorPlace
from broker.loop.loop import Loop
from broker.loop.slices import Steps
from broker.storage.vnode import Vnode
from groups.effects import Effects, EndMarker
from protocol.error_codes import ErrorCode
from wal.disk import DiskError
from wal.errors import WalError

logger = logging.getLogger("kawal.coordinators")

APPENDED_AT_ONCE: Final = 100
"""The batches that have waited for the topic which are appended without a pause, in 1 ms: the first member of
a share group with 6,000 topics makes as many."""


class CoordinatorRuntime(Generic[MachineT]):
    """One running coordinator."""

    def __init__(self, kind: Kind[MachineT], metadata: Metadata, loop: Loop, now_ms: int) -> None:
        """Begin to load the topic, if there is one."""
        self._kind = kind
        self._metadata = metadata
        self._loop = loop
        self._backlog: list[Effects] = []
        self._in_flight = 0
        # Until the topic is durable, and what waited for it is appended.
        self._making_topic = False
        self._stopping = False
        self._partition_count = 0
        topic = metadata.catalogue.by_name.get(kind.topic_name)
        self._machine = self._new_machine(topic)
        if topic is None:
            self._machine.loaded(range(self._partition_count), now_ms)
        else:
            elsewhere = self._elsewhere(topic)
            self._begin_elsewhere(elsewhere, now_ms)
            partitions = [index for index in range(self._partition_count) if index not in set(elsewhere)]
            Loader(self._machine, topic, metadata, loop, self._loaded, partitions).begin()
        self._copier = Copier(kind.topic_name, metadata, loop, lambda: self._machine, now_ms)
        metadata.metadata_log.listen(self._catalogue_changed)

    def _new_machine(self, topic: Topic | None) -> MachineT:
        """Return an empty machine, for an existing topic or one that is still to be created."""
        if topic is None:
            self._partition_count = self._kind.new_topic().partition_count
        else:
            # The number with which the topic was created stays in effect after growth: it decides the
            # partition of a group, and with another number older records could be replayed after newer ones.
            self._partition_count = topic.first_partition_count
        machine = self._kind.new_machine(self._partition_count)
        machine.leave_to_others(self._elsewhere(topic))
        return machine

    def _elsewhere(self, topic: Topic | None) -> list[int]:
        """Return the partitions that other nodes lead; without a topic no node serves any."""
        nodes = self._metadata.nodes
        if nodes.count == 1:
            return []
        if topic is None:
            return list(range(self._partition_count))
        return [index for index in range(self._partition_count) if not nodes.leads(topic.vnode_index(index))]

    def _begin_elsewhere(self, partitions: Sequence[int], now_ms: int) -> None:
        """Begin with the partitions that other nodes lead: they need not be loaded."""
        self._machine.loaded(partitions, now_ms)

    def _append_elsewhere(self, effects: Effects, now_ms: int) -> None:
        """Refuse what had waited for the topic: only now another node is known to lead its partition."""
        self._machine.failed(effects, ErrorCode.NOT_COORDINATOR, now_ms)

    @contextmanager
    def step(self, now_ms: int) -> Iterator[MachineT]:
        """Give access to the machine for one operation, and append what it wants stored at the end."""
        try:
            yield self._machine
        finally:
            self._pump(now_ms)

    @property
    def has_backlog(self) -> bool:
        """Whether records wait for the topic to be created."""
        return bool(self._backlog)

    def reconfigure(self) -> None:
        """Apply settings of the server that have changed."""
        self._kind.configure(self._machine, self._partition_count)

    def tick(self, now_ms: int) -> None:
        """Let the machine do the work that is due."""
        deadline_ms = self._machine.next_deadline()
        if deadline_ms is not None and deadline_ms <= now_ms:
            with self.step(now_ms) as machine:
                machine.tick(now_ms)
            self._heal(now_ms)

    def next_deadline(self) -> int | None:
        """Return the moment at which `tick` should be called."""
        return self._machine.next_deadline()

    def begin_stop(self, now_ms: int) -> None:
        """Refuse the requests that wait in the machine, once all pending records are on the disk."""
        self._stopping = True
        self._stop_when_stored(now_ms)

    def _stop_when_stored(self, now_ms: int) -> None:
        if self._stopping and not self._in_flight and not self._backlog:
            self._machine.unload(range(self._partition_count), now_ms)

    def _loaded(self, machine: object, partition: int) -> None:
        if machine is self._machine and not self._stopping:
            now_ms = self._loop.clock.turn_ms
            with self.step(now_ms) as loaded:
                loaded.loaded((partition,), now_ms)

    # --- errors of our own -----------------------------------------------------------------------------

    def _heal(self, now_ms: int) -> None:
        """Replay the partitions whose state may be wrong since a timer has raised."""
        for failed in self._machine.take_internal_errors():
            what = (
                f"{self._kind.topic_name}-{failed.partition} is loaded again, because of {failed.group_id!r}"
            )
            self._loop.internal_errors.note(ErrorPlace.COORDINATOR, what, failed.error)
            if failed.partition is not None and not self._stopping:
                self._unload(failed.partition, now_ms)

    def _unload(self, partition: int, now_ms: int) -> None:
        """Forget a partition, and load it again a moment after its last records have become durable."""
        machine, topic = self._machine, self._metadata.catalogue.find(self._kind.topic_name)
        machine.unload((partition,), now_ms)
        if topic is None:
            machine.loaded((partition,), now_ms)
            return

        def load(_now_ms: int) -> None:
            if machine is self._machine and not self._stopping:
                loader = Loader(machine, topic, self._metadata, self._loop, self._loaded, (partition,))
                loader.begin()

        def durable(_error: object) -> None:
            self._loop.timers.add(now_ms + LOAD_AGAIN_MS, load)

        vnode = self._metadata.topics.partition(topic, partition).vnode
        vnode.wait_durable(vnode.last_version, DurableWaiter(durable), now_ms)

    # --- the log ---------------------------------------------------------------------------------------

    def _pump(self, now_ms: int) -> None:
        """Append what the machine wants stored; if need be, create the topic first."""
        while effects := self._machine.take_effects():
            self._backlog += effects
        if not self._backlog or self._making_topic:
            return
        topic = self._metadata.catalogue.by_name.get(self._kind.topic_name)
        if topic is None or not topic.recorded:
            self._make_topic(topic, now_ms)
            return
        backlog, self._backlog = self._backlog, []
        self._append_some(topic, backlog, now_ms)

    def _append_some(self, topic: Topic, backlog: Sequence[Effects], now_ms: int) -> None:
        for pending in backlog:
            if not pending.settled:
                self._append(topic, pending, now_ms)

    def _append(self, topic: Topic, effects: Effects, now_ms: int) -> None:
        partition = self._metadata.topics.here(topic, effects.partition)
        if partition is None:
            self._append_elsewhere(effects, now_ms)
            return
        try:
            wall_ms = self._loop.clock.wall_ms(now_ms)
            if isinstance(effects.transaction, EndMarker):
                MarkerBatch(effects.transaction, wall_ms).append(partition)
            else:
                append_records(partition, effects.records, wall_ms, effects.transaction)
        except (WalError, DiskError) as error:
            logger.error(
                "records of partition %d of %s were not appended: %s", effects.partition, topic.name, error
            )
            self._machine.failed(effects, ErrorCode.COORDINATOR_NOT_AVAILABLE, now_ms)
            return
        self._in_flight += 1
        vnode = partition.vnode
        vnode.wait_durable(vnode.last_version, _EffectsWaiter(self, self._machine, effects), now_ms)

    def settled(self, machine: MachineT, effects: Effects, error: ErrorCode | None, now_ms: int) -> None:
        """Tell the machine the outcome of a batch of its records, unless it is being discarded."""
        self._in_flight -= 1
        if machine is self._machine:
            with self.step(now_ms):
                if error is None:
                    machine.durable(effects, now_ms)
                else:
                    machine.failed(effects, ErrorCode.COORDINATOR_NOT_AVAILABLE, now_ms)
        self._stop_when_stored(now_ms)

    def _make_topic(self, planned: Topic | None, now_ms: int) -> None:
        """Create the internal topic, unless a request is creating it, and wait until it is durable."""
        topics = self._metadata.topics
        if not self._metadata.nodes.is_controller:
            # The controller makes it: the one who asked for this asks again.
            self._fail_backlog(now_ms)
            return
        try:
            if planned is None:
                new = self._kind.new_topic()
                topics.create(topics.check_new(new, self._loop.clock.wall_ms(now_ms)), now_ms)
        except RequestError as error:
            logger.error("%s cannot be created: %s", self._kind.topic_name, error)
            self._fail_backlog(now_ms)
            return
        self._making_topic = True
        self._metadata.metadata_log.when_durable(lambda error: self._topic_made(error, now_ms), now_ms)

    def _topic_made(self, error: ErrorCode | None, now_ms: int) -> None:
        if error is None and len(self._backlog) > APPENDED_AT_ONCE:
            self._loop.scheduler.add_work(self._append_backlog())
            return
        self._making_topic = False
        if error is not None:
            self._fail_backlog(now_ms)
        self._pump(now_ms)
        self._stop_when_stored(now_ms)

    def _append_backlog(self) -> Steps:
        """Append what has waited for the topic, some at a time; what comes meanwhile waits behind it."""
        try:
            while self._backlog:
                topic = self._metadata.catalogue.find(self._kind.topic_name)
                if topic is None:
                    break
                some = self._backlog[:APPENDED_AT_ONCE]
                del self._backlog[:APPENDED_AT_ONCE]
                self._append_some(topic, some, self._loop.clock.turn_ms)
                yield
        finally:
            self._making_topic = False
        now_ms = self._loop.clock.turn_ms
        self._pump(now_ms)
        self._stop_when_stored(now_ms)

    def _fail_backlog(self, now_ms: int) -> None:
        backlog, self._backlog = self._backlog, []
        for effects in backlog:
            self._machine.failed(effects, ErrorCode.COORDINATOR_NOT_AVAILABLE, now_ms)

    # --- topics ----------------------------------------------------------------------------------------

    def _catalogue_changed(self, record: CatalogueRecord, now_ms: int) -> None:
        """Tell the machine of a topic that was created, grown or deleted for good."""
        created: tuple[str, ...] = ()
        deleted: tuple[str, ...] = ()
        grown: tuple[str, ...] = ()
        match record:
            case TopicCreated(name=name) if name == self._kind.topic_name:
                self._own_topic_created(now_ms)
            case TopicDeleted(name=name) if name == self._kind.topic_name:
                self._start_anew(None, now_ms)
            case TopicCreated(name=name):
                created = (name,)
            case (
                PartitionsAdded(topic_id=topic_id)
                | PartitionSplit(topic_id=topic_id)
                | PartitionsRenewed(topic_id=topic_id)
            ):
                topic = self._metadata.catalogue.by_id.get(UUID(hex=topic_id))
                grown = () if topic is None else self._with_views(topic)
            case VnodesAdded(name=name):
                views = self._metadata.catalogue.views_over_database(name)
                grown = tuple(view.name for view in views)
            case TopicDeleted(name=name):
                deleted = (name,)
            case _:
                return
        with self.step(now_ms) as machine:
            if created or deleted or grown:
                machine.topics_changed(now_ms, created=created, deleted=deleted, grown=grown)

    def _with_views(self, topic: Topic) -> tuple[str, ...]:
        """Return the names of a topic and of the views over it, which have as many partitions."""
        return (topic.name, *(view.name for view in self._metadata.catalogue.views_over(topic)))

    def _own_topic_created(self, now_ms: int) -> None:
        """Use the topic as it is: a client may have created it, with any number of partitions."""
        topic = self._metadata.catalogue.by_name[self._kind.topic_name]
        if topic.partition_count != self._partition_count:
            self._start_anew(topic, now_ms)
        else:
            elsewhere = self._elsewhere(topic)
            self._machine.leave_to_others(elsewhere)
            self._begin_elsewhere(elsewhere, now_ms)

    def _start_anew(self, topic: Topic | None, now_ms: int) -> None:
        """Forget all state, as the topic that held it was deleted or divides it differently."""
        logger.warning(
            "%s was created or deleted by a client: all state kept in it is forgotten",
            self._kind.topic_name,
        )
        old, self._backlog = self._machine, []
        self._loop.scheduler.add_work(old.discard(now_ms))
        self._machine = self._new_machine(topic)
        elsewhere = [] if topic is None else self._elsewhere(topic)
        self._machine.loaded(sorted(set(range(self._partition_count)) - set(elsewhere)), now_ms)
        self._begin_elsewhere(elsewhere, now_ms)


class _EffectsWaiter(Generic[MachineT]):
    """Tells the runtime the outcome of one batch of records."""

    __slots__ = ("_effects", "_machine", "_runtime")

    def __init__(self, runtime: CoordinatorRuntime[MachineT], machine: MachineT, effects: Effects) -> None:
        self._runtime = runtime
        self._machine = machine
        self._effects = effects

    def appended(self, _vnode: Vnode, error: ErrorCode | None, now_ms: int) -> None:
        """Pass the outcome on."""
        self._runtime.settled(self._machine, self._effects, error, now_ms)
