"""Requests of one connection: those after a long one wait for it, and many short ones leave others time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.handlers import APIS
from broker.loop.call import PARKED, Call
from broker.loop.slices import WaitingSteps
from protocol.api_keys import ApiKey
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.broker.gateway import Client, Gateway, request_frame, take_outgoing
from tests.broker.kit import batch, create, producing

BEAT = HeartbeatRequest(group_id="g", member_id="m", generation_id=1)
FIND = FindCoordinatorRequest(key="g", key_type=0)

Handler = Callable[[Any, Call[Any]], Any]


@pytest.fixture
def handle(monkeypatch: pytest.MonkeyPatch) -> Callable[[Handler], None]:
    """Return a function that has heartbeats handled by another handler."""
    return lambda handler: monkeypatch.setattr(APIS[ApiKey.HEARTBEAT], "_handler", handler)


def test_a_request_behind_a_long_one_of_its_connection_waits_and_other_clients_do_not(
    gateway: Gateway, handle: Callable[[Handler], None]
) -> None:
    def long(_broker: Any, _call: Call[Any]) -> WaitingSteps:
        for _ in range(3):
            yield None
        return HeartbeatResponse()

    handle(long)
    client, other = gateway.client(), gateway.client()
    client.send(BEAT, 4)
    client.send(FIND, 3)
    assert len(client.connection.calls) == 1
    assert client.connection.at_own_limit
    other.send(FIND, 3)
    assert len(other.answers()) == 1
    gateway.settle()
    assert [type(answer).__name__ for answer in client.answers()] == [
        "HeartbeatResponse",
        "FindCoordinatorResponse",
    ]


def test_a_long_request_that_parks_lets_the_next_one_through(
    gateway: Gateway, handle: Callable[[Handler], None]
) -> None:
    parked: list[Call[Any]] = []

    def parking(_broker: Any, call: Call[Any]) -> WaitingSteps:
        yield None
        parked.append(call)
        return PARKED

    handle(parking)
    client = gateway.client()
    client.send(BEAT, 4)
    client.send(FIND, 3)
    gateway.settle()
    client.answers()
    assert len(client.connection.calls) == 2
    parked[0].reply(HeartbeatResponse())
    assert len(client.answers()) == 2


def test_many_requests_of_one_connection_share_the_turn_with_others(gateway: Gateway) -> None:
    """Each takes a millisecond by the clock: two of them are served, then others have their turn."""
    ticks = iter(range(0, 10**12, 500_000))
    gateway.broker.stats.clock_ns = lambda: next(ticks)
    client, other = gateway.client(), gateway.client()
    client.send_bytes(b"".join(request_frame(FIND, 3, number) for number in range(20)))
    served = gateway.broker.stats.request_stats(ApiKey.FIND_COORDINATOR, 3)
    assert served.count < 5
    assert is_resting(client)
    other.send(FIND, 3)
    assert len(other.answers()) == 1
    before = served.count
    while is_resting(client):
        gateway.broker.scheduler.run()
        take_outgoing(client.connection)
        gateway.broker.intake.resume(client.connection, gateway.now_ms)
        assert served.count - before < 5
        before = served.count
    assert served.count == 21


def is_resting(client: Client) -> bool:
    return client.connection.resting


def test_requests_of_one_read_are_all_served() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t")
    for number in range(100):
        client.send(producing(("t", 0, batch(b"%d" % number))), 9)
    gateway.settle()
    offsets = [answer.responses[0].partition_responses[0].base_offset for answer in client.answers()]
    assert offsets == list(range(100))
