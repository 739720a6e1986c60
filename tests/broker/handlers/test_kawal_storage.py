"""KawalStorage: for nodes of the cluster alone; the rest is in test_storage_elsewhere.py."""

from __future__ import annotations

from protocol.messages.kawal_storage import KawalStorageRequest, KnownLog
from tests.broker.cluster import Cluster


def test_a_client_is_cut_off() -> None:
    client = Cluster(2)[0].client()
    client.send(KawalStorageRequest(known=[]), 0)
    assert client.connection.close_reason is not None
    assert client.answers() == []


def test_logs_that_are_known_as_they_are_are_left_out() -> None:
    cluster = Cluster(2)
    first = cluster.ask(1, KawalStorageRequest(known=[]), 0)
    assert [log.name for log in first.logs] == ["default/vnode-1", "default/vnode-3"]
    known = [KnownLog(name=log.name, version=log.version) for log in first.logs[:1]]
    second = cluster.ask(1, KawalStorageRequest(known=known), 0)
    assert [log.name for log in second.logs] == ["default/vnode-3"]
    assert second.catalogue_version >= 0
