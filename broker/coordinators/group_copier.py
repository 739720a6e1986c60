"""Copying a partition of `__consumer_offsets` forward when most of what it holds is superseded.

    begin := log end --all before it durable--> append the present state in slices, each durable before the
    next --> log start := begin

Until the last slice is durable nothing is released, and a slice that is lost ends the copy: the past stays.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from broker.catalogue.topics import OFFSETS_TOPIC
from broker.storage.partition import Partition
from broker.storage.vnode import Vnode
from groups.coordinator import Coordinator
from groups.effects import EncodedRecord
from protocol.error_codes import ErrorCode
from wal.disk import DiskError
from wal.errors import WalError

if TYPE_CHECKING:
    from broker.coordinators.group_driver import GroupDriver
    from broker.core import Broker

logger = logging.getLogger("kawal.groups")

COPY_FORWARD_BYTES_MIN: Final = 4 * 1024 * 1024
COPY_FORWARD_FACTOR: Final = 4
"""A partition is copied when it is larger than the least size and than so many times its last copy."""

COPY_FORWARD_CHECK_MS: Final = 10_000
COPY_RECORDS_PER_SLICE: Final = 500


class DurableWaiter:
    """Runs `done(error)` when a slice is on the disk or lost."""

    __slots__ = ("_done",)

    def __init__(self, done: Callable[[ErrorCode | None], None]) -> None:
        self._done = done

    def appended(self, _vnode: Vnode, error: ErrorCode | None, _now_ms: int) -> None:
        """Pass it on."""
        self._done(error)


@dataclass(slots=True)
class Copy:
    """One partition being copied; `size_bytes` is how much it held before."""

    partition: Partition
    coordinator: Coordinator
    begin: int
    size_bytes: int
    slices: Iterator[list[EncodedRecord]]


class GroupCopier:
    """Looks after the size of the internal topic, one partition at a time."""

    def __init__(self, broker: Broker, driver: GroupDriver, now_ms: int) -> None:
        self._broker = broker
        self._driver = driver
        self._copied_bytes: dict[int, int] = {}
        self._copy: Copy | None = None
        broker.timers.add(now_ms + COPY_FORWARD_CHECK_MS, self._look_regularly)

    def _look_regularly(self, now_ms: int) -> None:
        self._broker.timers.add(now_ms + COPY_FORWARD_CHECK_MS, self._look_regularly)
        self._look(now_ms)

    def _look(self, now_ms: int) -> None:
        """Look for a partition that has grown too large, and begin to copy it."""
        topic = self._broker.catalogue.find(OFFSETS_TOPIC)
        if topic is None or self._copy is not None:
            return
        for index in range(topic.partition_count):
            partition = self._broker.topics.partition(topic, index)
            size_bytes = partition.vnode.log.stream_size_bytes(partition.stream_id)
            if size_bytes > max(
                COPY_FORWARD_BYTES_MIN, COPY_FORWARD_FACTOR * self._copied_bytes.get(index, 0)
            ):
                self._begin(partition, size_bytes, now_ms)
                return

    def _begin(self, partition: Partition, size_bytes: int, now_ms: int) -> None:
        coordinator, vnode = self._driver.coordinator, partition.vnode
        self._copy = copy = Copy(
            partition=partition,
            coordinator=coordinator,
            begin=vnode.log.next_offset(partition.stream_id),
            size_bytes=size_bytes,
            slices=coordinator.snapshot(partition.index, COPY_RECORDS_PER_SLICE),
        )
        self._go_on_after(copy, vnode.last_version, now_ms)

    def _go_on_after(self, copy: Copy, version: int, now_ms: int) -> None:
        """Append the next slice once this version is durable, a moment later: others have their turn."""

        def durable(error: ErrorCode | None) -> None:
            if error is None:
                self._broker.timers.add(now_ms, lambda later_ms: self._next_slice(copy, later_ms))
            else:
                self._end(copy, "the copy was lost, the past stays")

        copy.partition.vnode.wait_durable(version, DurableWaiter(durable), now_ms)

    def _end(self, copy: Copy, problem: object = None) -> None:
        self._copy = None
        if problem is not None:
            logger.error("partition %d of %s is not copied: %s", copy.partition.index, OFFSETS_TOPIC, problem)

    def _next_slice(self, copy: Copy, now_ms: int) -> None:
        partition = copy.partition
        if copy.coordinator is not self._driver.coordinator or self._broker.stopping:
            self._end(copy)
            return
        try:
            records = next(copy.slices, None)
            if records is None:
                self._release_the_past(copy, now_ms)
                return
            if records:
                self._driver.append_records(partition.topic, partition.index, records, now_ms)
        except (WalError, DiskError) as error:
            self._end(copy, error)
            return
        self._go_on_after(copy, partition.vnode.last_version, now_ms)

    def _release_the_past(self, copy: Copy, now_ms: int) -> None:
        log, stream_id = copy.partition.vnode.log, copy.partition.stream_id
        self._copied_bytes[copy.partition.index] = log.stream_size_bytes(stream_id) - copy.size_bytes
        version = log.set_log_start(stream_id, copy.begin)

        def released(error: ErrorCode | None) -> None:
            self._end(copy, None if error is None else "its past was not released")
            if error is None:
                self._broker.timers.add(now_ms, self._look)

        copy.partition.vnode.wait_durable(version, DurableWaiter(released), now_ms)
