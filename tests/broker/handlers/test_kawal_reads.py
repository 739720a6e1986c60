"""KawalReads: for nodes of the cluster alone; the rest is in test_reads_elsewhere.py."""

from __future__ import annotations

from typing import Any

from protocol.error_codes import ErrorCode
from protocol.messages.kawal_reads import NO_POSITION, AskedClient, KawalReadsRequest
from tests.broker.coordinators.reading_nodes import Reading
from tests.broker.groups import commit

HOST = "/10.0.0.9"


def asked(nodes: Reading, *clients: tuple[str, str, bool]) -> Any:
    request = KawalReadsRequest(
        node_id=nodes.leader,
        catalogue_version=0,
        clients=[AskedClient(host=host, client_id=name, every=every) for host, name, every in clients],
    )
    return nodes.ask(nodes.coordinator, request, 0)


def test_a_client_is_cut_off() -> None:
    client = Reading()[0].client()
    client.send(KawalReadsRequest(node_id=0, catalogue_version=0, clients=[]), 0)
    assert client.connection.close_reason is not None
    assert client.answers() == []


def test_a_member_is_told_with_the_partitions_that_the_node_leads_and_its_progress_in_them() -> None:
    nodes = Reading()
    nodes.configure(snapshot_enable="true")
    epoch = nodes.join()[0]
    commit(nodes[nodes.coordinator].client(), "g", ("t", nodes.index, 2), member=("m", epoch))
    member, stranger = asked(nodes, (HOST, "test", False), (HOST, "other", True)).clients
    (group,) = member.groups
    (topic,) = group.topics
    assert (group.group_id, topic.topic_id) == ("g", nodes.topic_id)
    own = {index: NO_POSITION for index in range(4) if nodes.leader_of(index) == nodes.leader}
    own[nodes.index] = 2
    assert dict(zip(topic.partitions, topic.positions, strict=True)) == own
    assert stranger.groups == []


def test_groups_without_settings_are_told_if_that_is_asked_for_or_beside_one_with_settings() -> None:
    nodes = Reading()
    nodes.configure(consume_excluded="true")
    plain = next(
        f"h{number}" for number in range(99) if nodes.coordinator_of(f"h{number}") == nodes.coordinator
    )
    nodes.join(group=plain)
    assert asked(nodes, (HOST, "test", False)).clients[0].groups == []
    (told,) = asked(nodes, (HOST, "test", True)).clients
    assert [group.group_id for group in told.groups] == [plain]
    nodes.join()
    (told,) = asked(nodes, (HOST, "test", False)).clients
    assert {group.group_id for group in told.groups} == {"g", plain}


def test_changes_are_counted_for_groups_with_settings() -> None:
    nodes = Reading()
    nodes.configure(consume_excluded="true")
    before = asked(nodes)
    nodes.join(group=next(f"h{n}" for n in range(99) if nodes.coordinator_of(f"h{n}") == nodes.coordinator))
    assert asked(nodes).changes == before.changes
    nodes.join()
    assert asked(nodes).changes > before.changes
    assert asked(nodes).life == before.life


def test_a_node_that_does_not_come_to_know_the_catalogue_says_so() -> None:
    nodes = Reading()
    client = nodes._peer_of(1)
    client.send(KawalReadsRequest(node_id=0, catalogue_version=1 << 40, clients=[]), 0)
    for _ in range(12):
        nodes.advance(500)
    (answer,) = client.answers()
    assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT


def test_a_node_without_the_topic_of_groups_knows_no_members() -> None:
    nodes = Reading()
    broker = nodes[nodes.coordinator].broker
    topic = broker.catalogue.by_name.pop("__consumer_offsets")
    assert asked(nodes).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    broker.catalogue.by_name["__consumer_offsets"] = topic
    assert asked(nodes).error_code == 0
