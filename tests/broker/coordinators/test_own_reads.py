"""A node's own groups, for nodes from which their members fetch: see test_kawal_reads.py for what is told."""

from __future__ import annotations

from broker.coordinators.member_reads import ReadSettings
from broker.coordinators.own_reads import OwnReads, Reads
from broker.loop.slices import at_once
from tests.broker.coordinators.reading_nodes import Reading

SETTINGS = {"g": ReadSettings(excludes=True)}
KEY = "/10.0.0.9", "test"


def told(nodes: Reading, node_id: int, *, every: bool = False) -> Reads | None:
    broker = nodes[nodes.coordinator].broker
    return at_once(OwnReads(broker, broker).of(broker.groups, SETTINGS, [(KEY, every)], node_id))


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


def test_nothing_is_told_while_members_are_not_known() -> None:
    nodes = Reading()
    nodes.join()
    broker = nodes[nodes.coordinator].broker
    with broker.groups.step(nodes[nodes.coordinator].now_ms) as coordinator:
        coordinator._context.loaded.discard(coordinator.partition_of("g"))
    assert told(nodes, nodes.leader) is None
