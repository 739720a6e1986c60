"""The coordinator's driver: its log (`__consumer_offsets`), its clock, its topics and its settings.

    request --> coordinator --take_effects--> one batch each, appended to its partition --durable--> answers

The internal topic is made when the first record has to be stored, so that a node without groups has none;
what is to be appended waits until the topic is durable.  At a start all its partitions are replayed in
slices, and groups answer COORDINATOR_LOAD_IN_PROGRESS until their partition is through.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from broker.catalogue.catalogue_records import CatalogueRecord, PartitionsAdded, TopicCreated, TopicDeleted
from broker.catalogue.topic_admin import offsets_topic
from broker.catalogue.topics import OFFSETS_TOPIC, Topic
from broker.coordinators.group_copier import GroupCopier
from broker.coordinators.group_loader import GroupLoader
from broker.coordinators.group_settings import group_config, group_settings
from broker.errors import RequestError
from broker.loop.call import Call
from broker.storage.partition import Partition
from broker.storage.vnode import Vnode
from groups.coordinator import Coordinator
from groups.effects import Effects, EncodedRecord
from groups.topics import Client
from protocol.error_codes import ErrorCode
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from wal.disk import DiskError
from wal.errors import WalError

if TYPE_CHECKING:
    from broker.core import Broker

logger = logging.getLogger("kawal.groups")


class EffectsWaiter:
    """Tells the coordinator what became of one batch of its records."""

    __slots__ = ("_driver", "_effects")

    def __init__(self, driver: GroupDriver, effects: Effects) -> None:
        self._driver = driver
        self._effects = effects

    def appended(self, _vnode: Vnode, error: ErrorCode | None, now_ms: int) -> None:
        """Pass it on."""
        self._driver.settled(self._effects, error, now_ms)


class GroupDriver:
    """Everything the group coordinator needs of the broker."""

    def __init__(self, broker: Broker, now_ms: int) -> None:
        self._broker = broker
        self._backlog: list[Effects] = []
        self._in_flight = 0
        self._making_topic = False
        self._stopping = False
        topic = broker.catalogue.by_name.get(OFFSETS_TOPIC)
        self.coordinator = self._new_coordinator(topic)
        if topic is None:
            self.coordinator.loaded(range(self._partition_count), now_ms)
        else:
            GroupLoader(broker, self, topic).run(now_ms)
        self._copier = GroupCopier(broker, self, now_ms)
        broker.topics.listener = self.catalogue_changed

    def _new_coordinator(self, topic: Topic | None) -> Coordinator:
        """A coordinator of nothing, for a topic with its partitions or one that is still to be made."""
        broker = self._broker
        config = group_config(broker.live_config)
        if topic is not None:
            # What the topic was made with holds, also when it has grown since: the partition of a group
            # follows from that number, and with another one older records would come after newer ones.
            config = replace(config, offsets_topic_num_partitions=topic.first_partition_count)
        self._partition_count = config.offsets_topic_num_partitions
        return Coordinator(
            config=config,
            topics=broker.catalogue,
            random=broker.random,
            wall_ms=broker.wall_ms,
            settings=lambda group_id: group_settings(broker.catalogue, broker.live_config, group_id),
        )

    def reconfigure(self) -> None:
        """Let changed settings of the server hold; those of single groups are asked for at every use."""
        config = group_config(self._broker.live_config)
        self.coordinator.configure(replace(config, offsets_topic_num_partitions=self._partition_count))

    def loaded(self, coordinator: Coordinator, partition: int, now_ms: int) -> None:
        """A partition of the topic was replayed into the coordinator."""
        if coordinator is self.coordinator and not self._stopping:
            coordinator.loaded((partition,), now_ms)
            self.pump(now_ms)

    # --- requests --------------------------------------------------------------------------------------

    def client_of(self, call: Call[Any]) -> Client:
        """Who sent the call, as the coordinator shows it."""
        return Client(version=call.version, client_id=call.client_id or "", host=f"/{call.connection.host}")

    def pump(self, now_ms: int) -> None:
        """Append what the coordinator wants stored; to be called after each call of one of its methods."""
        while effects := self.coordinator.take_effects():
            self._backlog += effects
        topic = self._broker.catalogue.by_name.get(OFFSETS_TOPIC)
        if not self._backlog or self._making_topic:
            return
        if topic is None or not topic.recorded:
            self._make_topic(topic, now_ms)
            return
        backlog, self._backlog = self._backlog, []
        for one in backlog:
            if not one.settled:
                self._append(topic, one, now_ms)

    def settled(self, effects: Effects, error: ErrorCode | None, now_ms: int) -> None:
        """A batch of records is durable or lost."""
        self._in_flight -= 1
        if error is None:
            self.coordinator.durable(effects, now_ms)
        else:
            self.coordinator.failed(effects, ErrorCode.COORDINATOR_NOT_AVAILABLE, now_ms)
        self.pump(now_ms)
        self._stop_when_stored(now_ms)

    def begin_stop(self, now_ms: int) -> None:
        """Answer whoever waits for a group to gather, once what is on its way to the disk has arrived."""
        self._stopping = True
        self._stop_when_stored(now_ms)

    def _stop_when_stored(self, now_ms: int) -> None:
        if self._stopping and not self._in_flight and not self._backlog:
            self.coordinator.unload(range(self._partition_count), now_ms)

    def tick(self, now_ms: int) -> None:
        """Let the coordinator do what its time has come for."""
        deadline_ms = self.coordinator.next_deadline()
        if deadline_ms is not None and deadline_ms <= now_ms:
            self.coordinator.tick(now_ms)
            self.pump(now_ms)

    def next_deadline(self) -> int | None:
        """When `tick` should be called."""
        return self.coordinator.next_deadline()

    def catalogue_changed(self, record: CatalogueRecord, now_ms: int) -> None:
        """Tell the coordinator of a topic that was made, grown or deleted for good."""
        match record:
            case TopicCreated(name=name) if name == OFFSETS_TOPIC:
                self._offsets_topic_created(now_ms)
            case TopicDeleted(name=name) if name == OFFSETS_TOPIC:
                self._begin_anew(None, now_ms)
            case TopicCreated(name=name):
                self.coordinator.topics_changed(now_ms, created=(name,))
            case PartitionsAdded(topic_id=topic_id):
                topic = self._broker.catalogue.by_id.get(UUID(hex=topic_id))
                if topic is not None:
                    self.coordinator.topics_changed(now_ms, grown=(topic.name,))
            case TopicDeleted(name=name):
                self.coordinator.topics_changed(now_ms, deleted=(name,))
            case _:
                return
        self.pump(now_ms)

    def _offsets_topic_created(self, now_ms: int) -> None:
        """The topic may be a client's work, with partitions of its own choice; nothing is stored so far."""
        topic = self._broker.catalogue.by_name[OFFSETS_TOPIC]
        if topic.partition_count != self._partition_count:
            self._begin_anew(topic, now_ms)

    def _begin_anew(self, topic: Topic | None, now_ms: int) -> None:
        """Forget every group: the topic that held them is gone, or divides them otherwise."""
        logger.warning("%s was made or deleted by a client: all groups begin anew", OFFSETS_TOPIC)
        old, self._backlog = self.coordinator, []
        old.unload(range(self._partition_count), now_ms)
        self.coordinator = self._new_coordinator(topic)
        self.coordinator.loaded(range(self._partition_count), now_ms)

    # --- the log ---------------------------------------------------------------------------------------

    def _make_topic(self, planned: Topic | None, now_ms: int) -> None:
        """Make the internal topic, if nobody is doing so, and wait until it is durable."""
        topics = self._broker.topics
        try:
            if planned is None:
                new = offsets_topic(self._broker.config)
                topics.create(topics.check_new(new, self._broker.wall_ms(now_ms)), now_ms)
        except RequestError as error:
            logger.error("%s cannot be made: %s", OFFSETS_TOPIC, error)
            self._fail_backlog(now_ms)
            return
        self._making_topic = True
        topics.when_durable(lambda error: self._topic_made(error, now_ms), now_ms)

    def _topic_made(self, error: ErrorCode | None, now_ms: int) -> None:
        self._making_topic = False
        if error is not None:
            self._fail_backlog(now_ms)
        self.pump(now_ms)
        self._stop_when_stored(now_ms)

    def _fail_backlog(self, now_ms: int) -> None:
        backlog, self._backlog = self._backlog, []
        for effects in backlog:
            self.coordinator.failed(effects, ErrorCode.COORDINATOR_NOT_AVAILABLE, now_ms)

    def _append(self, topic: Topic, effects: Effects, now_ms: int) -> None:
        try:
            partition = self.append_records(topic, effects.partition, effects.records, now_ms)
        except (WalError, DiskError) as error:
            logger.error("partition %d of %s: %s", effects.partition, OFFSETS_TOPIC, error)
            self.coordinator.failed(effects, ErrorCode.COORDINATOR_NOT_AVAILABLE, now_ms)
            return
        self._in_flight += 1
        vnode = partition.vnode
        vnode.wait_durable(vnode.last_version, EffectsWaiter(self, effects), now_ms)

    def append_records(
        self, topic: Topic, index: int, records: list[EncodedRecord], now_ms: int
    ) -> Partition:
        """Append one batch to a partition of the topic, using the room kept for commits on a full disk.

        Raises: WalError.
        """
        partition = self._broker.topics.partition(topic, index)
        wall_ms = self._broker.wall_ms(now_ms)
        batch = encode_batch(
            [Record(number, wall_ms, key, value) for number, (key, value) in enumerate(records)]
        )
        appended = partition.vnode.log.append(partition.stream_id, batch, reserved=True)
        partition.vnode.last_version = appended.version
        return partition
