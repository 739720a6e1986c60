"""Retention's look at one stream: threads read what lies on the disk, and the walk goes on from there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from broker.storage.partition import Partition
from broker.upkeep.retention_walk import batches_of
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import batch, create, send
from wal.disk import Disk
from wal.errors import IndexNotLoaded
from wal.index import SegmentIndex
from wal.retention import Run
from wal.segment import FileRange, Segment

INTERVAL_MS = 10_000
COUNT = 8
AGE_MS = 1_000

Waiting = list[tuple[Callable[[], object], Callable[[Exception | None], None]]]


@pytest.fixture
def gateway() -> Gateway:
    """Return a broker that was just started, with a topic over several segments; half of it is too old."""
    gateway = Gateway(
        kawal_vnodes=1, kawal_segment_bytes=1 << 20, log_retention_check_interval_ms=INTERVAL_MS
    )
    client = gateway.client()
    create(client, "t", retention_ms=str(COUNT * AGE_MS), segment_ms=str(AGE_MS // 2))
    for number in range(COUNT):
        send(client, "t", batch(bytes([number]) * 500_000, timestamp_ms=START_MS + number * AGE_MS))
    while gateway.run_jobs():
        continue
    gateway.restart()
    return gateway


def partition_of(gateway: Gateway) -> Partition:
    return gateway.broker.topics.partition(gateway.broker.find_topic("t"), 0)


def test_a_check_reads_indexes_and_batches_in_threads_only(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Indexes of the oldest segments kept the event loop for 27 ms, or for as long as a cold disk took."""
    waiting: Waiting = []
    gateway.broker.scheduler.offload = lambda work, done: waiting.append((work, done))
    read: list[str] = []
    whole, index = FileRange.read, Segment.read_index

    def read_part(part: FileRange) -> bytes:
        read.append("batches")
        return whole(part)

    def read_index(segment: Segment, disk: Disk) -> SegmentIndex | None:
        read.append("index")
        return index(segment, disk)

    monkeypatch.setattr(FileRange, "read", read_part)
    monkeypatch.setattr(Segment, "read_index", read_index)
    gateway.advance(COUNT * AGE_MS // 2)
    gateway.broker.set_clocks(now_ms=gateway.now_ms, wall_ms=gateway.now_ms)
    gateway.advance(INTERVAL_MS)
    in_threads: Counter[str] = Counter()
    while waiting:
        assert read == []
        work, done = waiting.pop()
        work()
        in_threads.update(read)
        read.clear()
        done(None)
        gateway.settle()
    assert read == []
    assert min(in_threads["index"], in_threads["batches"]) > 1
    assert partition_of(gateway).log_start > 0


def test_batches_of_a_run_are_told_one_by_one(gateway: Gateway) -> None:
    partition = partition_of(gateway)
    extent = next(partition.vnode.log.extents(partition.stream_id, 2))
    (found,) = batches_of(partition, Run(*extent))
    assert (found.base_offset, found.next_offset, found.max_timestamp) == (2, 3, START_MS + 2 * AGE_MS)


def test_a_look_at_extents_that_must_not_wait_ends_before_an_index_on_the_disk(gateway: Gateway) -> None:
    partition = partition_of(gateway)
    log, stream_id = partition.vnode.log, partition.stream_id
    with pytest.raises(IndexNotLoaded):
        list(log.extents(stream_id, may_wait=False))
    everything = list(log.extents(stream_id))
    assert [extent.base_offset for extent in everything] == list(range(COUNT))
    assert list(log.extents(stream_id, may_wait=False)) == everything
    assert list(log.extents(stream_id, COUNT, may_wait=False)) == []
