"""A node's own groups, for nodes from which their members fetch: see test_kawal_reads.py for what is told."""

from __future__ import annotations

from typing import Any

import pytest

from broker.coordinators.groups import Groups
from broker.coordinators.own_reads import OwnReads, Reads
from broker.coordinators.read_settings import ReadSettings
from broker.loop.slices import all_here
from protocol.consumer_protocol import ConsumerProtocolAssignment, TopicPartition, encode_assignment
from tests.broker.coordinators.reading_nodes import Reading
from tests.broker.groups import joining, syncing

SETTINGS = {"g": ReadSettings(excludes=True)}
KEY = "/10.0.0.9", "test"


def told(nodes: Reading, node_id: int, *, every: bool = False) -> Reads | None:
    broker = nodes[nodes.coordinator].broker
    found: Reads | None = all_here(
        OwnReads(broker, broker).of(broker.groups, SETTINGS, [(KEY, every)], node_id)
    )
    return found


def test_each_node_is_told_of_the_partitions_that_it_leads() -> None:
    nodes = Reading(3)
    nodes.join()
    for number in range(3):
        found = told(nodes, number)
        assert found is not None
        (groups,) = found.clients
        assert {index for _, index in groups["g"]} == {
            index for index in range(6) if nodes.leader_of(index) == number
        }
        assert set(groups["g"].values()) == {None}, "no snapshot depends on the progress"


def test_the_members_of_the_clients_that_are_asked_about_are_looked_at_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes = Reading()
    nodes.join()
    nodes.join("n", "10.0.0.7")
    for number in range(20):
        nodes.join("o", group=f"h{number}")
    looked: list[tuple[str, str]] = []
    plain = Groups.held

    def held(self: Groups, group_id: str, member_id: str) -> Any:
        looked.append((group_id, member_id))
        return plain(self, group_id, member_id)

    monkeypatch.setattr(Groups, "held", held)
    found = told(nodes, nodes.leader)
    assert found is not None
    (groups,) = found.clients
    here = {f"h{number}" for number in range(20) if nodes.coordinator_of(f"h{number}") == nodes.coordinator}
    assert groups.keys() == {"g"} | here
    assert set(looked) == {("g", "m")} | {(group_id, "o") for group_id in here}
    looked.clear()
    broker = nodes[nodes.coordinator].broker
    stranger = ("/10.0.0.8", "test"), True
    assert all_here(OwnReads(broker, broker).of(broker.groups, SETTINGS, [stranger], 0)) == Reads(1, [{}])
    assert looked == []


def test_a_classic_member_has_what_exists_of_the_topics_that_its_leader_named() -> None:
    nodes = Reading()
    client = nodes[nodes.coordinator].client()
    member_id = client.call(joining("g", topics=["t"]), 4).member_id
    joined = client.call(joining("g", member_id, topics=["t"]), 4)
    partitions = [TopicPartition(topic=name, partitions=[0, 1, 2, 3]) for name in ("t", "missing")]
    mine = encode_assignment(ConsumerProtocolAssignment(assigned_partitions=partitions), 0)
    client.call(syncing("g", member_id, joined.generation_id, **{member_id: mine}), 5)
    found = [told(nodes, number) for number in range(2)]
    places = [set(reads.clients[0]["g"]) for reads in found if reads is not None]
    assert set().union(*places) == {(nodes.topic_id, index) for index in range(4)}
    assert len(places[0]) == len(places[1]) == 2


def test_nothing_is_told_while_members_are_not_known() -> None:
    nodes = Reading()
    nodes.join()
    broker = nodes[nodes.coordinator].broker
    with broker.groups.step(nodes[nodes.coordinator].now_ms) as coordinator:
        coordinator._context.loaded.discard(coordinator.partition_of("g"))
    assert told(nodes, nodes.leader) is None
