"""The memory that requests are received into, and when it is given back.

Large requests lie in slabs, which the log's tail cache keeps for a while (protocol/slabs.py).  So there are
as many as that may keep, and some for requests in work; further ones get ordinary memory.  A node without
large requests has none.
"""

from __future__ import annotations

from typing import Final

from broker.config.config import Config
from broker.loop.clock import Clock
from broker.loop.timers import Timers
from protocol.framing import BufferPool
from protocol.slabs import SLAB_BYTES, SlabArena

REQUESTS_SHARE: Final = 4
"""Slabs for requests in work take one part in this many of the memory for requests."""

SLABS_MAX: Final = 64
"""The most slabs, 128 MiB, whatever else is allowed."""

TRIM_INTERVAL_MS: Final = 5_000
"""A slab is given back after one to two times this without use."""


def slabs_max(config: Config) -> int:
    """Return the number of slabs that a node may have."""
    requests_bytes = config.queued_max_request_bytes // REQUESTS_SHARE
    if config.queued_max_request_bytes < 0:
        requests_bytes = SLABS_MAX * SLAB_BYTES
    return min(SLABS_MAX, (requests_bytes + config.kawal_tail_cache_bytes) // SLAB_BYTES)


def receive_memory(config: Config, timers: Timers, clock: Clock) -> BufferPool:
    """Return the memory for receiving; a timer gives back what is not used, while there are slabs."""
    arena = SlabArena(slabs_max(config))

    def trim(now_ms: int) -> None:
        if arena.trim():
            trim_later(now_ms)

    def trim_later(now_ms: int) -> None:
        timers.add(now_ms + TRIM_INTERVAL_MS, trim)

    arena.grown = lambda: trim_later(clock.turn_ms)
    return BufferPool(slabs=arena)
