"""Costs beside many topics, partitions, records and waiting clients, for bench_growth."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from time import process_time

from broker.loop.internal_errors import InternalErrors
from broker.loop.timers import Timers
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import batch, create, fetching, producing

Unit = Callable[[], float]

INTERVAL_MS = 10_000
CREATED_AT_ONCE = 1_000


def _timed(work: Callable[[], object]) -> float:
    began = process_time()
    work()
    return process_time() - began


def _settled_with_topics(number: int) -> Gateway:
    """Return a broker with so many topics of one partition, each with a record."""
    gateway = Gateway(kawal_vnodes=1, log_retention_check_interval_ms=INTERVAL_MS)
    client = gateway.client()
    for index in range(number):
        create(client, f"t{index}", retention_ms="3600000")
    for index in range(number):
        client.send(producing((f"t{index}", 0, batch(b"v", timestamp_ms=START_MS))), 9)
        if not index % CREATED_AT_ONCE:
            gateway.settle()
            client.answers()
    gateway.settle()
    client.answers()
    return gateway


def _check(gateway: Gateway) -> float:
    """Return the cost of the next retention check, without the disk."""
    gateway.now_ms += INTERVAL_MS
    broker = gateway.broker
    broker.set_clocks(now_ms=gateway.now_ms, wall_ms=gateway.now_ms)

    def work() -> None:
        broker.retention._begin(gateway.now_ms)
        while broker.scheduler.pending:
            broker.scheduler.run()

    seconds = _timed(work)
    gateway.settle()
    return seconds


def retention_check(partitions: int) -> Unit:
    """Let one record be written, then check retention."""
    gateway = _settled_with_topics(partitions)
    client = gateway.client()
    _check(gateway)

    def unit() -> float:
        client.call(producing(("t0", 0, batch(b"v", timestamp_ms=gateway.now_ms))), 9)
        return _check(gateway)

    return unit


def _with_extents(extents: int, *, step_ms: int, retention_ms: str) -> Gateway:
    """Return a broker with a partition of so many extents, one in each commit."""
    gateway = Gateway(kawal_vnodes=1, log_retention_check_interval_ms=INTERVAL_MS)
    client = gateway.client()
    create(client, "t", retention_ms=retention_ms)
    log, stream_id = gateway.partition("t").vnode.log, gateway.partition("t").stream_id
    for index in range(extents):
        log.append(stream_id, batch(b"v", timestamp_ms=START_MS + index * step_ms))
        gateway.run_jobs()
    gateway.settle()
    return gateway


def retention_of_old_extents(extents: int) -> Unit:
    """Check retention where the oldest extents are old, but their logical segment is not."""
    gateway = _with_extents(extents, step_ms=0, retention_ms="1")
    client = gateway.client()

    def unit() -> float:
        now_ms = gateway.now_ms + INTERVAL_MS
        client.call(producing(("t", 0, batch(b"v", timestamp_ms=now_ms))), 9)
        return _check(gateway)

    unit()
    return unit


def lookup_by_time(extents: int) -> Unit:
    """Ask for the offset of a time in the newest tenth."""
    gateway = _with_extents(extents, step_ms=1, retention_ms="-1")
    client = gateway.client()
    asked = ListOffsetsPartition(partition_index=0, timestamp=START_MS + extents * 9 // 10)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[asked])])
    client.call(request, 7)
    return lambda: _timed(lambda: client.call(request, 7))


def catalogue_snapshot(topics: int) -> Unit:
    """Begin a snapshot: the work of the event loop for each topic of it."""
    gateway = _settled_with_topics(topics)
    snapshots = gateway.broker.snapshots
    snapshots.after_bytes = 0
    gateway.broker.store.catalogue.snapshot_bytes = 0

    def unit() -> float:
        seconds = _timed(snapshots.begin)
        snapshots._job = None
        return seconds / topics

    return unit


def topic_creation(topics: int) -> Unit:
    """Create a topic."""
    gateway = _settled_with_topics(topics)
    client, numbers = gateway.client(), count()
    return lambda: _timed(lambda: create(client, f"new{next(numbers)}"))


def metadata_of_all(topics: int) -> Unit:
    """Ask for the metadata of all topics, again."""
    gateway = _settled_with_topics(topics)
    clients = [gateway.client() for _ in range(20)]
    request = MetadataRequest(topics=None)
    clients.pop().call(request, 12)

    def unit() -> float:
        client = clients.pop()

        def work() -> None:
            client.send(request, 12)
            while gateway.broker.scheduler.pending:
                gateway.broker.scheduler.run()

        return _timed(work)

    return unit


def wake_up(fetches: int) -> Unit:
    """Write one record for which so many clients wait."""
    gateway = Gateway(kawal_vnodes=1)
    writer = gateway.client()
    create(writer, "t")
    readers = [gateway.client() for _ in range(fetches)]
    written = count()

    def unit() -> float:
        offset = next(written)
        for reader in readers:
            reader.send(fetching({("t", 0): offset}, max_wait_ms=500_000), 12)
        seconds = _timed(lambda: writer.call(producing(("t", 0, batch(b"v"))), 9))
        for reader in readers:
            reader.answers()
        return seconds / fetches

    return unit


def _short_work(_now_ms: int) -> None:
    sum(range(50))


def due_timers(timers: int) -> Unit:
    """Let so many timers be due in one moment; the longest of the runs that they take."""

    def unit() -> float:
        made = Timers(InternalErrors())
        for _ in range(timers):
            made.add(5, _short_work)
        longest = 0.0
        while made.next_deadline() is not None:
            longest = max(longest, _timed(lambda: made.run_due(5, lambda: int(process_time() * 1e9))))
        return longest

    return unit
