"""Fetches from the past of a log that was just opened: threads wait for the disk, not all clients."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from protocol.error_codes import ErrorCode
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, fetching, send
from tests.wal.logs import calls_of

Waiting = list[tuple[Callable[[], object], Callable[[Exception | None], None]]]


@pytest.fixture
def gateway() -> Gateway:
    """Return a broker that was just started, whose one log has several segments."""
    gateway = Gateway(kawal_vnodes=1, kawal_segment_bytes=1 << 20)
    client = gateway.client()
    create(client, "t")
    for number in range(8):
        send(client, "t", batch(bytes([number]) * 500_000))
    while gateway.run_jobs():
        continue
    gateway.restart()
    return gateway


def with_threads(gateway: Gateway) -> Waiting:
    """Have what is left to threads wait in a list."""
    waiting: Waiting = []
    gateway.broker.scheduler.offload = lambda work, done: waiting.append((work, done))
    return waiting


def test_a_fetch_from_the_past_reads_indexes_in_threads_only(gateway: Gateway) -> None:
    client = gateway.client()
    waiting = with_threads(gateway)
    opened = calls_of(gateway.disk, "open")
    client.send(fetching({("t", 0): 0}, partition_max_bytes=10), 11)
    gateway.settle()
    assert waiting
    assert not any(call.path.endswith(".idx") for call in opened)
    in_threads = 0
    while waiting:
        work, done = waiting.pop()
        opened.clear()
        work()
        in_threads += sum(call.path.endswith(".idx") for call in opened)
        opened.clear()
        done(None)
        gateway.settle()
        assert not any(call.path.endswith(".idx") for call in opened)
    assert in_threads
    (answer,) = client.answers()
    (data,) = answer.responses[0].partitions
    assert data.error_code == ErrorCode.NONE
    assert data.records
