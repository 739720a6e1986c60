"""The log against a list per stream, through syncs, failures, restarts and power cuts."""

from __future__ import annotations

import errno

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.wal.crash import RandomFates
from tests.wal.logs import batch, commit, content, maintain, open_log, read_all, small_options
from wal import snapshot
from wal.errors import LogFailed
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
STREAMS = st.integers(1, 4)


class Batch:
    """A batch as it must be read back."""

    def __init__(self, base: int, next_offset: int, timestamp: int, version: int, data: bytes) -> None:
        self.base = base
        self.next_offset = next_offset
        self.timestamp = timestamp
        self.version = version
        self.data = data


class LogModel(RuleBasedStateMachine):
    """A model in which `synced` must never be lost; `waiting` may be, all of it or a part at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(snapshot, "STREAMS_PER_STEP", 1)
        self.disk = MemoryDisk()
        self.log = open_log(self.disk, OPTIONS)
        self.now_ms = 0
        self.synced: dict[int, list[Batch]] = {}
        self.waiting: list[tuple[int, Batch]] = []
        self.log_starts: dict[int, int] = {}
        self.dropped: set[int] = set()

    def teardown(self) -> None:
        self.patch.undo()

    def stream(self, number: int) -> int:
        """Return a stream id that was never dropped."""
        while number in self.dropped:
            number += 10
        return number

    @rule(
        number=STREAMS,
        records=st.integers(1, 4),
        size=st.sampled_from((0, 30, 400, 3_000)),
        time=st.integers(0, 50),
    )
    def append(self, number: int, records: int, size: int, time: int) -> None:
        stream_id = self.stream(number)
        data = batch(records, body=bytes((number,)) * size, timestamp=time)
        at = self.log.append(stream_id, data)
        known = [*self.synced.get(stream_id, []), *(entry for s, entry in self.waiting if s == stream_id)]
        assert at.base_offset == (known[-1].next_offset if known else 0)
        self.waiting.append((stream_id, Batch(at.base_offset, at.next_offset, time, at.version, bytes(data))))

    @rule()
    def sync(self) -> None:
        commit(self.log, self.now_ms)
        assert self.log.state == "OPEN"
        self.acknowledge()

    def acknowledge(self) -> None:
        for stream_id, entry in self.waiting:
            self.synced.setdefault(stream_id, []).append(entry)
        self.waiting.clear()

    @precondition(lambda self: self.waiting)
    @rule(operation=st.sampled_from(("sync", "write")), stored=st.integers(0, 3_000))
    def fail(self, operation: str, stored: int) -> None:
        self.disk.faults.append(failing(operation, errno.EIO, stored_bytes=stored))
        job = self.log.begin_sync(self.now_ms)
        assert job is not None
        try:
            job.run()
        except OSError as error:
            self.log.failed(job, error, self.now_ms)
        else:
            raise AssertionError("the fault did not hit")
        self.disk.faults.clear()
        self.waiting.clear()
        assert self.log.state == "FAILED"
        try:
            self.log.append(1, batch())
        except LogFailed:
            pass
        else:
            raise AssertionError("a failed log took an append")
        commit(self.log, self.now_ms)
        assert self.log.state == "OPEN", self.log.damage

    @rule(passed_ms=st.sampled_from((1, 200, 2_000)))
    def idle(self, passed_ms: int) -> None:
        self.now_ms += passed_ms
        self.sync()
        maintain(self.log, self.now_ms)
        self.log.tick(self.now_ms)

    @rule(number=STREAMS, share=st.floats(0, 1))
    def move_log_start(self, number: int, share: float) -> None:
        stream_id = self.stream(number)
        low, high = self.log.log_start(stream_id), self.log.high_watermark(stream_id)
        offset = low + round((high - low) * share)
        self.log.set_log_start(stream_id, offset)
        self.sync()
        assert self.log.log_start(stream_id) == offset
        if offset:
            self.log_starts[stream_id] = offset

    @rule()
    def retire(self) -> None:
        self.log.retire_segments()
        self.sync()

    @rule(number=STREAMS)
    def drop(self, number: int) -> None:
        stream_id = self.stream(number)
        if stream_id not in self.log.streams():
            return
        self.log.drop_stream(stream_id)
        self.sync()
        self.dropped.add(stream_id)
        self.synced.pop(stream_id, None)
        self.log_starts.pop(stream_id, None)
        assert stream_id not in self.log.streams()

    @rule()
    def stop_and_start(self) -> None:
        self.log.close(self.now_ms)
        self.acknowledge()
        self.log = open_log(self.disk, OPTIONS, now_ms=self.now_ms)
        assert self.log.recovery.clean

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
        self.log = open_log(self.disk, OPTIONS, now_ms=self.now_ms)
        assert self.log.state == "OPEN", self.log.damage
        for stream_id, entry in self.waiting:
            if self.log.high_watermark(stream_id) >= entry.next_offset:
                self.synced.setdefault(stream_id, []).append(entry)
        self.waiting.clear()

    @invariant()
    def ends_and_starts_agree(self) -> None:
        for stream_id, stored in self.synced.items():
            assert self.log.high_watermark(stream_id) == (stored[-1].next_offset if stored else 0)
            assert self.log.log_start(stream_id) == self.log_starts.get(stream_id, 0)

    @rule(max_bytes=st.sampled_from((1, 200, 5_000, 1 << 20)))
    def read_everything(self, max_bytes: int) -> None:
        for stream_id, stored in self.synced.items():
            start = self.log.log_start(stream_id)
            expected = b"".join(entry.data for entry in stored if entry.next_offset > start)
            assert read_all(self.log, stream_id, max_bytes) == expected

    @rule(share=st.floats(0, 1), max_bytes=st.sampled_from((0, 1, 100, 600, 5_000)))
    def read_somewhere(self, share: float, max_bytes: int) -> None:
        for stream_id, stored in self.synced.items():
            low, high = self.log.log_start(stream_id), self.log.high_watermark(stream_id)
            offset = low + int((high - low) * share)
            data = content(self.log.read(stream_id, offset, max_bytes))
            wanted = [entry for entry in stored if entry.next_offset > offset]
            assert b"".join(entry.data for entry in wanted).startswith(data)
            if wanted:
                assert len(data) >= len(wanted[0].data)
                assert len(data) <= max(max_bytes, len(wanted[0].data))
                small = self.log.read(stream_id, offset, max_bytes, minimum_one=False)
                assert small.size_bytes <= max_bytes

    @rule(time=st.integers(0, 51))
    def look_up_a_time(self, time: int) -> None:
        for stream_id, stored in self.synced.items():
            start = self.log.log_start(stream_id)
            visible = [entry for entry in stored if entry.next_offset > start]
            expected = next((entry for entry in visible if entry.timestamp >= time), None)
            hit = self.log.find_timestamp(stream_id, time)
            assert (hit.base_offset if hit else None) == (expected.base if expected else None)
            assert hit is None or bytes(hit.batch) == expected.data  # type: ignore[union-attr]
            newest = self.log.max_timestamp(stream_id)
            largest = max((entry.timestamp for entry in visible), default=None)
            assert (newest.max_timestamp if newest else None) == largest

    @rule()
    def read_in_version_order(self) -> None:
        version = self.log.first_version
        entries = []
        while version < self.log.next_version:
            found = self.log.read_versions(version, 1)
            if not found:
                break
            entries += found
            version = found[-1].version + found[-1].record_count
        versions = [entry.version for entry in entries]
        assert versions == sorted(set(versions))
        stored = {entry.version: entry for batches in self.synced.values() for entry in batches}
        for entry in entries:
            if entry.version in stored and entry.kind == 0:
                assert bytes(entry.data) == stored[entry.version].data

    @invariant()
    def files_stay_few(self) -> None:
        assert len(self.disk.list("vnode-0")) < 200


TestLogModel = LogModel.TestCase
TestLogModel.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
