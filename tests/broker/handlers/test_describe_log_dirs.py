"""DescribeLogDirs: one directory with the sizes of the partitions in it."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

import pytest

from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.handlers.topics import create, produce
from wal.memory_disk import MemoryDisk

CAPACITY_BYTES = 2 << 30


@pytest.fixture
def client() -> Client:
    made = Gateway(MemoryDisk(capacity_bytes=CAPACITY_BYTES)).client()
    create(made, "a", 2)
    create(made, "b")
    return made


def ask(client: Client, *topics: tuple[str, list[int]], version: int = 5) -> Any:
    asked = [DescribableLogDirTopic(topic=name, partitions=indexes) for name, indexes in topics]
    return client.call(DescribeLogDirsRequest(topics=asked), version).results[0]


def sizes(result: Any) -> dict[tuple[str, int], int]:
    return {
        (topic.name, partition.partition_index): partition.partition_size
        for topic in result.topics
        for partition in topic.partitions
    }


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_null_asks_for_every_partition(client: Client, version: int) -> None:
    produce(client, "a", partition=1)
    answer = client.call(DescribeLogDirsRequest(topics=None), version)
    assert answer.error_code == 0
    (result,) = answer.results
    assert (result.error_code, result.log_dir, result.is_cordoned) == (0, "/data", False)
    found = sizes(result)
    assert found.keys() == {("a", 0), ("a", 1), ("b", 0)}
    assert found["a", 0] == 0
    assert found["a", 1] > 100
    expected = (CAPACITY_BYTES, client.gateway.disk.free_bytes(".")) if version >= 4 else (-1, -1)
    assert (result.total_bytes, result.usable_bytes) == expected


def test_what_is_not_there_is_left_out(client: Client) -> None:
    assert sizes(ask(client, ("a", [0, 7, -1]), ("nope", [0]), ("b", []))) == {("a", 0): 0}
    assert sizes(ask(client)) == {}
    assert sizes(ask(client, ("a", [0, 0]), ("a", [1]))) == {("a", 0): 0, ("a", 1): 0}


def test_sizes_follow_what_is_stored(client: Client) -> None:
    produce(client, "a", 10)
    full = sizes(ask(client, ("a", [0])))["a", 0]
    produce(client, "a", 10)
    assert sizes(ask(client, ("a", [0])))["a", 0] == 2 * full
    deleted = DeleteRecordsPartition(partition_index=0, offset=-1)
    topic = DeleteRecordsTopic(name="a", partitions=[deleted])
    client.call(DeleteRecordsRequest(topics=[topic], timeout_ms=1000), 2)
    assert sizes(ask(client, ("a", [0])))["a", 0] == 0


def test_a_disk_that_does_not_answer_is_told(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from wal.disk_errors import disk_error

    def fail(path: str) -> int:
        raise disk_error("read the size of", path, errno.EIO)

    monkeypatch.setattr(client.gateway.disk, "total_bytes", fail)
    result = ask(client, ("a", [0]))
    assert (result.error_code, result.log_dir, result.topics) == (56, "/data", [])


def test_the_file_system_is_asked_in_a_thread(client: Client) -> None:
    waiting: list[tuple[Callable[[], object], Callable[[Exception | None], None]]] = []
    client.gateway.broker.scheduler.offload = lambda work, done: waiting.append((work, done))
    client.send(DescribeLogDirsRequest(topics=None), 5)
    client.gateway.settle()
    assert len(waiting) == 1, "a file system that hangs must not hold the event loop"
    assert client.answers() == []
