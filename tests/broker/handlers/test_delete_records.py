"""DeleteRecords through a whole broker: log starts move once that is durable, and only where allowed."""

from __future__ import annotations

import errno

import pytest

from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.broker.gateway import Client, Gateway
from tests.broker.handlers.topics import create, produce
from wal.memory_faults import failing


def request(*topics: tuple[str, list[tuple[int, int]]]) -> DeleteRecordsRequest:
    return DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(
                name=name,
                partitions=[DeleteRecordsPartition(partition_index=i, offset=offset) for i, offset in items],
            )
            for name, items in topics
        ],
        timeout_ms=1000,
    )


def delete(
    client: Client, *topics: tuple[str, list[tuple[int, int]]], version: int = 2
) -> dict[tuple[str, int], tuple[int, int]]:
    answer = client.call(request(*topics), version)
    return {
        (topic.name, item.partition_index): (item.error_code, item.low_watermark)
        for topic in answer.topics
        for item in topic.partitions
    }


def fetch_error(client: Client, topic: str, offset: int) -> int:
    asked = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1000)
    answer = client.call(
        FetchRequest(max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic=topic, partitions=[asked])]), 12
    )
    code: int = answer.responses[0].partitions[0].error_code
    return code


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_log_start_moves_and_stays(gateway: Gateway, version: int) -> None:
    client = gateway.client()
    create(client, "t")
    produce(client, "t", 10)
    assert delete(client, ("t", [(0, 3)]), version=version) == {("t", 0): (0, 3)}
    assert (fetch_error(client, "t", 2), fetch_error(client, "t", 3)) == (1, 0)
    gateway.crash()
    client = gateway.client()
    assert (fetch_error(client, "t", 2), fetch_error(client, "t", 3)) == (1, 0)
    assert delete(client, ("t", [(0, 2)]), version=version) == {("t", 0): (0, 3)}


def test_minus_one_is_the_high_watermark(client: Client) -> None:
    create(client, "t", 2)
    produce(client, "t", 10)
    assert delete(client, ("t", [(0, -1), (1, -1)])) == {("t", 0): (0, 10), ("t", 1): (0, 0)}
    assert produce(client, "t") == 11


def test_nothing_is_answered_before_the_move_is_durable(gateway: Gateway, client: Client) -> None:
    create(client, "t", 4)
    for partition in range(4):
        produce(client, "t", 2, partition=partition)
    client.send(request(("t", [(i, 1) for i in range(4)])), 2)
    assert client.answers() == []
    gateway.settle()
    (answer,) = client.answers()
    assert [item.low_watermark for item in answer.topics[0].partitions] == [1, 1, 1, 1]


def test_good_and_bad_partitions_are_told_apart(client: Client) -> None:
    create(client, "t")
    produce(client, "t", 5)
    create(client, "compacted", cleanup_policy="compact")
    create(client, "both", cleanup_policy="compact,delete")
    create(client, "neither", cleanup_policy="")
    assert delete(
        client,
        ("t", [(0, 5), (7, 0), (-1, 0)]),
        ("nope", [(0, 0)]),
        ("bad name!", [(0, 0)]),
        ("compacted", [(0, 0)]),
        ("both", [(0, 0)]),
        ("neither", [(0, 0)]),
    ) == {
        ("t", 0): (0, 5),
        ("t", 7): (3, -1),
        ("t", -1): (3, -1),
        ("nope", 0): (3, -1),
        ("bad name!", 0): (3, -1),
        ("compacted", 0): (44, -1),
        ("both", 0): (0, 0),
        ("neither", 0): (0, 0),
    }


@pytest.mark.parametrize("offset", [6, -2, 2**62, -(2**63)])
def test_offsets_that_are_not_there_are_refused(client: Client, offset: int) -> None:
    create(client, "t")
    produce(client, "t", 5)
    assert delete(client, ("t", [(0, offset)])) == {("t", 0): (1, -1)}


def test_the_last_offset_of_a_partition_named_twice_counts(client: Client) -> None:
    create(client, "t")
    produce(client, "t", 5)
    assert delete(client, ("t", [(0, 1), (0, 2)]), ("t", [(0, 3)])) == {("t", 0): (0, 3)}


def test_nothing_asked_is_nothing_answered(client: Client) -> None:
    create(client, "t")
    assert delete(client) == {}
    assert delete(client, ("t", [])) == {}


def test_records_of_internal_topics_stay(gateway: Gateway, client: Client) -> None:
    create(client, "__consumer_offsets")
    assert delete(client, ("__consumer_offsets", [(0, 0)])) == {("__consumer_offsets", 0): (17, -1)}


def test_a_move_that_the_disk_refuses_is_an_error(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    produce(client, "t", 5)
    gateway.disk.faults.append(failing("sync", errno.EIO))
    assert delete(client, ("t", [(0, 3)]), ("nope", [(0, 0)])) == {("t", 0): (56, -1), ("nope", 0): (3, -1)}
    assert fetch_error(client, "t", 0) == 0


def test_a_log_that_has_failed_refuses_at_once(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    produce(client, "t", 5)
    gateway.disk.faults.append(failing("sync", errno.EIO, times=100))
    delete(client, ("t", [(0, 3)]))
    client.send(request(("t", [(0, 4)])), 2)
    assert client.answers()[0].topics[0].partitions[0].error_code == 56


def test_of_very_many_partitions_few_moves_become_durable_in_one_turn(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.handlers.delete_records.MOVES_AT_ONCE", 100)
    client = gateway.client()
    create(client, "t", 310)
    for index in range(310):
        produce(client, "t", 1, partition=index)
    logs = [vnode.log for vnode in gateway.broker.vnodes.every if vnode is not gateway.broker.vnodes.meta]
    before = sum(log.next_version for log in logs)
    client.send(request(("t", [(index, 1) for index in range(310)])), 2)
    durable = []
    while not (answers := client.answers()):
        while gateway.broker.scheduler.pending:
            gateway.broker.scheduler.run()
        durable.append(sum(log.next_version for log in logs) - before)
        gateway.run_jobs()
    assert durable == [0, 100, 200, 300]
    assert [item.low_watermark for item in answers[0].topics[0].partitions] == [1] * 310
