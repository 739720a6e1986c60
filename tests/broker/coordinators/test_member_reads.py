"""The fetches that a group's settings for reading are for."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from broker.catalogue.topics import OFFSETS_TOPIC
from broker.coordinators import member_reads
from broker.coordinators.groups import Groups
from broker.coordinators.member_reads import MemberReads
from broker.coordinators.read_settings import ReadSettings, read_settings
from broker.loop.slices import Until
from protocol.consumer_protocol import ConsumerProtocolAssignment, TopicPartition, encode_assignment
from protocol.error_codes import ErrorCode
from protocol.messages.metadata import MetadataRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.group_reads import configure, member, records, seen
from tests.broker.groups import beating, joining, syncing
from tests.broker.kit import create, fetched, fetching, send, values
from tests.broker.topic_changes import delete

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


def test_a_member_that_joins_again_as_another_client_is_that_clients(gateway: Gateway) -> None:
    create(gateway.client(), "u")
    configure(gateway.client(), "h", consume_excluded="true")
    first, second = member(gateway, "t"), gateway.client("10.0.0.8")
    member(gateway, "u", group_id="h")
    assert (seen(first, "t"), seen(second, "t")) == (MIXED, ALL)
    second.call(beating("g", "g-10.0.0.9", topics=["t"]), 1)
    assert (seen(first, "t"), seen(second, "t")) == (ALL, MIXED)


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


def test_clients_that_are_no_members_are_not_remembered(gateway: Gateway) -> None:
    member(gateway, "t")
    member(gateway, "t", group_id="plain", host="10.0.1.9")
    for last in range(10):
        assert seen(gateway.client(f"10.0.1.{last}"), "t") == ALL
    assert not gateway.broker.member_reads._found


def several(gateway: Gateway, count: int) -> list[Client]:
    """Return members of groups with settings, on hosts of their own, each with four partitions."""
    create(gateway.client(), "w", partitions=4)
    for number in range(count):
        configure(gateway.client(), f"g{number}", consume_excluded="true")
    return [member(gateway, "w", group_id=f"g{number}", host=f"10.0.1.{number}") for number in range(count)]


def test_the_clients_that_have_fetched_longest_ago_are_forgotten_and_looked_at_anew(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers, reads = several(gateway, 3), gateway.broker.member_reads
    monkeypatch.setattr(member_reads, "READS_BYTES_MAX", 4_500)
    for reader in 2 * readers:
        send(gateway.client(), "w", records((b"a", b"x"), restored=[0]))
        assert seen(reader, "w") == []
        assert len(reads._found) <= 2
        assert reads._size_bytes == sum(found.places.size_bytes for found in reads._found.values())
    assert list(reads._found) == [(f"/10.0.1.{number}", "test") for number in (1, 2)]
    seen(readers[1], "w")
    seen(readers[0], "w")
    assert list(reads._found) == [(f"/10.0.1.{number}", "test") for number in (1, 0)]


def test_a_fetch_that_waits_is_its_groups_though_its_client_was_forgotten_meanwhile(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    (reader, other) = several(gateway, 2)
    reader.send(fetching({("w", 0): 0}, max_wait_ms=10_000), 12)
    monkeypatch.setattr(member_reads, "READS_BYTES_MAX", 2_000)
    assert seen(other, "w") == []
    assert list(gateway.broker.member_reads._found) == [("/10.0.1.1", "test")]
    send(gateway.client(), "w", records((b"a", b"restored"), (b"b", b"own"), restored=[0]))
    gateway.settle()
    (answer,) = reader.answers()
    assert values(fetched(answer)["w", 0].records) == [b"own"]


def test_to_a_client_that_alone_has_too_much_no_settings_apply_and_the_log_says_so(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(member_reads, "READS_BYTES_MAX", 1_400)
    (reader,) = several(gateway, 1)
    send(gateway.client(), "w", records((b"a", b"restored"), restored=[0]))
    with caplog.at_level(logging.WARNING, "kawal.groups"):
        for _ in range(3):
            assert seen(reader, "w") == [(0, b"restored")]
    assert caplog.text.count("members of client 'test' on 10.0.1.0 have too many partitions") == 1
    monkeypatch.setattr(member_reads, "READS_BYTES_MAX", 1 << 20)
    gateway.client("10.0.1.0").call(beating("g0", "another", topics=["w"]), 1)
    assert seen(reader, "w") == []


# --- what a fetch looks at ----------------------------------------------------------------------------------


@pytest.fixture
def looked(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Return the members, with their groups, that are looked at from now on."""
    found: list[tuple[str, str]] = []
    plain = Groups.held

    def held(self: Groups, group_id: str, member_id: str) -> Any:
        found.append((group_id, member_id))
        return plain(self, group_id, member_id)

    monkeypatch.setattr(Groups, "held", held)
    return found


def test_a_fetch_looks_at_the_members_that_have_changed_and_at_no_other_group(
    gateway: Gateway, looked: list[tuple[str, str]]
) -> None:
    create(gateway.client(), "u")
    reader = member(gateway, "t")
    for number in range(50):
        member(gateway, "u", group_id=f"h{number}")
    assert seen(reader, "t") == MIXED
    assert len(looked) == 51, "the first time at all members of the client"
    for number in range(3):
        looked.clear()
        assert seen(reader, "t") == MIXED
        assert looked == []
        member(gateway, "u", group_id=f"elsewhere{number}", host="10.0.3.3")
        assert seen(reader, "t") == MIXED
        assert looked == [], "it is another client"
        joining = gateway.client()
        joining.call(beating(f"h{number}", "second", topics=["u"]), 1)
        assert seen(reader, "t") == MIXED
        assert looked == [(f"h{number}", "second")]


