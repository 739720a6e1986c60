"""The fetches that a group's settings for reading are for."""

from __future__ import annotations

import logging

import pytest

from broker.coordinators.member_reads import MemberReads
from protocol.error_codes import ErrorCode
from protocol.messages.metadata import MetadataRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.group_reads import configure, member, records, seen
from tests.broker.groups import beating, joining, syncing
from tests.broker.kit import create, fetching, send

MIXED = [(0, b"own"), (2, b"own too")]
ALL = [(0, b"own"), (1, b"restored"), (2, b"own too")]


@pytest.fixture
def gateway() -> Gateway:
    gateway = Gateway(kawal_rebalance_interval_ms=0, group_initial_rebalance_delay_ms=0)
    client = gateway.client()
    create(client, "t")
    send(client, "t", records((b"a", b"own"), (b"b", b"restored"), (b"c", b"own too"), restored=[1]))
    configure(client, "g", consume_excluded="true")
    return gateway


def test_only_a_fetch_of_a_member_with_the_partition_is_the_groups(gateway: Gateway) -> None:
    first = member(gateway, "t")
    assert seen(first, "t") == MIXED
    assert seen(gateway.client("10.0.0.8"), "t") == ALL
    # A second member has no partition of its own: the topic has one.
    gateway.client("10.0.0.7").call(beating("g", "idle", topics=["t"]), 1)
    assert seen(gateway.client("10.0.0.7"), "t") == ALL


def test_a_classic_member_is_known_by_its_assignment(gateway: Gateway) -> None:
    from protocol.consumer_protocol import ConsumerProtocolAssignment, TopicPartition, encode_assignment

    client = gateway.client()
    member_id = client.call(joining("g", topics=["t"]), 4).member_id
    joined = client.call(joining("g", member_id, topics=["t"]), 4)
    assert seen(client, "t") == ALL
    mine = ConsumerProtocolAssignment(assigned_partitions=[TopicPartition(topic="t", partitions=[0])])
    client.call(syncing("g", member_id, joined.generation_id, **{member_id: encode_assignment(mine, 0)}), 5)
    assert seen(client, "t") == MIXED


def test_settings_apply_at_once_and_end_with_the_membership(gateway: Gateway) -> None:
    client = member(gateway, "t")
    configure(client, "g", consume_excluded="false")
    assert seen(client, "t") == ALL
    configure(client, "g", consume_excluded="true")
    assert seen(client, "t") == MIXED
    assert client.call(beating("g", "g-10.0.0.9", -1), 1).error_code == 0
    assert seen(client, "t") == ALL


def test_two_groups_that_cannot_be_told_apart_have_no_settings_and_the_log_says_so(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    client = member(gateway, "t")
    assert seen(client, "t") == MIXED
    member(gateway, "t", group_id="other")
    with caplog.at_level(logging.WARNING, "kawal.groups"):
        assert seen(client, "t") == ALL
    assert "'g', 'other' are all client 'test' on 10.0.0.9" in caplog.text
    configure(client, "other", consume_excluded="true")
    assert seen(client, "t") == MIXED


def test_after_a_restart_fetches_wait_until_the_members_are_known(gateway: Gateway) -> None:
    member(gateway, "t")
    gateway.restart()
    client = gateway.client()
    client.send(fetching({("t", 0): 0}, max_wait_ms=500), 12)
    assert client.answers() == [], "the groups are not loaded yet"
    gateway.advance(1)
    gateway.settle()
    assert len(client.answers()) == 1
    assert seen(gateway.client(), "t") == MIXED


def test_a_fetch_that_waits_too_long_for_them_hears_of_all_its_partitions(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    member(gateway, "t")
    monkeypatch.setattr(MemberReads, "is_loading", lambda _: True)
    client = gateway.client()
    client.send(fetching({("t", 0): 0, ("t", 7): 0}, max_wait_ms=500), 12)
    gateway.now_ms += 600
    gateway.settle()
    (answer,) = client.answers()
    known, unknown = answer.responses[0].partitions
    assert (known.error_code, known.high_watermark, known.records) == (0, 3, b"")
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_node_without_groups_looks_up_nothing() -> None:
    gateway = Gateway()
    client = gateway.client()
    configure(client, "g", consume_excluded="true")
    create(client, "t")
    send(client, "t", records((b"a", b"x"), restored=[0]))
    assert seen(client, "t") == [(0, b"x")]
    names = {topic.name for topic in client.call(MetadataRequest(topics=None), 12).topics}
    assert names == {"t"}


def test_the_clients_that_are_remembered_are_bounded(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.coordinators.member_reads.CLIENTS_MAX", 3)
    member(gateway, "t")
    for last in range(10, 20):
        reader: Client = gateway.client(f"10.0.1.{last}")
        assert seen(reader, "t") == ALL
    assert len(gateway.broker.member_reads._found) <= 3


def test_the_partitions_that_are_remembered_are_bounded(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.coordinators.member_reads.PLACES_MAX", 5)
    create(gateway.client(), "w", partitions=4)
    readers = []
    for number in range(3):
        configure(gateway.client(), f"g{number}", consume_excluded="true")
        readers.append(member(gateway, "w", group_id=f"g{number}", host=f"10.0.1.{number}"))
    for reader in 2 * readers:
        send(gateway.client(), "w", records((b"a", b"x"), restored=[0]))
        assert seen(reader, "w") == []
        places = [len(reads) for _, reads in gateway.broker.member_reads._found.values()]
        assert places == [4]
