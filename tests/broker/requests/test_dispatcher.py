"""Every request passes the gate before its handler; there it may be refused, held, or end its connection."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from broker.handlers import APIS
from broker.loop.call import Call
from broker.loop.stats import Cause
from broker.requests.gate import Gate, GateClosed, Held, Refused
from broker.start import open_broker
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.broker.gateway import Gateway

Verdict = Callable[[Call[Any], int], object]


class ToyGate:
    """A gate that decides as the test wants, and remembers the requests it saw."""

    def __init__(self) -> None:
        self.verdict: Verdict = lambda _call, _now_ms: None
        self.seen: list[tuple[int, int]] = []

    def admit(self, call: Call[Any], now_ms: int) -> object:
        self.seen.append((call.api_key, now_ms))
        return self.verdict(call, now_ms)


class GatedGateway(Gateway):
    """A broker with such a gate."""

    def _open(self) -> Any:
        self.gate = ToyGate()
        gate: Gate = self.gate
        return open_broker(
            self.disk,
            self.config,
            random=Random(1),
            now_ms=self.now_ms,
            wall_ms=self.now_ms,
            gate=gate,
        )


BEAT = HeartbeatRequest(group_id="g", member_id="m", generation_id=1)
FIND = FindCoordinatorRequest(key="g", key_type=0)


@pytest.fixture
def gateway() -> GatedGateway:
    return GatedGateway()


def test_every_request_is_seen_before_it_is_handled(gateway: GatedGateway) -> None:
    client = gateway.client()
    client.call(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3)
    client.call(BEAT, 4)
    assert gateway.gate.seen == [
        (ApiKey.API_VERSIONS, gateway.now_ms),
        (ApiKey.HEARTBEAT, gateway.now_ms),
    ]


def test_a_refused_request_is_not_handled(gateway: GatedGateway) -> None:
    refusal = HeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    gateway.gate.verdict = lambda _call, _now_ms: refusal
    assert gateway.client().call(BEAT, 4).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_a_held_request_is_handled_in_its_time_and_answers_keep_their_order(gateway: GatedGateway) -> None:
    start_ms = gateway.now_ms
    gateway.gate.verdict = lambda call, now_ms: (
        Held(start_ms + 100) if call.api_key == ApiKey.HEARTBEAT and now_ms < start_ms + 100 else None
    )
    client = gateway.client()
    client.send(BEAT, 4)
    client.send(FIND, 3)
    gateway.advance(99)
    assert client.answers() == []
    gateway.advance(1)
    answers = client.answers()
    assert [type(answer) for answer in answers] == [HeartbeatResponse, FindCoordinatorResponse]
    assert [key for key, _ in gateway.gate.seen] == [
        ApiKey.HEARTBEAT,
        ApiKey.FIND_COORDINATOR,
        ApiKey.HEARTBEAT,
    ]


def test_a_held_request_of_a_client_that_leaves_is_forgotten(gateway: GatedGateway) -> None:
    gateway.gate.verdict = lambda _call, now_ms: Held(now_ms + 100)
    client = gateway.client()
    client.send(BEAT, 4)
    client.close()
    gateway.advance(1_000)
    assert len(gateway.gate.seen) == 1


def test_a_closed_gate_ends_the_connection_and_no_other(gateway: GatedGateway) -> None:
    def close(call: Call[Any], _now_ms: int) -> None:
        if call.api_key == ApiKey.HEARTBEAT:
            raise GateClosed("not authenticated")

    gateway.gate.verdict = close
    client, other = gateway.client(), gateway.client()
    client.send(BEAT, 4)
    assert client.connection.close_reason == "not authenticated"
    assert client.connection.close_cause is Cause.REFUSED
    assert isinstance(other.call(FIND, 3), FindCoordinatorResponse)


def test_a_handler_that_raises_ends_its_own_connection(
    gateway: GatedGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_broker: object, _call: object) -> None:
        raise ZeroDivisionError

    gateway.break_things()
    monkeypatch.setattr(APIS[ApiKey.HEARTBEAT], "_handler", broken)
    client, other = gateway.client(), gateway.client()
    client.send(BEAT, 4)
    assert (client.connection.close_reason, client.connection.close_cause) == ("internal error", Cause.BUG)
    assert isinstance(other.call(FIND, 3), FindCoordinatorResponse)


def test_a_thread_makes_the_answer_that_refuses_a_wide_request(gateway: GatedGateway) -> None:
    tasks: list[Any] = []
    gateway.broker.scheduler.offload = lambda *task: tasks.append(task)
    made: list[str] = []

    def refuse() -> FindCoordinatorResponse:
        made.append("answer")
        return FindCoordinatorResponse(error_code=15, node_id=-1, host="", port=-1)

    gateway.gate.verdict = lambda _call, _now_ms: Refused(refuse)
    client = gateway.client()
    client.send(FindCoordinatorRequest(key="g", key_type=0), 3)
    for work, done in tasks:  # the first request of an API, which a thread decodes
        work()
        done(None)
    assert ([answer.error_code for answer in client.answers()], made) == ([15], ["answer"])
    tasks.clear()
    client.send(FindCoordinatorRequest(key="g" * 5_000, key_type=0), 3)
    assert (client.answers(), made) == ([], ["answer"])
    while tasks:
        work, done = tasks.pop()
        work()
        done(None)
        gateway.settle()
    assert ([answer.error_code for answer in client.answers()], made) == ([15], ["answer"] * 2)
