"""Replaying a coordinator's topic at the start, in slices, so that other requests are served meanwhile.

A partition whose replay has ended is served at once.  One that the disk cannot read is retried; one with
records that this version cannot understand, or on a log whose end is damaged, stays refused, because serving
it would lose progress: what was committed last would be forgotten without a word.
"""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from typing import Final

from broker.catalogue.metadata import Metadata
from broker.catalogue.topics import Topic
from broker.coordinators.machine import Machine
from broker.loop.internal_errors import ErrorPlace
from broker.loop.loop import Loop
from broker.loop.slices import Until, WaitingSteps, after_pause, in_thread
from broker.storage.parts import joined_in_thread
from groups.effects import Stamp
from protocol.errors import ProtocolError
from protocol.record_reader import iter_records
from protocol.records import iter_batches, read_batch_header
from wal.disk import DiskError
from wal.errors import LogDamaged, WalError
from wal.transactions import read_marker

logger = logging.getLogger("kawal.coordinators")

LOAD_BYTES_PER_READ: Final = 128 * 1024
"""Bytes read at once: about 1,500 commits."""

LOAD_BYTES_PER_SLICE: Final = 16 * 1024
"""Bytes of records replayed between two looks at the time: 0.6 ms of commits, 2 ms of a wide transaction."""

LOAD_SLICE_NS: Final = 2_000_000
"""The same in time: the first record of a kind has its decoder made, in some milliseconds."""

LOAD_AGAIN_MS: Final = 1_000
"""The pause before the retry of a partition that the disk could not read."""


class Loader:
    """Loads the partitions of a topic into a machine; `begin` must be called once."""

    def __init__(
        self,
        machine: Machine,
        topic: Topic,
        metadata: Metadata,
        loop: Loop,
        loaded: Callable[[Machine, int], None],
        partitions: Iterable[int],
    ) -> None:
        """Prepare; `loaded(machine, partition)` is called for each partition that was replayed to its end."""
        self._machine = machine
        self._topic = topic
        self._metadata = metadata
        self._loop = loop
        self._loaded = loaded
        self._waiting = deque(partitions)

    def begin(self) -> None:
        """Replay one slice now; the others follow by themselves until everything is loaded."""
        steps = self._steps()
        try:
            pause = next(steps)
        except StopIteration:
            return
        self._loop.scheduler.add_work(after_pause(pause, steps))

    def _begin_again(self, _now_ms: int) -> None:
        self._loop.scheduler.add_work(self._steps())

    def _steps(self) -> WaitingSteps:
        replayed_bytes, clock_ns = 0, self._loop.stats.clock_ns
        ends_ns = clock_ns() + LOAD_SLICE_NS
        while self._waiting:
            if (damage := self._damaged_end(self._waiting[0])) is not None:
                self._report("is not served, as its last records are unknown", damage)
                self._waiting.popleft()
                continue
            try:
                for size_bytes in self._replay(self._waiting[0]):
                    if isinstance(size_bytes, Until):
                        yield size_bytes
                        continue
                    replayed_bytes += size_bytes
                    if replayed_bytes >= LOAD_BYTES_PER_SLICE or clock_ns() > ends_ns:
                        yield None
                        replayed_bytes, ends_ns = 0, clock_ns() + LOAD_SLICE_NS
                    if not self._is_wanted():
                        return
            except (WalError, DiskError) as error:
                self._report(f"cannot be read, retry in {LOAD_AGAIN_MS} ms", error)
                self._waiting.rotate(-1)
                self._loop.timers.add(self._loop.clock.turn_ms + LOAD_AGAIN_MS, self._begin_again)
                return
            except ProtocolError as error:
                self._report("is not served: this version cannot read it", error)
                self._waiting.popleft()
                continue
            except Exception as error:  # noqa: BLE001  (the net: the other partitions are served)
                what = f"partition {self._waiting[0]} of {self._topic.name} is not served"
                self._loop.internal_errors.note(ErrorPlace.COORDINATOR, what, error)
                self._waiting.popleft()
                continue
            self._loaded(self._machine, self._waiting.popleft())

    def _is_wanted(self) -> bool:
        """Whether there is still a topic to load."""
        return self._topic.topic_id in self._metadata.catalogue.by_id

    def _report(self, outcome: str, error: Exception) -> None:
        logger.error("partition %d of %s %s: %s", self._waiting[0], self._topic.name, outcome, error)

    def _damaged_end(self, index: int) -> LogDamaged | None:
        """Return the damage behind which the log of a partition cannot be read, up to a repair."""
        if not self._is_wanted():
            return None
        return self._metadata.topics.partition(self._topic, index).vnode.log.damaged_end

    def _replay(self, index: int) -> Iterator[int | Until]:
        """Replay a partition record by record, yielding the bytes of each, and pauses for the disk."""
        partition = self._metadata.topics.partition(self._topic, index)
        offset = partition.log_start
        while offset < partition.counted_end:
            result = partition.read(offset, LOAD_BYTES_PER_READ)
            data = yield from joined_in_thread(result.parts, self._loop.scheduler.offload)
            yield from self._replay_batches(index, data, offset)
            offset = result.next_offset

    def _replay_batches(self, index: int, data: bytes, offset: int) -> Iterator[int | Until]:
        """Replay batches, yielding the size of each record, or batch without records, in bytes."""
        for batch in iter_batches(data):
            header = read_batch_header(batch)
            if header.is_control:
                marker = read_marker(batch, producer_id=header.producer_id, epoch=header.producer_epoch)
                if marker is not None:
                    end = self._machine.replay_end(index, marker.producer_id, commit=marker.is_commit)
                    for _ in end:
                        yield LOAD_BYTES_PER_SLICE
                yield len(batch)
                continue
            stamp = Stamp(header.producer_id, header.producer_epoch) if header.is_transactional else None
            for record in iter_records(batch):
                if record.offset < offset or record.key is None:
                    continue
                module = self._machine.needs_module(record.key)
                if module and not _is_imported(module):
                    yield from in_thread(self._loop.scheduler.offload, partial(import_module, module))
                if stamp is None:
                    for _ in self._machine.replay(index, record.key, record.value):
                        yield LOAD_BYTES_PER_SLICE
                else:
                    self._machine.replay_staged(index, stamp, record.key, record.value)
                yield len(record.key) + len(record.value or b"")


def _is_imported(name: str) -> bool:
    """Whether a module is there; for one that a thread is importing now the loop would wait."""
    module = sys.modules.get(name)
    return module is not None and not getattr(module.__spec__, "_initializing", False)
