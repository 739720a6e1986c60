"""Slabs are as many as the configuration has memory for, and are given back some seconds after the load."""

from __future__ import annotations

import pytest

from broker.config.config import Config
from broker.connections.receive_memory import SLABS_MAX, TRIM_INTERVAL_MS, receive_memory, slabs_max
from broker.loop.clock import Clock
from broker.loop.internal_errors import InternalErrors
from broker.loop.timers import Timers
from protocol.slabs import SLAB_BYTES

MIB = 1 << 20


@pytest.mark.parametrize(
    ("requests_bytes", "tail_bytes", "slabs"),
    [
        (128 * MIB, 64 * MIB, 48),
        (8 * MIB, 0, 1),
        (1, 0, 0),
        (-1, 0, SLABS_MAX),
        (1 << 40, 1 << 40, SLABS_MAX),
    ],
)
def test_slabs_are_bounded_by_the_memory_for_requests_and_recent_records(
    requests_bytes: int, tail_bytes: int, slabs: int
) -> None:
    config = Config(queued_max_request_bytes=requests_bytes, kawal_tail_cache_bytes=tail_bytes)
    assert slabs_max(config) == slabs


def test_a_node_without_large_requests_has_no_slabs_and_no_timer() -> None:
    timers = Timers(InternalErrors())
    pool = receive_memory(Config(), timers, Clock(now_ms=0, wall_ms=0))
    assert (pool.slabs.size_bytes, timers.next_deadline()) == (0, None)


def test_slabs_are_given_back_after_the_load_and_the_timer_ends() -> None:
    timers, clock = Timers(InternalErrors()), Clock(now_ms=1_000, wall_ms=0)
    pool = receive_memory(Config(), timers, clock)
    lease = pool.slabs.take(100)
    now_ms = 1_000
    for _ in range(3):
        now_ms += TRIM_INTERVAL_MS
        assert timers.next_deadline() == now_ms
        timers.run_due(now_ms)
        assert pool.slabs.size_bytes == SLAB_BYTES, "a lease is kept"
    del lease
    timers.run_due(now_ms + TRIM_INTERVAL_MS)
    assert (pool.slabs.size_bytes, timers.next_deadline()) == (0, None)
