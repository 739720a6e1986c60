"""KawalFollow: the catalogue as a whole, and record by record, for nodes of the cluster alone."""

from __future__ import annotations

import errno
from typing import Any

from broker.catalogue.catalogue_records import TopicCreated, decode_record
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.kawal_follow import KawalFollowRequest
from tests.broker.cluster import Cluster
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import create, creation
from wal.memory_faults import failing


def names(answer: Any) -> list[str]:
    records = map(decode_record, answer.records)
    return [record.name for record in records if isinstance(record, TopicCreated)]


def test_the_whole_catalogue_goes_on_where_it_ends() -> None:
    cluster = Cluster(2)
    client = cluster[0].client()
    create(client, "a")
    whole = cluster.ask(0, KawalFollowRequest(version=-1), 0)
    assert "a" in names(whole)
    create(client, "b")
    assert names(cluster.ask(0, KawalFollowRequest(version=whole.next_version), 0)) == ["b"]


def test_a_node_that_knows_everything_waits_for_a_change_or_its_time() -> None:
    gateway = Gateway()
    version = gateway.broker.metadata_log.settled_version
    assert version is not None
    client = gateway.client()
    client.connection.from_peer = True
    client.send(KawalFollowRequest(version=version, max_wait_ms=500), 0)
    gateway.settle()
    assert client.answers() == []
    create(gateway.client(), "t")
    gateway.settle()
    (answer,) = client.answers()
    assert names(answer) == ["t"]
    client.send(KawalFollowRequest(version=answer.next_version, max_wait_ms=500), 0)
    gateway.settle()
    gateway.advance(501)
    gateway.settle()
    (late,) = client.answers()
    assert (late.next_version, late.records) == (answer.next_version, [])


def test_a_node_that_is_too_far_behind_begins_anew() -> None:
    gateway = Gateway()
    gateway.broker.snapshots.after_bytes = 1
    client = gateway.client()
    client.connection.from_peer = True
    for number in range(3):
        create(gateway.client(), f"t{number}")
        gateway.settle()
    log = gateway.broker.meta.log
    if log.first_version == 0:
        # The records are in a segment that is still written.
        answer = client.call(KawalFollowRequest(version=0), 0)
        assert answer.error_code == ErrorCode.NONE
        log._state.segments.all[0].base_version = 1
    assert client.call(KawalFollowRequest(version=0), 0).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_node_that_knows_other_records_of_the_same_versions_begins_anew() -> None:
    before, put_back = Gateway(), Gateway()
    create(before.client(), "lost")
    create(put_back.client(), "later")
    known, others = (
        peer_of(gateway).call(KawalFollowRequest(version=-1), 0) for gateway in (before, put_back)
    )
    assert (known.next_version, known.newest != others.newest) == (others.next_version, True)
    node = peer_of(put_back)
    told = KawalFollowRequest(version=known.next_version, newest=known.newest, node_id=2)
    assert node.call(told, 0).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    own = KawalFollowRequest(version=others.next_version, newest=others.newest, node_id=2)
    assert (node.call(own, 0).error_code, node.call(own, 0).newest) == (ErrorCode.NONE, others.newest)
    create(put_back.client(), "next")
    news = node.call(own, 0)
    last = KawalFollowRequest(version=news.next_version, newest=news.newest, node_id=3)
    assert (names(news), node.call(last, 0).error_code) == (["next"], ErrorCode.NONE)


def peer_of(gateway: Gateway) -> Client:
    client = gateway.client()
    client.connection.from_peer = True
    return client


def test_a_follower_gives_no_catalogue() -> None:
    cluster = Cluster(2)
    answer = cluster.ask(1, KawalFollowRequest(version=-1), 0)
    assert answer.error_code == ErrorCode.NOT_CONTROLLER


def test_a_client_is_refused() -> None:
    answer = Gateway().client().call(KawalFollowRequest(version=-1), 0)
    assert (answer.error_code, answer.records) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, [])


def test_nodes_that_wait_in_vain_leave_nothing_behind() -> None:
    gateway = Gateway()
    version = gateway.broker.metadata_log.settled_version
    assert version is not None
    client = gateway.client()
    client.connection.from_peer = True
    for _ in range(20):
        client.send(KawalFollowRequest(version=version, max_wait_ms=500), 0)
        gateway.settle()
        gateway.advance(501)
        gateway.settle()
    assert len(client.answers()) == 20
    assert not gateway.broker.metadata_log._waiting


def test_the_whole_catalogue_is_given_when_a_change_on_its_way_is_lost() -> None:
    gateway = Gateway()
    create(gateway.client(), "kept")
    gateway.disk.faults.append(failing("sync", errno.EIO, path="meta"))
    gateway.client().send(CreateTopicsRequest(topics=[creation("lost")], timeout_ms=1000), 7)
    client = gateway.client()
    client.connection.from_peer = True
    client.send(KawalFollowRequest(version=-1), 0)
    gateway.settle()
    (answer,) = client.answers()
    assert names(answer) == ["kept"]


def test_a_node_that_does_not_know_the_epoch_of_another_is_answered_at_once() -> None:
    cluster = Cluster(3)
    cluster.settle()
    epochs, version = cluster[0].broker.nodes.epochs, cluster[1].following.version
    assert min(epochs) > 0
    stale = [epochs[0], epochs[1], epochs[2] - 1]
    answer = cluster.ask(0, KawalFollowRequest(version=version, node_id=1, leader_epochs=stale), 0)
    assert answer.leader_epochs == epochs
