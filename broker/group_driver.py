"""The coordinator's driver: its log (`__consumer_offsets`), its clock, its topics and its settings.

    request --> coordinator --take_effects--> one batch each, appended to its partition --durable--> answers

The internal topic is made when the first record has to be stored, so that a node without groups has none;
what
is to be appended waits until the topic is durable.  At a start all its partitions are replayed in slices, and
groups answer COORDINATOR_LOAD_IN_PROGRESS until their partition is through.  A partition whose records are
mostly superseded is copied forward: its present state is appended, then its log start moves behind the past.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from broker.call import Call
from broker.catalogue_records import CatalogueRecord, PartitionsAdded, TopicCreated, TopicDeleted
from broker.errors import RequestError
from broker.group_settings import group_config, group_settings
from broker.partition import Partition
from broker.topic_admin import NewTopic
from broker.topic_directory import RecordedWaiter
from broker.topics import OFFSETS_TOPIC, Topic
from broker.vnode import Vnode
from groups.coordinator import Coordinator
from groups.effects import Effects, EncodedRecord
from groups.topics import Client
from protocol.error_codes import ErrorCode
from protocol.errors import Malformed
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch
from protocol.records import iter_batches, read_batch_header
from wal.disk import DiskError
from wal.errors import WalError
from wal.segment import FileRange

if TYPE_CHECKING:
    from broker.core import Broker

logger = logging.getLogger("kawal.groups")

LOAD_BYTES_PER_SLICE: Final = 128 * 1024
"""Read and replayed before other work has its turn: about 1,500 commits, 5 ms."""

COPY_FORWARD_BYTES_MIN: Final = 4 * 1024 * 1024
COPY_FORWARD_FACTOR: Final = 4
"""A partition is copied forward when it is larger than the least size and than so many times its last copy.
"""

COPY_FORWARD_CHECK_MS: Final = 10_000
COPY_RECORDS_PER_SLICE: Final = 500


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
        self._config = group_config(broker.live_config)
        self.coordinator = Coordinator(
            config=self._config,
            topics=broker.catalogue,
            random=broker.random,
            wall_ms=broker.wall_ms,
            settings=lambda group_id: group_settings(broker.catalogue, broker.live_config, group_id),
        )
        self._backlog: list[Effects] = []
        self._making_topic = False
        self._copied_bytes: dict[int, int] = {}
        self._copying = False
        topic = broker.catalogue.by_name.get(OFFSETS_TOPIC)
        if topic is None:
            self.coordinator.loaded(range(self._config.offsets_topic_num_partitions), now_ms)
        else:
            self._load_slice(self._stored(topic, now_ms), now_ms)
        broker.deadlines.add(now_ms + COPY_FORWARD_CHECK_MS, self._copy_forward)
        broker.topics.listener = self.catalogue_changed

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
        if topic is None:
            self._make_topic(now_ms)
            return
        backlog, self._backlog = self._backlog, []
        for one in backlog:
            if not one.settled:
                self._append(topic, one, now_ms)

    def settled(self, effects: Effects, error: ErrorCode | None, now_ms: int) -> None:
        """A batch of records is durable or lost."""
        if error is None:
            self.coordinator.durable(effects, now_ms)
        else:
            self.coordinator.failed(effects, ErrorCode.COORDINATOR_NOT_AVAILABLE, now_ms)
        self.pump(now_ms)

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

    # --- the log ---------------------------------------------------------------------------------------

    def _make_topic(self, now_ms: int) -> None:
        new = NewTopic(
            name=OFFSETS_TOPIC,
            partition_count=self._config.offsets_topic_num_partitions,
            replication_factor=1,
            configs={
                "cleanup.policy": "compact",
                "segment.bytes": "104857600",
                "compression.type": "producer",
            },
        )
        try:
            record = self._broker.topics.check_new(new, self._broker.wall_ms(now_ms))
            self._broker.topics.create(record, now_ms)
        except RequestError as error:
            logger.error("%s cannot be made: %s", OFFSETS_TOPIC, error)
            self._fail_backlog(now_ms)
            return
        self._making_topic = True
        self._broker.topics.when_durable(lambda error: self._topic_made(error, now_ms), now_ms)

    def _topic_made(self, error: ErrorCode | None, now_ms: int) -> None:
        self._making_topic = False
        if error is not None:
            self._fail_backlog(now_ms)
        self.pump(now_ms)

    def _fail_backlog(self, now_ms: int) -> None:
        backlog, self._backlog = self._backlog, []
        for effects in backlog:
            self.coordinator.failed(effects, ErrorCode.COORDINATOR_NOT_AVAILABLE, now_ms)

    def _append(self, topic: Topic, effects: Effects, now_ms: int) -> None:
        try:
            partition = self._append_records(topic, effects.partition, effects.records, now_ms)
        except (WalError, DiskError) as error:
            logger.error("partition %d of %s: %s", effects.partition, OFFSETS_TOPIC, error)
            self.coordinator.failed(effects, ErrorCode.COORDINATOR_NOT_AVAILABLE, now_ms)
            return
        vnode = partition.vnode
        vnode.wait_durable(vnode.last_version, EffectsWaiter(self, effects), now_ms)

    def _append_records(
        self, topic: Topic, index: int, records: list[EncodedRecord], now_ms: int
    ) -> Partition:
        """Append one batch to a partition of the topic, using the room kept for commits on a full disk."""
        partition = self._broker.topics.partition(topic, index)
        wall_ms = self._broker.wall_ms(now_ms)
        batch = encode_batch(
            [Record(number, wall_ms, key, value) for number, (key, value) in enumerate(records)]
        )
        appended = partition.vnode.log.append(partition.stream_id, batch, reserved=True)
        partition.vnode.last_version = appended.version
        return partition

    # --- loading ---------------------------------------------------------------------------------------

    def _load_slice(self, steps: Iterator[int], now_ms: int) -> None:
        """Replay some stored records; the rest later, so that the loop stays free."""
        replayed = 0
        for size_bytes in steps:
            replayed += size_bytes
            if replayed >= LOAD_BYTES_PER_SLICE:
                self._broker.deadlines.add(now_ms + 1, lambda later_ms: self._load_slice(steps, later_ms))
                break
        self.pump(now_ms)

    def _stored(self, topic: Topic, now_ms: int) -> Iterator[int]:
        """Replay partition by partition; yields the bytes replayed by each step."""
        for index in range(topic.partition_count):
            partition = self._broker.topics.partition(topic, index)
            try:
                yield from self._replay_partition(partition)
            except (WalError, DiskError, Malformed) as error:
                logger.error("partition %d of %s cannot be loaded: %s", index, OFFSETS_TOPIC, error)
                continue
            self.coordinator.loaded((index,), now_ms)

    def _replay_partition(self, partition: Partition) -> Iterator[int]:
        offset = partition.log_start
        while offset < partition.high_watermark:
            result = partition.vnode.log.read(partition.stream_id, offset, LOAD_BYTES_PER_SLICE)
            data = b"".join(part.read() if isinstance(part, FileRange) else part for part in result.parts)
            for batch in iter_batches(data):
                if read_batch_header(batch).is_control:
                    continue
                for record in iter_records(batch):
                    if record.offset >= offset and record.key is not None:
                        self.coordinator.replay(record.key, record.value)
            offset = result.next_offset
            yield result.size_bytes

    # --- copying forward -------------------------------------------------------------------------------

    def _copy_forward(self, now_ms: int) -> None:
        """Look for a partition that has grown too large, and copy it."""
        self._broker.deadlines.add(now_ms + COPY_FORWARD_CHECK_MS, self._copy_forward)
        topic = self._broker.catalogue.by_name.get(OFFSETS_TOPIC)
        if topic is None or self._copying or self._making_topic:
            return
        for index in range(topic.partition_count):
            partition = self._broker.topics.partition(topic, index)
            size = partition.vnode.log.stream_size_bytes(partition.stream_id)
            limit = max(COPY_FORWARD_BYTES_MIN, COPY_FORWARD_FACTOR * self._copied_bytes.get(index, 0))
            if size > limit:
                self._copying = True
                begin = partition.vnode.log.next_offset(partition.stream_id)
                parts = self.coordinator.snapshot(index, COPY_RECORDS_PER_SLICE)
                self._copy_slice(topic, index, begin, parts, now_ms)
                return

    def _copy_slice(
        self, topic: Topic, index: int, begin: int, parts: Iterator[list[EncodedRecord]], now_ms: int
    ) -> None:
        records = next(parts, None)
        try:
            if records is None:
                self._end_copy(topic, index, begin, now_ms)
                return
            if records:
                self._append_records(topic, index, records, now_ms)
        except (WalError, DiskError) as error:
            logger.error("partition %d of %s is not copied forward: %s", index, OFFSETS_TOPIC, error)
            self._copying = False
            return
        self._broker.deadlines.add(
            now_ms + 1, lambda later_ms: self._copy_slice(topic, index, begin, parts, later_ms)
        )

    def _end_copy(self, topic: Topic, index: int, begin: int, now_ms: int) -> None:
        """Move the log start behind the past, once the copy is durable."""
        partition = self._broker.topics.partition(topic, index)
        vnode, stream_id = partition.vnode, partition.stream_id

        def durable(error: ErrorCode | None) -> None:
            self._copying = False
            if error is not None:
                return
            try:
                vnode.log.set_log_start(stream_id, begin)
            except (WalError, DiskError) as refused:
                logger.error("partition %d of %s keeps its past: %s", index, OFFSETS_TOPIC, refused)
                return
            self._copied_bytes[index] = vnode.log.stream_size_bytes(stream_id)

        vnode.wait_durable(vnode.last_version, RecordedWaiter(durable), now_ms)
