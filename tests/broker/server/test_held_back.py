"""Connections held back for memory are read again in order, as far as their address has room."""

from __future__ import annotations

from typing import Any

import pytest

from broker.config.config import Config
from broker.connections.connection import Connection
from broker.connections.memory_limits import PROVEN_REQUESTS, MemoryLimits
from broker.loop.stats import Stats
from broker.server.held_back import HeldBack
from protocol.framing import BufferPool


class Held:
    """A transport, as far as its connection goes."""

    def __init__(self, memory: MemoryLimits[Connection], peer: str) -> None:
        self.connection = Connection(
            identity=1,
            peer=peer,
            request_bytes_max=1 << 20,
            pool=BufferPool(),
            unsent=[],
            memory=memory,
            stats=Stats(),
        )


@pytest.fixture
def memory() -> MemoryLimits[Connection]:
    return MemoryLimits(Config(queued_max_request_bytes=1_000_000, kawal_memory_share_per_ip=0.5))


def held_back(memory: MemoryLimits[Connection], *peers: str) -> tuple[HeldBack, list[Any]]:
    held, transports = HeldBack(memory), [Held(memory, f"{peer}:5000") for peer in peers]
    for transport in transports:
        held.add(transport)  # type: ignore[arg-type]
    return held, transports


def test_the_longest_held_back_is_read_first(memory: MemoryLimits[Connection]) -> None:
    held, (first, second, other) = held_back(memory, "10.0.0.1", "10.0.0.1", "10.0.0.2")
    assert [held.take(), held.take(), held.take(), held.take()] == [first, second, other, None]
    assert not held


def test_those_in_the_middle_of_a_request_come_after_those_that_hold_nothing(
    memory: MemoryLimits[Connection],
) -> None:
    held, (half, empty) = held_back(memory, "10.0.0.1", "10.0.0.1")
    half.connection.unfinished_bytes = 300_000
    held.add(half)
    assert [held.take(), held.take(), held.take()] == [empty, half, None]


def test_those_known_for_small_requests_come_first(memory: MemoryLimits[Connection]) -> None:
    held, (unknown, good) = held_back(memory, "10.0.0.1", "10.0.0.1")
    held.remove(good)
    good.connection.client.request_count = PROVEN_REQUESTS
    held.add(good)
    unknown.connection.use.requests_bytes = memory.requests_bytes = 630_000
    assert held.take() is good, "the first reserve of 125,000 is used up"
    assert held.take() is None
    unknown.connection.use.requests_bytes = 0
    assert held.take() is unknown


def test_one_that_holds_nothing_is_read_again_while_there_is_reserve(
    memory: MemoryLimits[Connection],
) -> None:
    held, (half, empty) = held_back(memory, "10.0.0.1", "10.0.0.2")
    half.connection.unfinished_bytes = 1
    held.add(half)
    busy = [Held(memory, f"10.0.0.{number}:6000").connection for number in (3, 4, 5)]
    for connection in busy:
        connection.request_bytes = 490_000
        connection.account()
    assert held.take() is None
    busy[0].request_bytes = 200_000
    busy[0].account()
    assert memory.full
    assert held.take() is empty
    assert held.take() is None


def test_one_that_ends_meanwhile_is_passed_over(memory: MemoryLimits[Connection]) -> None:
    held, (first, second) = held_back(memory, "10.0.0.1", "10.0.0.1")
    held.remove(first)
    held.remove(first)
    assert held
    assert held.take() is second


def test_an_address_that_has_its_share_waits_for_its_own_room(memory: MemoryLimits[Connection]) -> None:
    held, (full, other) = held_back(memory, "10.0.0.1", "10.0.0.2")
    busy = Held(memory, "10.0.0.1:6000").connection
    busy.request_bytes = 700_000
    busy.account()
    assert memory.host_full(full.connection.use)
    assert held.take() is other
    assert held.take() is None
    busy.request_bytes = 0
    busy.account()
    assert held.take() is full
