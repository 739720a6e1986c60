"""KawalShareRecords: for nodes of the cluster alone; the rest is in test_kept_states.py."""

from __future__ import annotations

from protocol.messages.kawal_share_records import KawalShareRecordsRequest
from tests.broker.cluster import Cluster


def test_a_client_is_cut_off() -> None:
    client = Cluster(2)[0].client()
    client.send(KawalShareRecordsRequest(node_id=1, partition=0, records=[]), 0)
    assert client.connection.close_reason is not None
    assert client.answers() == []
