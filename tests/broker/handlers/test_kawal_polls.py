"""KawalPolls: for nodes of the cluster alone; the rest is in test_polls_elsewhere.py."""

from __future__ import annotations

from protocol.messages.kawal_polls import NEVER, AskedMember, KawalPollsRequest, OwnedPartitions
from tests.broker.cluster import Cluster
from tests.broker.kit import create, fetch


def asked(host: str, client_id: str = "", topic: str = "t") -> AskedMember:
    return AskedMember(host=host, client_id=client_id, topics=[OwnedPartitions(topic=topic, partitions=[0])])


def test_a_client_is_cut_off() -> None:
    client = Cluster(2)[0].client()
    client.send(KawalPollsRequest(members=[]), 0)
    assert client.connection.close_reason is not None
    assert client.answers() == []


def test_a_fetch_is_told_with_its_age_for_the_client_and_partition_that_it_was_of() -> None:
    cluster = Cluster(2)
    create(cluster[0].client(), "t")
    cluster.settle()
    broker = cluster[0].broker
    leader = broker.topics.leader(broker.catalogue.by_name["t"], 0)[0]
    cluster.advance(500)
    reader = cluster[leader].client("10.0.0.9")
    fetch(reader, "t")
    last = reader.connection.last_fetch
    assert last is not None
    cluster.advance(700)
    members = [
        asked("10.0.0.9", last.client_id),
        asked("10.0.0.8", last.client_id),
        asked("10.0.0.9", "another"),
        asked("10.0.0.9", last.client_id, "u"),
    ]
    answer = cluster.ask(leader, KawalPollsRequest(members=members), 0)
    assert answer.ages_ms == [700, NEVER, NEVER, NEVER]
    assert answer.known_for_ms >= 1_200
