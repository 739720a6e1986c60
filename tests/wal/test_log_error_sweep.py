"""Every disk call of a run fails once: acknowledged batches survive, and the log recovers."""

from __future__ import annotations

import errno

import pytest

from tests.wal.logs import batch, commit, open_log, read_all, small_options
from wal.disk_errors import DiskFull
from wal.errors import LogFailed
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk
from wal.memory_faults import Call, Fault

OPTIONS = small_options(
    segment_bytes=4 << 10, checkpoint_ns=140_000, seal_interval_ms=0, witness_ms=0, delete_delay_ms=100
)
STEPS = 24


class Script:
    """A fixed run; `acknowledged` are the synced bytes of stream 1."""

    def __init__(self, disk: MemoryDisk) -> None:
        self.disk = disk
        self.acknowledged: list[bytes] = []
        self.now_ms = 0
        self.log = open_log(disk, OPTIONS)

    def run(self) -> None:
        for step in range(STEPS):
            self.now_ms += 150
            self.append(bytes((step,)) * (step * 37 % 700))
            if step % 6 == 5 and self.log.state == "OPEN":
                self.log.set_log_start(2, self.log.high_watermark(2))
                self.log.retire_segments()
                commit(self.log, self.now_ms)
            self.maintain()
        # A failed log is reopened before the end: until then a killed process may leave more
        # than was promised.
        self.now_ms += 1_000
        commit(self.log, self.now_ms)

    def append(self, body: bytes) -> None:
        first, second = batch(body=body), batch(body=body)
        try:
            self.log.append(1, first)
            self.log.append(2, second)
        except (LogFailed, DiskFull):
            self.now_ms += 1_000
            commit(self.log, self.now_ms)
            return
        before = self.log.high_watermark(1)
        commit(self.log, self.now_ms)
        if self.log.high_watermark(1) > before:
            self.acknowledged.append(bytes(first))

    def maintain(self) -> None:
        while (job := self.log.begin_maintenance(self.now_ms)) is not None:
            try:
                job.run()
            except OSError as error:
                self.log.maintenance_failed(job, error, self.now_ms)
                self.now_ms += 1_000
            else:
                self.log.maintained(job, self.now_ms)


def fault_at(number: int, code: int, stored_bytes: int, disk: MemoryDisk) -> list[Call]:
    """Let the call `number` of the disk fail; return the list that will record it."""
    seen = 0
    hit: list[Call] = []

    def hook(call: Call) -> Fault | None:
        nonlocal seen
        if call.kind in ("close", "lock"):
            return None
        seen += 1
        if seen != number:
            return None
        hit.append(call)
        return Fault(errno=code, stored_bytes=stored_bytes)

    disk.faults.append(hook)
    return hit


@pytest.mark.parametrize(("code", "stored_bytes"), [(errno.EIO, 70), (errno.ENOSPC, 300), (errno.EROFS, 0)])
def test_no_failing_call_loses_what_was_acknowledged(code: int, stored_bytes: int) -> None:
    number = 0
    while True:
        number += 1
        disk = MemoryDisk()
        script = Script(disk)
        hit = fault_at(number, code, stored_bytes, disk)
        script.run()
        if not hit:
            break
        assert len(script.acknowledged) >= STEPS - 4, hit
        for after in (disk.crash(), disk.kill()):
            log = VnodeLog.open(after, "vnode-0", options=OPTIONS, now_ms=script.now_ms)
            assert log.state == "OPEN", (hit, log.damage)
            assert read_all(log, 1) == b"".join(script.acknowledged), hit
    assert number > 150
