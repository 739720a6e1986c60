"""Partitions that topics and the sources of views gain reach the groups that read them."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.consumer_protocol import decode_assignment
from protocol.error_codes import ErrorCode
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import beating, given, joining, syncing
from tests.broker.kit import create
from tests.broker.topic_changes import grow

SETTINGS: dict[str, Any] = {
    "kawal_vnodes": 2,
    "group_initial_rebalance_delay_ms": 0,
    "kawal_rebalance_interval_ms": 0,
}
TOPICS = {"t": 2}

VIEWS = {
    "query": {"kawal.sql": "SELECT _key FROM t"},
    "stable": {"kawal.sql": "STABLE t"},
    "meta": {"kawal.sql": "WITH META AS STABLE t"},
    "alias": {"kawal.alias.of": "t"},
    "window": {"kawal.alias.of": "t", "kawal.from": "offset 0"},
}


@pytest.mark.parametrize("kind", VIEWS)
def test_the_partitions_that_a_source_gains_reach_the_members_that_read_its_views(
    gateway: Gateway, client: Client, kind: str
) -> None:
    topic_id = create(client, "v", -1, **VIEWS[kind])
    joined = client.call(beating("named", "a", topics=["v"]), 1)
    assert given(joined) == {topic_id: [0, 1]}
    grow(client, "t", 4)
    gateway.advance(1_000)
    answer = client.call(beating("named", "a", joined.member_epoch, owned={topic_id: [0, 1]}), 1)
    assert given(answer) == {topic_id: [0, 1, 2, 3]}
    (shown,) = client.call(MetadataRequest(topics=[MetadataRequestTopic(name="v")]), 12).topics
    assert len(shown.partitions) == 4


def test_a_classic_group_that_the_server_assigns_joins_again_when_the_source_of_a_view_grows() -> None:
    gateway = Gateway(**SETTINGS, kawal_group_assignor="server")
    client = gateway.client()
    create(client, "t", 2)
    create(client, "v", -1, **VIEWS["query"])
    member = join_assigned(client, "v", [0, 1])
    grow(client, "t", 3)
    gateway.advance(1_000)
    assert beat_error(client, *member) == ErrorCode.REBALANCE_IN_PROGRESS
    join_assigned(client, "v", [0, 1, 2], member[0])


@pytest.mark.parametrize("name", ["t", "v"])
def test_a_classic_group_that_the_server_assigns_follows_growth_before_and_after_a_crash(name: str) -> None:
    gateway = Gateway(**SETTINGS, kawal_group_assignor="server")
    client = gateway.client()
    create(client, "t", 2)
    create(client, "v", -1, **VIEWS["query"])
    member = join_assigned(client, name, [0, 1])
    gateway.crash()
    client = gateway.client()
    gateway.advance(1_000)
    assert beat_error(client, *member) == 0
    grow(client, "t", 3)
    gateway.crash()
    client = gateway.client()
    gateway.advance(1_000)
    assert beat_error(client, *member) == ErrorCode.REBALANCE_IN_PROGRESS
    member = join_assigned(client, name, [0, 1, 2], member[0])
    gateway.restart()
    client = gateway.client()
    gateway.advance(1_000)
    grow(client, "t", 4)
    gateway.advance(1_000)
    assert beat_error(client, *member) == ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize("name", ["t", "v"])
def test_growth_that_a_crash_kept_from_a_group_reaches_it_after_the_start(
    gateway: Gateway, client: Client, name: str
) -> None:
    create(client, "v", -1, **VIEWS["query"])
    joined = client.call(beating("g", "a", topics=[name]), 1)
    held = given(joined)
    assert held is not None
    grow(client, "t", 4)
    gateway.crash()
    gateway.advance(5_000)
    answer = gateway.client().call(beating("g", "a", joined.member_epoch, owned=held), 1)
    assert given(answer) == {topic_id: [0, 1, 2, 3] for topic_id in held}


def assigned(synced: Any) -> dict[str, list[int]]:
    """Return the partitions that SyncGroup gave."""
    found = decode_assignment(synced.assignment)
    return {topic.topic: list(topic.partitions) for topic in found.assigned_partitions}


def join_assigned(client: Client, topic: str, partitions: list[int], member_id: str = "") -> tuple[str, int]:
    """Join group g, which the server assigns, and get these partitions; return member id and generation."""
    member_id = member_id or client.call(joining("g", topics=[topic]), 4).member_id
    joined = client.call(joining("g", member_id, topics=[topic]), 4)
    synced = client.call(syncing("g", member_id, joined.generation_id), 5)
    assert assigned(synced) == {topic: partitions}
    return member_id, joined.generation_id


def beat_error(client: Client, member_id: str, generation: int) -> int:
    beat = HeartbeatRequest(group_id="g", member_id=member_id, generation_id=generation)
    return int(client.call(beat, 4).error_code)
