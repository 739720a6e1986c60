"""Ids of a stream's batches against a model: rolls, compaction, deletion, failed syncs, restarts, crashes."""

from __future__ import annotations

import errno
import struct
from dataclasses import dataclass

import pytest
from crc32c import crc32c
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tests.wal import ledger_model
from tests.wal.compactions import seen
from tests.wal.crash import RandomFates
from tests.wal.logs import PREFIX, batch, commit, maintain, open_log, small_options
from wal import ledgers
from wal.ledgers import Limits
from wal.memory_disk import MemoryDisk
from wal.memory_faults import failing

OPTIONS = small_options(
    segment_bytes=4 << 10,
    frame_bytes_max=2 << 10,
    checkpoint_ns=350_000,
    seal_interval_ms=0,
    tail_cache_bytes=3 << 10,
    index_cache_bytes=1,
    delete_delay_ms=1_000,
)
STREAM = 5
LIMITS = Limits(entries=7, size_bytes=4_000, age_ms=5_000)


@dataclass(frozen=True)
class Id:
    """The id of a batch by the model, and what it follows from."""

    base: int
    next_offset: int
    ledger: int
    number: int
    size: int
    begun_ms: int
    """The time at which its ledger began."""


def emptied(base: int, next_offset: int, epoch: int, weight: int) -> bytes:
    """Return the batch that stands for a run of batches that compaction has emptied."""
    data = bytearray(
        PREFIX.pack(base, 49, epoch, 2, 0, 0, next_offset - base - 1, -1, -1, -1, -1, -weight, 0)
    )
    struct.pack_into(">I", data, 17, crc32c(memoryview(data)[21:]))
    return bytes(data)


