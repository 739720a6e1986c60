"""SyncGroup: the leader assigns, and every member gets its part."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import join, joining, syncing

SETTINGS = {"kawal_vnodes": 1, "group_initial_rebalance_delay_ms": 0, "kawal_rebalance_interval_ms": 0}
TOPICS = {"t": 4}


def test_every_member_gets_its_part_once_the_leader_has_assigned(gateway: Gateway, client: Client) -> None:
    other = gateway.client()
    first = client.call(joining("g"), 3).member_id
    other.send(joining("g"), 3)
    client.call(joining("g", first), 3)
    (joined,) = other.answers()
    second = joined.member_id
    other.send(syncing("g", second, 2), 5)
    gateway.settle()
    assert other.answers() == []
    parts = {first: b"one", second: b"two"}
    assert client.call(syncing("g", first, 2, **parts), 5).assignment == b"one"
    (synced,) = other.answers()
    assert (synced.assignment, synced.protocol_type, synced.protocol_name) == (b"two", "consumer", "range")


def test_another_generation_is_refused(client: Client) -> None:
    member_id, generation = join(client, "g")
    answer = client.call(syncing("g", member_id, generation + 1), 5)
    assert answer.error_code == ErrorCode.ILLEGAL_GENERATION


def test_strangers_are_refused(client: Client) -> None:
    join(client, "g")
    assert client.call(syncing("g", "stranger", 1), 5).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert client.call(syncing("nobody", "stranger", 1), 5).error_code == ErrorCode.UNKNOWN_MEMBER_ID
