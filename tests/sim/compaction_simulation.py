"""Brokers that compact under chance: threads in any order, bad disks, crashes; the last of each key is kept.

Compacting(seed).run()      raises AssertionError when a promise is broken
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker.core import Broker
from broker.upkeep.compaction import FAILED_REST_MS
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.record_reader import Record, iter_records
from protocol.records import check_crc, iter_batches, read_batch_header
from tests.broker.compacted import SMALL, keyed
from tests.broker.kit import creation, outcomes, producing
from tests.sim.clients import Link
from tests.sim.scenario import Scenario
from tests.sim.world import World
from wal.segment import FileRange

KEYS = [b"k%d" % number for number in range(6)]

Task = tuple[Callable[[], object], Callable[[Exception | None], None]]


class Compacting(Scenario):
    """One broker with one compacted partition, one producer, and the promises made to it."""

    ADVANCES_MS = (1, 10, 60, 60, FAILED_REST_MS)
    ROOMS_BYTES = (1_000, 200_000)
    CALLS_BEFORE_CUT_MAX = 8

    def __init__(self, seed: int, *, steps: int = 1_200) -> None:
        super().__init__(seed, steps=steps)
        self.world = World(
            self.chance, log_cleaner_backoff_ms=50, kawal_vnodes=1, kawal_segment_bytes=1 << 20
        )
        self.tasks: list[Task] = []
        self.sent: dict[bytes, list[bytes | None]] = {key: [] for key in KEYS}
        self.acked: dict[int, Record] = {}
        self.passes = 0
        self.waiting = False
        self._table = [
            (20, self._send),
            (15, self._pull),
            (30, self._work_on_disk),
            (10, self._work_on_records),
            (24, self._advance),
            (1, self._trouble),
        ]

    def _play(self) -> None:
        self._connect()
        self._create_topic()
        self._happen_by_chance()
        self.world.heal_disk()
        self._crash(self.world.kill)
        for _ in range(30):
            self.world.settle()
            while self.tasks:
                self._work_on_records()
            self.world.advance(100)
        self.link.pull()
        self.check()
        self.passes += self.world.broker.compaction.stats.passes

    def _create_topic(self) -> None:
        request = CreateTopicsRequest(topics=[creation("t", 1, **SMALL)])
        self.link.send(request, 7, lambda _answer: None)
        self.link.push(1 << 20)
        self.world.settle()
        self.link.pull()

    def _connect(self) -> None:
        self.tasks.clear()
        self.waiting = False
        self.world.broker.scheduler.offload = lambda work, done: self.tasks.append((work, done))
        self.link = Link(self.world)

    # --- what may happen -------------------------------------------------------------------------------

    def _send(self) -> str:
        if not self.link.is_open:  # it was idle for too long
            self.link, self.waiting = Link(self.world), False
        if self.waiting:
            return "waits"
        key = self.chance.choice(KEYS)
        number = len(self.sent[key])
        value = None if self.chance.random() < 0.1 else b"%d " % number * self.chance.randint(1, 60)
        self.sent[key].append(value)

        def answered(answer: Any) -> None:
            self.waiting = False
            found = outcomes(answer)[0] if answer is not None else None
            if found is not None and found.error_code == 0:
                self.acked[found.base_offset] = Record(found.base_offset, 0, key, value)

        self.waiting = True
        self.link.send(producing(("t", 0, keyed([(key, value)]))), 9, answered)
        self.link.push(1 << 20)
        return f"send {number} of {key!r}"

    def _pull(self) -> str:
        self.link.pull()
        return "pull"

    def _work_on_disk(self) -> str:
        world = self.world
        world.begin_jobs()
        for _ in range(min(3, len(world.flights))):
            flight = self.chance.choice(world.flights)
            if not flight.ran:
                world.run(flight)
            if self.chance.random() < 0.8:
                world.finish(flight)
        return f"disk work, {len(world.flights)} under way"

    def _work_on_records(self) -> str:
        if self.tasks:
            work, done = self.tasks.pop(self.chance.randrange(len(self.tasks)))
            work()
            done(None)
        return f"work on records, {len(self.tasks)} wait"

    def _trouble(self) -> str:
        trouble = self.chance.choice(
            (self._break, self._fill, self._heal, self._cut_power_soon, self._kill, self._cut_power)
        )
        return trouble()

    def _cut_power(self) -> str:
        self._power_fails()
        return "cut power"

    def _crash(self, how: Callable[[], None]) -> None:
        self.passes += self.world.broker.compaction.stats.passes
        self.tasks.clear()
        super()._crash(how)
        self._connect()
        self.check()

    # --- what must hold --------------------------------------------------------------------------------

    def seen(self, broker: Broker) -> list[Record]:
        """Return every record that a reader gets."""
        partition = broker.topics.partition(broker.find_topic("t"), 0)
        found: list[Record] = []
        offset = partition.log_start
        while offset < partition.high_watermark:
            result = partition.read(offset, 3_000)
            data = b"".join(part.read() if isinstance(part, FileRange) else part for part in result.parts)
            assert result.next_offset > offset, f"a reader is stuck at {offset}"
            for batch in iter_batches(data):
                assert check_crc(batch), f"the batch at {offset} has a wrong CRC"
                assert read_batch_header(batch).last_offset >= offset
                found += iter_records(batch)
            offset = result.next_offset
        return found

    def check(self) -> None:
        """Check what the broker has, unless a log of it has failed."""
        if self.world.is_sound():
            self.check_broker(self.world.broker, self.acked)

    def check_broker(self, broker: Broker, acked: dict[int, Record]) -> None:
        """Check that each key has its last acknowledged record, or a later one, and no record is made up."""
        found = self.seen(broker)
        offsets = [record.offset for record in found]
        assert offsets == sorted(set(offsets))
        by_key: dict[bytes, Record] = {}
        for record in found:
            assert record.key is not None
            assert record.value in self.sent[record.key], f"{record} was never sent"
            by_key[record.key] = record
        for key in KEYS:
            promised = [record for record in acked.values() if record.key == key]
            if promised:
                last = max(promised)
                shown = by_key.get(key)
                assert shown is not None, f"{key!r} is lost, but {last} was promised"
                assert shown.offset >= last.offset
                assert shown.offset > last.offset or shown.value == last.value
