"""The other nodes, as the metrics of one of them show them."""

from __future__ import annotations

from broker.catalogue.members import Members
from broker.catalogue.node_states import NodeState, node_states
from broker.catalogue.nodes import Nodes
from broker.snapshot import Snapshot
from tests.broker.cluster import Cluster


def test_workers_and_a_server_alone_have_no_states() -> None:
    assert node_states(Nodes(0), 5) == []
    assert node_states(Nodes(1, number=1, count=2), 5) == []


def test_the_controller_sees_all_and_the_others_see_the_controller() -> None:
    cluster = Cluster(3, own_directories=True)
    cluster.advance(6_000)
    states = {node.number: Snapshot.take(node.broker).nodes for node in cluster}
    assert [(state.node_id, state.is_there) for state in states[0]] == [(1, True), (2, True)]
    assert all(state.unseen_ms is not None and state.unseen_ms <= 6_000 for state in states[0])
    first, last = states[1]
    assert (first.node_id, first.is_there, first.unseen_ms is not None) == (0, True, True)
    assert (last.node_id, last.unseen_ms) == (2, None)


def test_a_node_that_is_away_is_shown_with_the_time_since_it_was_seen() -> None:
    cluster = Cluster(3, own_directories=True)
    cluster.advance(6_000)
    cluster.kill(1)
    for _ in range(20):
        cluster.advance(1_000)
    state = Snapshot.take(cluster[0].broker).nodes[0]
    assert (state.node_id, state.is_there) == (1, False)
    assert state.unseen_ms is not None
    assert state.unseen_ms >= 15_000


def test_links_and_failed_requests_are_those_of_the_node() -> None:
    counts = {1: (1, 2), 2: (3, 4)}
    nodes = Nodes(0, count=3, members=Members(0, 3, {}), link_counts=lambda node_id: counts[node_id])
    assert node_states(nodes, 0) == [NodeState(1, False, None, 1, 2), NodeState(2, False, None, 3, 4)]
