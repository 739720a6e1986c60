"""KawalProgress: for nodes of the cluster alone; the rest is in test_progress_elsewhere.py."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from protocol.messages.kawal_progress import NO_OFFSET, KawalProgressRequest
from tests.broker.upkeep.holding_nodes import Holding


def test_a_client_is_cut_off() -> None:
    client = Holding()[0].client()
    client.send(KawalProgressRequest(node_id=0, catalogue_version=0), 0)
    assert client.connection.close_reason is not None
    assert client.answers() == []


def test_a_node_is_told_of_its_own_partitions_and_then_of_what_has_changed() -> None:
    nodes = Holding()
    nodes.hold(important="true")
    for index in nodes.indexes():
        nodes.commit(index + 1, index)
    request = KawalProgressRequest(node_id=nodes.leader, catalogue_version=0)
    first = nodes.ask(nodes.coordinator, request, 0)
    (group,) = first.groups
    assert (group.group_id, group.topics) == ("g", ["t"])
    (told,) = first.progress
    own = [index for index in nodes.indexes() if nodes.leader_of(index) == nodes.leader]
    assert sorted(zip(told.partitions, told.offsets, strict=True)) == [(index, index + 1) for index in own]
    request.life, request.after = first.life, first.next_after
    assert nodes.ask(nodes.coordinator, request, 0).progress == []
    nodes.commit(5, own[0])
    again = nodes.ask(nodes.coordinator, request, 0)
    assert (again.groups, again.progress[0].partitions, again.progress[0].offsets) == ([], own[:1], [5])
    request.life += 1
    assert len(nodes.ask(nodes.coordinator, request, 0).progress[0].partitions) == len(own)
    assert NO_OFFSET not in again.progress[0].offsets


def test_a_node_that_does_not_come_to_know_the_catalogue_says_so() -> None:
    nodes = Holding()
    follower = next(number for number in range(2) if number)
    client = nodes._peer_of(follower)
    client.send(KawalProgressRequest(node_id=0, catalogue_version=1 << 40), 0)
    for _ in range(12):
        nodes.advance(500)
    (answer,) = client.answers()
    assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT
