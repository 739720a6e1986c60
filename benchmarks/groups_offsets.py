"""A million committed offsets: loading them after a crash, and rewriting them while the server serves."""

from __future__ import annotations

import time
from math import inf

from benchmarks import proc
from benchmarks.groups_clients import Pinger
from compat_tests.broker import Broker
from compat_tests.topics import create_topic
from compat_tests.wire import RawClient, raw_client
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)

GROUPS, PARTITIONS = 1_000, 1_000
ROUNDS = 4
"""The number of times everything is committed: the log is rewritten when most of it is superseded."""
LOAD_LIMIT_SECONDS, BUSY_LIMIT_MS = 10.0, 50.0
REWRITE_SECONDS = 45.0
LOADING = 14
WINDOW = 8


def measure(broker: Broker, small: bool) -> list[tuple[str, float, float, str]]:
    """Commit, kill, start, wait; then commit until the log must be rewritten, and wait for that."""
    groups = GROUPS // 100 if small else GROUPS
    topic = create_topic(broker, "committed", PARTITIONS)
    with raw_client(broker) as client:
        commit_all(client, topic, groups, 0)
    broker.kill()
    began = time.perf_counter()
    broker.restart()
    with Pinger(broker) as loading:
        wait_until_loaded(broker, topic, groups)
    loaded, cpu = time.perf_counter() - began, proc.cpu_seconds(broker.process.pid)
    with raw_client(broker) as client:
        for turn in range(1, ROUNDS):
            commit_all(client, topic, groups, turn)
    with Pinger(broker) as rewriting:
        time.sleep(1 if small else REWRITE_SECONDS)
    count = groups * PARTITIONS
    return [
        (f"offsets: {count} of {groups} groups, start until all are there", loaded, LOAD_LIMIT_SECONDS, "s"),
        ("offsets: CPU of the server for that", cpu, LOAD_LIMIT_SECONDS, "s"),
        # The first request for a group loads the coordinator's code: a tenth of a second, once.
        ("offsets: longest time the loop is busy while loading", loading.longest_ms, inf, "ms"),
        ("offsets: the same while rewriting", rewriting.longest_ms, BUSY_LIMIT_MS, "ms"),
    ]


def commit_all(client: RawClient, topic: str, groups: int, turn: int) -> None:
    """Commit every partition for every group, a few requests ahead of the answers."""
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=turn, committed_metadata="")
        for index in range(PARTITIONS)
    ]
    waiting = 0
    for number in range(groups):
        client.send(
            OffsetCommitRequest(
                group_id=f"group-{number}",
                generation_id_or_member_epoch=-1,
                member_id="",
                topics=[OffsetCommitRequestTopic(name=topic, partitions=partitions)],
            ),
            8,
        )
        waiting += 1
        if waiting == WINDOW:
            check(client)
            waiting -= 1
    for _ in range(waiting):
        check(client)


def check(client: RawClient) -> None:
    """Read one answer."""
    answer = client.receive()
    partitions = answer.topics[0].partitions
    assert not any(partition.error_code for partition in partitions), partitions[0]


def wait_until_loaded(broker: Broker, topic: str, groups: int) -> None:
    """Ask for each group's last partition until its offset is the committed one."""
    with raw_client(broker) as client:
        for number in range(groups):
            asked = OffsetFetchRequest(
                groups=[
                    OffsetFetchRequestGroup(
                        group_id=f"group-{number}",
                        topics=[OffsetFetchRequestTopics(name=topic, partition_indexes=[PARTITIONS - 1])],
                    )
                ]
            )
            while (group := client.call(asked, 8).groups[0]).error_code == LOADING:
                time.sleep(0.01)
            assert group.topics[0].partitions[0].committed_offset == 0, group
