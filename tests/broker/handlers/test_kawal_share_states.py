"""KawalShareStates: for nodes of the cluster alone; the rest is in test_local_states.py."""

from __future__ import annotations

from protocol.messages.kawal_share_states import KawalShareStatesRequest, StatesAction
from tests.broker.cluster import Cluster


def test_a_client_is_cut_off() -> None:
    client = Cluster(2)[0].client()
    client.send(KawalShareStatesRequest(group_id="g", action=StatesAction.DELETE, until_ms=1 << 60), 0)
    assert client.connection.close_reason is not None
    assert client.answers() == []
