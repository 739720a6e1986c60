"""Copying a partition of a coordinator's topic forward when most of its records are superseded.

    start := log end --all before it durable--> append the present state in slices,
    each durable before the next --> log start := start

Nothing is released until the last slice is durable; if a slice is lost, the copy ends and old records stay.
A partition that is being loaded, or has records that were not understood, is not copied: its state is not all
that is stored.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from broker.catalogue.metadata import Metadata
from broker.coordinators.machine import Machine
from broker.coordinators.records import append_records
from broker.loop.loop import Loop
from broker.storage.partition import Partition
from broker.storage.vnode import Vnode
from groups.apart import Apart
from groups.effects import EncodedRecord
from protocol.error_codes import ErrorCode
from wal.disk import DiskError
from wal.errors import WalError

logger = logging.getLogger("kawal.coordinators")

COPY_FORWARD_BYTES_MIN: Final = 4 * 1024 * 1024
COPY_FORWARD_FACTOR: Final = 4
"""A partition is copied if it is larger than the minimum and than so many times its last copy."""

COPY_FORWARD_CHECK_MS: Final = 10_000
COPY_RECORDS_PER_SLICE: Final = 200
"""The offsets copied without a pause, in 2 ms."""


class DurableWaiter:
    """Runs `done(error)` when a slice is on the disk or lost."""

    __slots__ = ("_done",)

    def __init__(self, done: Callable[[ErrorCode | None], None]) -> None:
        self._done = done

    def appended(self, _vnode: Vnode, error: ErrorCode | None, _now_ms: int) -> None:
        """Pass the outcome on."""
        self._done(error)


@dataclass(slots=True)
class Copy:
    """One partition that is being copied; `size_bytes` is its size before the copy."""

    partition: Partition
    machine: Machine
    start: int
    size_bytes: int
    slices: Iterator[list[EncodedRecord]]


class Copier:
    """Keeps an internal topic small, one partition at a time."""

    def __init__(
        self,
        topic_name: str,
        metadata: Metadata,
        loop: Loop,
        machine: Callable[[], Machine],
        now_ms: int,
    ) -> None:
        """Schedule regular checks; `machine()` returns the machine whose state the topic keeps now."""
        self._topic_name = topic_name
        self._metadata = metadata
        self._loop = loop
        self._machine = machine
        self._copied_bytes: dict[int, int] = {}
        self._copy: Copy | None = None
        loop.timers.add(now_ms + COPY_FORWARD_CHECK_MS, self._look_regularly)

    def _look_regularly(self, now_ms: int) -> None:
        self._loop.timers.add(now_ms + COPY_FORWARD_CHECK_MS, self._look_regularly)
        self._look(now_ms)

    def _look(self, now_ms: int) -> None:
        """Look for a partition that has grown too large, and begin to copy it."""
        topic = self._metadata.catalogue.find(self._topic_name)
        if topic is None or self._copy is not None:
            return
        for index in range(topic.partition_count):
            partition = self._metadata.topics.here(topic, index)
            if partition is None:
                continue
            size_bytes = partition.size_bytes
            if not self._machine().is_whole(index):
                continue
            if size_bytes > max(
                COPY_FORWARD_BYTES_MIN, COPY_FORWARD_FACTOR * self._copied_bytes.get(index, 0)
            ):
                self._begin(partition, size_bytes, now_ms)
                return

    def _begin(self, partition: Partition, size_bytes: int, now_ms: int) -> None:
        machine, vnode = self._machine(), partition.vnode
        self._copy = copy = Copy(
            partition=partition,
            machine=machine,
            start=partition.log_end,
            size_bytes=size_bytes,
            slices=machine.snapshot(partition.index, COPY_RECORDS_PER_SLICE),
        )
        self._go_on_after(copy, vnode.last_version, now_ms)

    def _go_on_after(self, copy: Copy, version: int, now_ms: int) -> None:
        """Append the next slice once this version is durable and other work has had a turn."""

        def durable(error: ErrorCode | None) -> None:
            if error is None:
                self._loop.scheduler.soon(lambda: self._next_slice(copy))
            else:
                self._end(copy, "the copy was lost; the old records stay")

        copy.partition.vnode.wait_durable(version, DurableWaiter(durable), now_ms)

    def _end(self, copy: Copy, problem: object = None) -> None:
        self._copy = None
        if problem is not None:
            logger.error(
                "partition %d of %s was not copied: %s", copy.partition.index, self._topic_name, problem
            )

    def _next_slice(self, copy: Copy) -> None:
        partition, clock = copy.partition, self._loop.clock
        if copy.machine is not self._machine() or self._loop.stopping:
            self._end(copy)
            return
        if not copy.machine.is_whole(partition.index):
            self._end(copy, "it is being loaded again")
            return
        try:
            records = next(copy.slices, None)
            if records is None:
                self._release_the_past(copy, clock.turn_ms)
                return
            if isinstance(records, Apart):
                self._encode_apart(copy, records)
                return
            if records:
                append_records(partition, records, clock.wall_ms(clock.turn_ms))
        except (WalError, DiskError) as error:
            self._end(copy, error)
            return
        except Exception as error:
            # A copy that stays open would keep the partition from being copied ever again.
            self._end(copy, f"an internal error: {error!r}")
            raise
        self._go_on_after(copy, partition.vnode.last_version, clock.turn_ms)

    def _encode_apart(self, copy: Copy, record: Apart) -> None:
        """Have a thread encode a wide record before the copy goes on."""

        def encoded(error: Exception | None) -> None:
            if error is None:
                self._next_slice(copy)
            else:
                self._end(copy, f"an internal error: {error!r}")
                raise error

        self._loop.scheduler.offload(record.encode, encoded)

    def _release_the_past(self, copy: Copy, now_ms: int) -> None:
        log, stream_id = copy.partition.vnode.log, copy.partition.stream_id
        self._copied_bytes[copy.partition.index] = log.stream_size_bytes(stream_id) - copy.size_bytes
        version = log.set_log_start(stream_id, copy.start)

        def released(error: ErrorCode | None) -> None:
            self._end(copy, None if error is None else "the old records were not released")
            if error is None:
                self._loop.scheduler.soon(lambda: self._look(self._loop.clock.turn_ms))

        copy.partition.vnode.wait_durable(version, DurableWaiter(released), now_ms)
