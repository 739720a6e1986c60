"""Brokers that compact under chance: threads in any order, bad disks, crashes; the last of each key is kept.

KAWAL_SIM_SEEDS says how many seeds are run, KAWAL_SIM_FIRST which one is the first. A failure names its seed.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from broker.upkeep.compaction import FAILED_REST_MS
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.record_reader import Record, iter_records
from protocol.records import check_crc, iter_batches, read_batch_header
from tests.broker.compacted import SMALL, keyed
from tests.broker.kit import creation, outcomes, producing
from tests.sim.clients import Link
from tests.sim.world import BREAKABLE, PowerCut, World
from wal.segment import FileRange

SEEDS = int(os.environ.get("KAWAL_SIM_SEEDS", "40"))
FIRST = int(os.environ.get("KAWAL_SIM_FIRST", "0"))
GROUPS = 4
STEPS = 1_200
KEYS = [b"k%d" % number for number in range(6)]

Task = tuple[Callable[[], object], Callable[[BaseException | None], None]]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Silence the reports of broken disks, which these tests are about."""
    logger = logging.getLogger("kawal")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


class Compacting:
    """One broker with one compacted partition, one producer, and the promises made to it."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.world = World(
            self.chance, log_cleaner_backoff_ms=50, kawal_vnodes=1, kawal_segment_bytes=1 << 20
        )
        self.tasks: list[Task] = []
        self.sent: dict[bytes, list[bytes | None]] = {key: [] for key in KEYS}
        self.acked: dict[int, Record] = {}
        self.passes = 0
        self.waiting = False
        self._connect()
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

    def happen(self) -> None:
        """Let something happen."""
        chance = self.chance.random()
        try:
            if chance < 0.20:
                self._send()
            elif chance < 0.35:
                self.link.pull()
            elif chance < 0.65:
                self._work_on_disk()
            elif chance < 0.75:
                self._work_on_records()
            elif chance < 0.99:
                self.world.advance(self.chance.choice((1, 10, 60, 60, FAILED_REST_MS)))
            else:
                self._trouble()
        except PowerCut:
            self._crash(self.world.cut_power)

    def _send(self) -> None:
        if not self.link.is_open:  # it was idle for too long
            self.link, self.waiting = Link(self.world), False
        if self.waiting:
            return
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

    def _work_on_disk(self) -> None:
        world = self.world
        world.begin_jobs()
        for _ in range(min(3, len(world.flights))):
            flight = self.chance.choice(world.flights)
            if not flight.ran:
                world.run(flight)
            if self.chance.random() < 0.8:
                world.finish(flight)

    def _work_on_records(self) -> None:
        if self.tasks:
            work, done = self.tasks.pop(self.chance.randrange(len(self.tasks)))
            work()
            done(None)

    def _trouble(self) -> None:
        kind = self.chance.randrange(6)
        if kind == 0:
            self.world.break_next(self.chance.choice(BREAKABLE))
        elif kind == 1:
            self.world.fill_disk(self.chance.choice((1_000, 200_000)))
        elif kind == 2:
            self.world.heal_disk()
        elif kind == 3:
            self.world.calls_until_cut = self.chance.randrange(8)
        elif kind == 4:
            self._crash(self.world.kill)
        else:
            self._crash(self.world.cut_power)

    def _crash(self, how: Callable[[], None]) -> None:
        self.passes += self.world.broker.compaction.stats.passes
        self.tasks.clear()
        how()
        self._connect()
        self.check()

    # --- what must hold --------------------------------------------------------------------------------

    def run(self) -> None:
        """Let things happen, then let all come to rest, and check."""
        for _ in range(STEPS):
            self.happen()
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

    def seen(self) -> list[Record]:
        """Return every record that a reader gets."""
        partition = self.world.broker.topics.partition(self.world.broker.find_topic("t"), 0)
        found: list[Record] = []
        offset = partition.log_start
        while offset < partition.high_watermark:
            result = partition.read(offset, 3_000)
            data = b"".join(part.read() if isinstance(part, FileRange) else part for part in result.parts)
            assert result.next_offset > offset, f"a reader is stuck at {offset}"
            for batch in iter_batches(data):
                check_crc(batch)
                assert read_batch_header(batch).last_offset >= offset
                found += iter_records(batch)
            offset = result.next_offset
        return found

    def check(self) -> None:
        """Check that each key has its last acknowledged record, or a later one, and no record is made up."""
        if not self.world.is_sound():
            return
        found = self.seen()
        offsets = [record.offset for record in found]
        assert offsets == sorted(set(offsets))
        by_key: dict[bytes, Record] = {}
        for record in found:
            assert record.key is not None
            assert record.value in self.sent[record.key], f"{record} was never sent"
            by_key[record.key] = record
        for key in KEYS:
            promised = [record for record in self.acked.values() if record.key == key]
            if promised:
                last = max(promised)
                shown = by_key.get(key)
                assert shown is not None, f"{key!r} is lost, but {last} was promised"
                assert shown.offset >= last.offset
                assert shown.offset > last.offset or shown.value == last.value


@pytest.mark.parametrize("group", range(GROUPS))
def test_the_last_record_of_each_key_survives_whatever_happens(group: int) -> None:
    passes = 0
    for seed in range(FIRST + group, FIRST + SEEDS, GROUPS):
        try:
            run = Compacting(seed)
            run.run()
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error
        passes += run.passes
    assert passes >= SEEDS // GROUPS, f"only {passes} passes came to an end"
