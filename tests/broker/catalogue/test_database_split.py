"""SPLIT VGROUP: a database gains a vnode, and everything that exists stays where it is."""

from __future__ import annotations

from errno import ENOSPC
from random import Random
from typing import Any

import pytest

from broker.catalogue.catalogue_records import DatabaseCreated, TopicCreated, VnodesAdded
from broker.catalogue.catalogue_replay import replay_all
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_databases import DatabaseAction
from tests.broker.databases import ask, create_database, drop_database
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import beating
from tests.broker.kit import batch, create, read, send
from tests.broker.topic_changes import grow
from tests.broker.views import read_all
from wal.memory_faults import failing

SPLIT = DatabaseAction.SPLIT


def split_database(client: Client, name: str = "d") -> Any:
    result = ask(client, SPLIT, name)
    assert result.error_code == 0, result
    return result


def places(gateway: Gateway, topic: str) -> list[int]:
    """Return the vnode of each partition."""
    count = gateway.broker.find_topic(topic).partition_count
    return [gateway.partition(topic, index).vnode.index for index in range(count)]


def written(gateway: Gateway) -> Client:
    client = gateway.client()
    create_database(client, "d", vnodes="2")
    create(client, "old", 3, kawal_database="d")
    for index in range(3):
        send(client, "old", batch(b"old %d" % index), index)
    return client


def test_what_exists_stays_and_what_is_new_is_placed_on_the_new_vnode_too() -> None:
    gateway = Gateway()
    client = written(gateway)
    before = places(gateway, "old")
    assert split_database(client).vnodes == 3
    grow(client, "old", 9)
    create(client, "new", 6, kawal_database="d")
    for index in range(3, 9):
        send(client, "old", batch(b"old %d" % index), index)
    for index in range(6):
        send(client, "new", batch(b"new %d" % index), index)
    after = {name: places(gateway, name) for name in ("old", "new")}
    assert after["old"][:3] == before
    assert sorted(after["old"][3:]) == sorted(after["new"]) == [0, 0, 1, 1, 2, 2]
    for _ in range(2):
        client = gateway.client()
        assert {name: places(gateway, name) for name in ("old", "new")} == after
        assert [read(client, "old", partition=index) for index in range(9)] == [
            [b"old %d" % index] for index in range(9)
        ]
        assert [read(client, "new", partition=index) for index in range(6)] == [
            [b"new %d" % index] for index in range(6)
        ]
        described = ask(client, DatabaseAction.DESCRIBE, "d")
        assert [state.stream_count for state in described.vnode_states] == [
            [*after["old"], *after["new"]].count(index) for index in range(3)
        ]
        gateway.crash()


def test_views_over_the_database_gain_a_partition_and_their_groups_get_it() -> None:
    gateway = Gateway()
    client = written(gateway)
    create(client, "all", -1, kawal_sql="DATABASE d")
    member = gateway.client()
    joined = member.call(beating("g", "m", topics=["all"]), 1)
    split_database(client)
    create(client, "new", 3, kawal_database="d")
    index = places(gateway, "new").index(2)
    send(client, "new", batch(b"on the third"), index)
    assert [record.value for record in read_all(client, "all", 2)] == [b"on the third"]
    gateway.advance(5_000)
    answer = member.call(beating("g", "m", epoch=joined.member_epoch), 1)
    assert [sorted(part.partitions) for part in answer.assignment.topic_partitions] == [[0, 1, 2]]
    gateway.crash()
    assert [record.value for record in read_all(gateway.client(), "all", 2)] == [b"on the third"]
    create(gateway.client(), "later", -1, kawal_sql="DATABASE d")
    assert gateway.broker.find_topic("later").partition_count == 3


def test_a_second_split_and_a_snapshot_of_the_catalogue_keep_all_places() -> None:
    gateway = Gateway()
    client = written(gateway)
    split_database(client)
    create(client, "middle", 5, kawal_database="d")
    create(client, "all", -1, kawal_sql="DATABASE d")
    split_database(client)
    create(client, "new", 5, kawal_database="d")
    replayed = replay_all(gateway.broker.catalogue.snapshot())
    for name in ("old", "middle", "new"):
        topic = replayed.by_name[name]
        assert [topic.vnode_index(index) for index in range(topic.partition_count)] == places(gateway, name)
    assert replayed.by_name["all"].partition_count == replayed.databases["d"].vnode_count == 4


def test_records_from_before_splits_spread_over_the_first_vnodes() -> None:
    made = DatabaseCreated(name="d", vnode_count=2, durability="disk")
    topic = TopicCreated(
        name="t", topic_id="0" * 31 + "1", database="d", first_stream=1, partition_count=4, first_vnode=1,
        created_ms=0,
    )  # fmt: skip
    catalogue = replay_all([made, topic, VnodesAdded(name="d", vnode_count=3)])
    assert [catalogue.by_name["t"].vnode_index(index) for index in range(4)] == [1, 0, 1, 0]


@pytest.mark.parametrize("seed", range(8))
def test_a_crash_at_any_moment_of_a_split_leaves_a_database_that_works(seed: int) -> None:
    chance = Random(seed)
    gateway = Gateway()
    client = written(gateway)
    for _ in range(4):
        client.send(_splitting(), 0)
        for _ in range(chance.randrange(6)):
            gateway.run_jobs()
        gateway.crash()
        client = gateway.client()
        assert [read(client, "old", partition=index) for index in range(3)] == [
            [b"old 0"], [b"old 1"], [b"old 2"],
        ]  # fmt: skip
    before = gateway.broker.catalogue.databases["d"].vnode_count
    assert split_database(client).vnodes == before + 1
    create(client, "new", before + 1, kawal_database="d")
    assert sorted(places(gateway, "new")) == list(range(before + 1))


def _splitting() -> Any:
    from tests.broker.databases import asking

    return asking(SPLIT, "d")


def test_a_failing_disk_refuses_the_split_and_the_next_one_works() -> None:
    gateway = Gateway()
    client = written(gateway)
    fault = failing("make_directory", ENOSPC, path="vnode-2")
    gateway.disk.faults.append(fault)
    refused = ask(client, SPLIT, "d")
    assert refused.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    gateway.disk.faults.remove(fault)
    assert split_database(client).vnodes == 3


def test_what_cannot_be_split_is_refused() -> None:
    gateway = Gateway()
    client = written(gateway)
    assert ask(client, SPLIT, "nowhere").error_code == ErrorCode.RESOURCE_NOT_FOUND
    assert ask(client, SPLIT, "d", validate_only=True).vnodes == 2
    create_database(client, "wide", vnodes="256")
    refused = ask(client, SPLIT, "wide")
    assert (refused.error_code, refused.error_message) == (
        ErrorCode.POLICY_VIOLATION,
        "database 'wide' has 256 vnodes, the most",
    )
    client.send(_splitting(), 0)
    other = gateway.client()
    for result in (ask(other, SPLIT, "d"), drop_database(gateway.client(), "d")):
        assert result.error_code == ErrorCode.POLICY_VIOLATION
