"""Replaying `__consumer_offsets` at a start, in slices, so that everything else is served meanwhile.

A partition whose replay has ended is served at once.  One that the disk does not let read is tried again;
one that holds what this version cannot understand stays refused, because serving it would lose progress.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from broker.catalogue.topics import OFFSETS_TOPIC
from broker.storage.partition import Partition
from protocol.errors import ProtocolError
from protocol.record_reader import iter_records
from protocol.records import iter_batches, read_batch_header
from wal.disk import DiskError
from wal.errors import WalError
from wal.segment import FileRange

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.coordinators.group_driver import GroupDriver
    from broker.core import Broker

logger = logging.getLogger("kawal.groups")

LOAD_BYTES_PER_SLICE: Final = 128 * 1024
"""Read and replayed before other work has its turn: about 1,500 commits, 5 ms."""

LOAD_AGAIN_MS: Final = 1_000
"""A partition that the disk did not let read is tried again after so long."""


class GroupLoader:
    """Loads the partitions of the topic into the driver's coordinator; `run` must be called once."""

    def __init__(self, broker: Broker, driver: GroupDriver, topic: Topic) -> None:
        self._broker = broker
        self._driver = driver
        self._coordinator = driver.coordinator
        self._topic = topic
        self._waiting = deque(range(topic.first_partition_count))
        self._replaying: Iterator[int] | None = None

    def run(self, now_ms: int) -> None:
        """Replay one slice; the next ones follow by themselves until everything is loaded."""
        replayed_bytes = 0
        while self._waiting:
            if self._topic.topic_id not in self._broker.catalogue.by_id:
                return
            try:
                replayed_bytes += self._step(now_ms)
            except (WalError, DiskError) as error:
                self._report(f"is tried again in {LOAD_AGAIN_MS} ms", error)
                self._waiting.rotate(-1)
                self._replaying = None
                self._broker.timers.add(now_ms + LOAD_AGAIN_MS, self.run)
                return
            except ProtocolError as error:
                self._report("is not served: this version cannot read it", error)
                self._waiting.popleft()
                self._replaying = None
            if replayed_bytes >= LOAD_BYTES_PER_SLICE:
                self._broker.timers.add(now_ms + 1, self.run)
                return

    def _report(self, what: str, error: Exception) -> None:
        logger.error("partition %d of %s %s: %s", self._waiting[0], OFFSETS_TOPIC, what, error)

    def _step(self, now_ms: int) -> int:
        """Replay some records of the first partition that waits; returns their size in bytes."""
        index = self._waiting[0]
        if self._replaying is None:
            self._replaying = self._replay(self._broker.topics.partition(self._topic, index))
        size_bytes = next(self._replaying, None)
        if size_bytes is not None:
            return size_bytes
        self._waiting.popleft()
        self._replaying = None
        self._driver.loaded(self._coordinator, index, now_ms)
        return 0

    def _replay(self, partition: Partition) -> Iterator[int]:
        offset = partition.log_start
        while offset < partition.high_watermark:
            result = partition.vnode.log.read(partition.stream_id, offset, LOAD_BYTES_PER_SLICE)
            data = b"".join(part.read() if isinstance(part, FileRange) else part for part in result.parts)
            for batch in iter_batches(data):
                if read_batch_header(batch).is_control:
                    continue
                for record in iter_records(batch):
                    if record.offset >= offset and record.key is not None:
                        self._coordinator.replay(record.key, record.value)
            offset = result.next_offset
            yield result.size_bytes
