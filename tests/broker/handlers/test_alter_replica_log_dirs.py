"""AlterReplicaLogDirs: every partition is already in the only place it can be."""

from __future__ import annotations

import pytest

from protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tests.broker.gateway import Client, Gateway
from tests.broker.handlers.topics import create


@pytest.fixture(scope="module")
def client() -> Client:
    made = Gateway().client()
    create(made, "t", 2)
    return made


def move(client: Client, *moves: tuple[str, str, list[int]], version: int = 2) -> dict[tuple[str, int], int]:
    dirs = [
        AlterReplicaLogDir(path=path, topics=[AlterReplicaLogDirTopic(name=name, partitions=indexes)])
        for path, name, indexes in moves
    ]
    answer = client.call(AlterReplicaLogDirsRequest(dirs=dirs), version)
    return {
        (topic.topic_name, partition.partition_index): partition.error_code
        for topic in answer.results
        for partition in topic.partitions
    }


@pytest.mark.parametrize("version", [1, 2])
def test_a_partition_is_in_the_data_directory_and_nowhere_else(client: Client, version: int) -> None:
    assert move(client, ("/data", "t", [0, 1]), version=version) == {("t", 0): 0, ("t", 1): 0}
    for path in ("/elsewhere", "data", "/data/", ""):
        assert move(client, (path, "t", [0]), version=version) == {("t", 0): 57}


def test_good_and_bad_partitions_are_told_apart(client: Client) -> None:
    moves = [("/data", "t", [0, 9]), ("/data", "nope", [0]), ("/elsewhere", "gone", [0])]
    assert move(client, *moves) == {("t", 0): 0, ("t", 9): 3, ("nope", 0): 3, ("gone", 0): 57}


def test_the_last_directory_of_a_partition_counts(client: Client) -> None:
    assert move(client, ("/data", "t", [0]), ("/elsewhere", "t", [0])) == {("t", 0): 57}
    assert move(client) == {}
    assert move(client, ("/data", "t", [])) == {}


def test_a_name_too_long_for_a_directory_is_told_first(client: Client) -> None:
    long = "x" * 214
    asked = [("/elsewhere", long, [0]), ("/elsewhere", "bad name!", [0]), ("/data", "", [1])]
    assert move(client, *asked) == {(long, 0): 17, ("bad name!", 0): 57, ("", 1): 3}
    assert move(client, ("/elsewhere", "x" * 213, [0])) == {("x" * 213, 0): 57}