def test_a_client_without_a_group_with_settings_is_not_looked_at(
    gateway: Gateway, looked: list[tuple[str, str]]
) -> None:
    member(gateway, "t", host="10.0.3.3")
    reader = member(gateway, "t", group_id="plain")
    assert seen(reader, "t") == ALL
    assert looked == []


def test_other_settings_have_the_clients_of_their_group_looked_at_and_no_others(
    gateway: Gateway, looked: list[tuple[str, str]]
) -> None:
    readers = several(gateway, 3)
    for reader in readers:
        seen(reader, "w")
    looked.clear()
    configure(gateway.client(), "g1", min_poll_rows="1")
    for reader in readers:
        seen(reader, "w")
    assert looked == [("g1", "g1-10.0.1.1")]


def test_changes_of_the_catalogue_have_no_settings_read_again(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, read = member(gateway, "t"), list[dict[str, str]]()

    def noted(overrides: dict[str, str], layers: Any) -> ReadSettings:
        read.append(overrides)
        return read_settings(overrides, layers)

    monkeypatch.setattr(member_reads, "read_settings", noted)
    create(gateway.client(), "new")
    assert seen(reader, "t") == MIXED
    assert read == []
    configure(gateway.client(), "other", consume_excluded="true")
    assert {tuple(overrides) for overrides in read} == {("kawal.consume.excluded",)}


def test_after_so_many_changes_that_none_are_kept_all_members_are_looked_at(
    gateway: Gateway, looked: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    create(gateway.client(), "u")
    reader = member(gateway, "t")
    assert seen(reader, "t") == MIXED
    monkeypatch.setattr("groups.clients.CHANGES_MAX", 3)
    for number in range(4):
        member(gateway, "u", group_id=f"h{number}")
    looked.clear()
    assert seen(reader, "t") == MIXED
    assert len(looked) == 5
    assert gateway.client().call(beating("g", "g-10.0.0.9", -1), 1).error_code == 0
    assert seen(reader, "t") == ALL


def test_the_members_of_groups_that_are_kept_anew_are_looked_at_anew(gateway: Gateway) -> None:
    reader = member(gateway, "t")
    assert seen(reader, "t") == MIXED
    delete(gateway, OFFSETS_TOPIC)
    assert seen(reader, "t") == ALL
    member(gateway, "t")
    assert seen(reader, "t") == MIXED


# --- very many members --------------------------------------------------------------------------------------


def call_of(client: Client) -> Any:
    """Return what is known of the sender of a fetch."""
    return SimpleNamespace(
        version=12,
        client_id="test",
        connection=client.connection,
        rights=None,
        received_ms=client.gateway.now_ms,
    )


def wide(gateway: Gateway, count: int) -> Client:
    """Return a member of a group with settings that is one of many members with its client id and host."""
    create(gateway.client(), "u", partitions=count)
    reader = member(gateway, "t")
    for number in range(count):
        gateway.client().call(beating("crowd", f"m{number}", topics=["u"]), 1)
    return reader


def test_very_many_members_are_looked_at_in_steps_while_others_are_served(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = wide(gateway, 30)
    monkeypatch.setattr(member_reads, "MEMBER_ITEMS", 500)
    call = call_of(reader)
    steps = gateway.broker.member_reads.learn(call, call.received_ms + 500)
    assert len(list(steps)) >= 31
    assert not gateway.broker.member_reads.is_unknown(call)


def test_two_fetches_of_one_client_look_at_its_members_one_after_the_other(
    gateway: Gateway, looked: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = wide(gateway, 10)
    monkeypatch.setattr(member_reads, "MEMBER_ITEMS", 500)
    reads, call = gateway.broker.member_reads, call_of(reader)
    first, second = (reads.learn(call, call.received_ms + 500) for _ in range(2))
    next(first)
    for _ in range(5):
        assert next(second) is None
    assert reads.is_unknown(call)
    assert len(looked) == 1
    for _ in first:
        pass
    assert list(second) == []
    assert len(looked) == 11


def test_a_fetch_that_is_given_up_in_the_middle_leaves_the_client_to_the_next_one(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = wide(gateway, 10)
    with monkeypatch.context() as patch:
        patch.setattr(member_reads, "MEMBER_ITEMS", 500)
        reads, call = gateway.broker.member_reads, call_of(reader)
        given_up = reads.learn(call, call.received_ms + 500)
        next(given_up)
        given_up.close()
    assert reads.is_unknown(call)
    assert seen(reader, "t") == MIXED
    assert not reads.is_unknown(call)


def test_the_assignment_of_a_classic_member_with_very_many_partitions_is_read_by_a_thread(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(member_reads, "READ_AT_ONCE_BYTES", 100)
    client = gateway.client()
    member_id = client.call(joining("g", topics=["t"]), 4).member_id
    joined = client.call(joining("g", member_id, topics=["t"]), 4)
    partitions = [TopicPartition(topic="t", partitions=[*range(30)])]
    mine = encode_assignment(ConsumerProtocolAssignment(assigned_partitions=partitions), 0)
    client.call(syncing("g", member_id, joined.generation_id, **{member_id: mine}), 5)
    call = call_of(client)
    steps = gateway.broker.member_reads.learn(call, call.received_ms + 500)
    pause = next(steps)
    assert isinstance(pause, Until)
    steps.close()
    assert seen(client, "t") == MIXED
