"""The log on real files, with commits and maintenance in threads, as a server runs it."""

from __future__ import annotations

import os
import random
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from tests.wal.logs import batch, read_all
from wal.disk import OsDisk
from wal.jobs import SyncJob
from wal.log import VnodeLog
from wal.maintenance import Job
from wal.options import LogOptions
from wal.segment import FileRange

OPTIONS = LogOptions(
    min_free_bytes=0,
    segment_bytes=1 << 20,
    checkpoint_ns=20_000_000,
    tail_cache_bytes=1 << 20,
    witness_ms=100,
)


def test_commits_and_maintenance_in_threads_lose_nothing(tmp_path: Path) -> None:
    log = VnodeLog.open(OsDisk(), str(tmp_path), options=OPTIONS, now_ms=0)
    chance = random.Random(1)
    sent: dict[int, list[bytes]] = {1: [], 2: [], 3: []}
    jobs: dict[Future[None], SyncJob | Job] = {}
    with ThreadPoolExecutor(2) as threads:
        for now_ms in range(1_500):
            for _ in range(chance.randrange(4)):
                stream_id = chance.randrange(1, 4)
                data = batch(body=chance.randbytes(chance.choice((10, 1_000, 30_000))))
                log.append(stream_id, data)
                sent[stream_id].append(bytes(data))
            for started in (log.begin_sync(now_ms), log.begin_maintenance(now_ms)):
                if started is not None and started not in jobs.values():
                    jobs[threads.submit(started.run)] = started
            hand_back(log, jobs, now_ms, wait=now_ms % 3 == 0)
        while jobs or log.open_frame_bytes:
            hand_back(log, jobs, 2_000, wait=True)
            if not jobs and (last := log.begin_sync(2_000)) is not None:
                jobs[threads.submit(last.run)] = last

    assert any(name.startswith("checkpoint") for name in os.listdir(tmp_path))
    again = VnodeLog.open(OsDisk(), str(tmp_path), options=OPTIONS, now_ms=0)
    assert again.damage is None
    for stream_id, batches in sent.items():
        assert read_all(log, stream_id) == b"".join(batches)
        assert read_all(again, stream_id, 100_000) == b"".join(batches)


def hand_back(log: VnodeLog, jobs: dict[Future[None], SyncJob | Job], now_ms: int, *, wait: bool) -> None:
    for future in list(jobs):
        if wait or future.done():
            future.result()
            job = jobs.pop(future)
            if isinstance(job, SyncJob):
                log.synced(job, now_ms)
            else:
                log.maintained(job, now_ms)


def test_a_file_range_can_be_sent_from_its_descriptor(tmp_path: Path) -> None:
    log = VnodeLog.open(OsDisk(), str(tmp_path), options=OPTIONS, now_ms=0)
    data = batch(body=random.Random(2).randbytes(100_000))
    log.append(1, data)
    log.close(0)

    (part,) = log.read(1, 0, 1 << 20).parts

    assert isinstance(part, FileRange)
    assert os.pread(part.file.descriptor, part.size_bytes, part.position) == bytes(data)
