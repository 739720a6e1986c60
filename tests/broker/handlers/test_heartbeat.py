"""Heartbeat: keeps members alive and tells them to join again."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from protocol.messages.heartbeat import HeartbeatRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import join, joining

SETTINGS = {"kawal_vnodes": 1, "group_initial_rebalance_delay_ms": 0, "kawal_rebalance_interval_ms": 0}
TOPICS = {"t": 4}


def beat(client: Client, member_id: str, generation: int) -> int:
    request = HeartbeatRequest(group_id="g", member_id=member_id, generation_id=generation)
    code: int = client.call(request, 4).error_code
    return code


def test_members_that_beat_stay(gateway: Gateway, client: Client) -> None:
    member = join(client, "g")
    for _ in range(4):
        gateway.advance(9_000)
        assert beat(client, *member) == 0


def test_a_rebalance_calls_the_members_back(gateway: Gateway, client: Client) -> None:
    member = join(client, "g")
    gateway.client().send(joining("g"), 3)
    assert beat(client, *member) == ErrorCode.REBALANCE_IN_PROGRESS


def test_strangers_and_old_generations_are_refused(client: Client) -> None:
    member_id, generation = join(client, "g")
    assert beat(client, "stranger", generation) == ErrorCode.UNKNOWN_MEMBER_ID
    assert beat(client, member_id, generation + 1) == ErrorCode.ILLEGAL_GENERATION