class LedgerModel(RuleBasedStateMachine):
    """The ids of all batches ever acknowledged; `waiting` may be lost, all of it or a part at the end."""

    options = OPTIONS

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(ledgers, "MARK_ENTRIES", 3)
        self.patch.setattr(ledgers, "MARK_BYTES", 2_000)
        self.disk = MemoryDisk()
        self.now_ms = 0
        self.synced: list[Id] = []
        self.waiting: list[Id] = []
        self.open()

    def teardown(self) -> None:
        self.patch.undo()

    def open(self) -> None:
        """Open the log, and count again."""
        self.log = open_log(self.disk, self.options, now_ms=self.now_ms)
        assert self.log.state == "OPEN", self.log.damage
        # A server does so at its start; until then the time is that of the newest frame.
        self.log.set_wall_clock(now_ms=self.now_ms, wall_ms=self.now_ms)
        self.log.count_entries(STREAM, lambda: LIMITS)

    def next_id(self, size: int, records: int) -> Id:
        """Return the id of the next batch, by the rules of rolls."""
        known = [*self.synced, *self.waiting]
        base = known[-1].next_offset if known else 0
        last = known[-1] if known else None
        if last is None:
            return Id(base, base + records, 0, 0, size, self.now_ms)
        ledger = [entry for entry in known if entry.ledger == last.ledger]
        full = (
            len(ledger) >= LIMITS.entries
            or sum(entry.size for entry in ledger) + size > LIMITS.size_bytes
            or self.now_ms - last.begun_ms > LIMITS.age_ms
        )
        if full:
            return Id(base, base + records, last.ledger + 1, 0, size, self.now_ms)
        return Id(base, base + records, last.ledger, last.number + 1, size, last.begun_ms)

    @rule(records=st.integers(1, 4), size=st.sampled_from((0, 30, 400, 1_500)), times=st.integers(1, 5))
    def append(self, records: int, size: int, times: int) -> None:
        for _ in range(times):
            data = batch(records, body=b"b" * size)
            self.log.tick(self.now_ms)
            expected = self.next_id(len(data), records)
            at = self.log.append(STREAM, data)
            assert (at.base_offset, at.next_offset) == (expected.base, expected.next_offset)
            assert int.from_bytes(data[12:16], "big") == expected.ledger
            self.waiting.append(expected)

    @rule(size=st.sampled_from((10, 700)))
    def append_elsewhere(self, size: int) -> None:
        self.log.append(9, batch(2, body=b"x" * size))

    @rule()
    def sync(self) -> None:
        commit(self.log, self.now_ms)
        assert self.log.state == "OPEN"
        self.synced += self.waiting
        self.waiting.clear()

    @precondition(lambda self: self.waiting)
    @rule(operation=st.sampled_from(("sync", "write")), stored=st.integers(0, 3_000))
    def fail(self, operation: str, stored: int) -> None:
        self.disk.faults.append(failing(operation, errno.EIO, stored_bytes=stored))
        job = self.log.begin_sync(self.now_ms)
        assert job is not None
        with pytest.raises(OSError, match=r"\w"):
            job.run()
        self.log.failed(job, OSError(errno.EIO, "failed"), self.now_ms)
        self.disk.faults.clear()
        self.waiting.clear()
        commit(self.log, self.now_ms)
        assert self.log.state == "OPEN", self.log.damage

    @rule(passed_ms=st.sampled_from((1, 200, 3_000)))
    def idle(self, passed_ms: int) -> None:
        self.now_ms += passed_ms
        self.sync()
        maintain(self.log, self.now_ms)
        self.log.tick(self.now_ms)

    @precondition(lambda self: self.synced)
    @rule(share=st.floats(0, 1))
    def delete(self, share: float) -> None:
        low, high = self.log.log_start(STREAM), self.log.high_watermark(STREAM)
        self.log.set_log_start(STREAM, low + round((high - low) * share))
        self.sync()
        self.log.retire_segments()
        self.sync()

    @precondition(lambda self: self.synced)
    @rule(share=st.floats(0, 1), keep=st.integers(0, 2**30))
    def compact(self, share: float, keep: int) -> None:
        self.sync()
        found = seen(self.log, STREAM)
        bases = [base for base in found if base >= self.log.clean_end(STREAM)]
        copies_id = self.log.begin_copies()
        if copies_id is None or not bases:
            if copies_id is not None:
                self.log.give_up_copies(copies_id)
            return
        clean_end = bases[int(share * (len(bases) - 1))]
        for copy in self.copies(found, clean_end, keep):
            self.log.append_copy(copies_id, copy)
        self.log.let_copies_count(STREAM, clean_end=clean_end, copies_id=copies_id)
        commit(self.log, self.now_ms)

    def copies(self, found: dict[int, bytes], clean_end: int, keep: int) -> list[bytes]:
        """Return what a pass leaves: some batches, and for each run of the others one without records."""
        marks = set(ledger_model.ledgers_of(self.log, STREAM).offsets)
        left: list[bytes] = []
        run: tuple[int, int, int, int] | None = None
        for base, data in sorted(found.items()):
            if base >= clean_end:
                break
            prefix = PREFIX.unpack_from(data)
            weight = -prefix[11] if not prefix[12] and prefix[11] < -1 else 1
            if run is not None and (base in marks or keep & 1):
                left.append(emptied(*run))
                run = None
            if keep & 1:
                left.append(bytes(data))
            else:
                first = base if run is None else run[0]
                run = first, base + prefix[6] + 1, prefix[2], weight + (run[3] if run is not None else 0)
            keep >>= 1
        return [*left, emptied(*run)] if run is not None else left

    @rule()
    def stop_and_start(self) -> None:
        self.log.close(self.now_ms)
        self.synced += self.waiting
        self.waiting.clear()
        self.open()

    @rule()
    def kill(self) -> None:
        self.disk.restart()
        self.reopen()

    @rule(seed=st.integers(0, 1_000_000))
    def power_cut(self, seed: int) -> None:
        job = self.log.begin_sync(self.now_ms)
        if job is not None:
            self.disk.faults.append(failing("sync", errno.EIO))
            try:
                job.run()
            except OSError:
                self.disk.faults.clear()
        self.disk = self.disk.crash(RandomFates(seed))
        self.reopen()

    def reopen(self) -> None:
        """Open the log after a crash; what waited may be there."""
        self.open()
        end = self.log.high_watermark(STREAM)
        self.synced += [entry for entry in self.waiting if entry.next_offset <= end]
        self.waiting.clear()

    @rule()
    def ids_are_those_of_the_model(self) -> None:
        start, end = self.log.log_start(STREAM), self.log.high_watermark(STREAM)
        for entry in self.synced:
            if not start < entry.next_offset <= end:
                continue
            place = ledger_model.locate(self.log, STREAM, max(start, entry.next_offset - 1))
            assert place is not None, entry
            assert place.ledger_id == entry.ledger
            assert place.number <= entry.number < place.number + place.entry.weight
            if place.entry.weight == 1:
                assert (place.entry.base_offset, place.entry.next_offset) == (entry.base, entry.next_offset)
            assert ledger_model.find(self.log, STREAM, entry.ledger, entry.number) == place

    @rule()
    def few_entries_are_read_for_one(self) -> None:
        if not self.synced:
            return
        known = ledger_model.ledgers_of(self.log, STREAM)
        for offset in known.offsets:
            interval = known.around_offset(offset, self.log.high_watermark(STREAM))
            assert interval is not None
            assert interval.end_ordinal - interval.ordinal <= 3


TestLedgerModel = LedgerModel.TestCase
TestLedgerModel.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
