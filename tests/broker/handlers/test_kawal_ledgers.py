"""KawalLedgers: for nodes of the cluster alone; the rest is in test_ledgers_elsewhere.py."""

from __future__ import annotations

from protocol.messages.kawal_ledgers import KawalLedgersRequest
from tests.broker.cluster import Cluster
from tests.broker.identified import identified
from tests.broker.kit import batch, send


def test_a_client_is_cut_off() -> None:
    client = Cluster(2)[0].client()
    client.send(KawalLedgersRequest(), 0)
    assert client.connection.close_reason is not None
    assert client.answers() == []


def test_a_number_of_another_life_asks_for_all() -> None:
    cluster = Cluster(2)
    identified(cluster[0].client(), partitions=4)
    cluster.settle()
    for index in range(4):
        for node in cluster:
            send(node.client(), "t", batch(b"x"), partition=index)
    first = cluster.ask(1, KawalLedgersRequest(), 0)
    assert len(first.partitions) == 2
    again = cluster.ask(1, KawalLedgersRequest(life=first.life, after=first.next_after), 0)
    assert again.partitions == []
    other = cluster.ask(1, KawalLedgersRequest(life=first.life - 1, after=first.next_after), 0)
    assert len(other.partitions) == 2
