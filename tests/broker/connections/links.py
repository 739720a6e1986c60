"""Connections without a broker, and calls on them."""

from __future__ import annotations

from typing import Any

from broker.config.config import Config
from broker.connections.connection import Connection
from broker.connections.memory_limits import MemoryLimits
from broker.loop.call import Call
from broker.loop.stats import Stats
from protocol.api_keys import ApiKey
from protocol.framing import BufferPool
from protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from tests.broker.gateway import request_frame


def connection() -> Connection:
    return Connection(
        identity=1,
        peer="[::1]:5000",
        request_bytes_max=1 << 20,
        pool=BufferPool(),
        unsent=[],
        memory=MemoryLimits(Config()),
        stats=Stats(),
    )


def opened(link: Connection, correlation_id: int, version: int = 1) -> Call[Any]:
    data = request_frame(FindCoordinatorRequest(key="g"), version, correlation_id)[4:]
    call, position = link.open_call(memoryview(data), data_owned=True, now_ms=7)
    assert (call.correlation_id, call.received_ms, call.client_id) == (correlation_id, 7, "test")
    assert call.api_key == ApiKey.FIND_COORDINATOR
    assert 0 < position < len(data)
    return call


ANSWER = FindCoordinatorResponse(node_id=1, host="h", port=2)
