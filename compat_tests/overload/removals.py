"""Loads that delete what is very wide: topics, what groups have in them, and coordinators' topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from compat_tests.batches import Batch
from compat_tests.overload.load import Target, create_topics, frame, load, rounds, skip_answer
from compat_tests.overload.wide import MANY_PARTITIONS
from compat_tests.requests import fetch_request
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

REMOVED_PARTITIONS = 50_000
REMOVED_TOPICS = 5_000
PARTITIONS_EACH = 10
GROUPS = 20_000
WAITING = 300
FETCHED = 20_000
DESCRIBED = 199_000
PRODUCERS = 2_000


def _written(name: str, indexes: Iterable[int], producer_id: int = -1) -> ProduceRequest:
    stamp = {} if producer_id < 0 else {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0}
    records = Batch(**stamp).encode()  # type: ignore[arg-type]
    parts = [PartitionProduceData(index=index, records=records) for index in indexes]
    topic = TopicProduceData(name=name, partition_data=parts)
    return ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[topic])


def _committed(name: str, indexes: Iterable[int], group_id: str) -> OffsetCommitRequest:
    parts = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=1, committed_metadata="")
        for index in indexes
    ]
    return OffsetCommitRequest(
        group_id=group_id, member_id="", topics=[OffsetCommitRequestTopic(name=name, partitions=parts)]
    )


def _deletion(names: Iterable[str]) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topics=[DeleteTopicState(name=name) for name in names], timeout_ms=60_000)


def _ask(target: Target, requests: Iterable[tuple[Any, int]]) -> None:
    client = target.client()
    for request, version in requests:
        client.send(request, version)
        skip_answer(client)
    client.close()


def _removed(target: Target, fill: Callable[[], None], remove: Callable[[], None], what: str) -> str:
    """Fill and remove again and again; return how often."""
    done = 0
    for _ in rounds(target):
        if done:
            fill()
        remove()
        done += 1
    return f"{done} times {what}"


# --- one wide topic -----------------------------------------------------------------------------------------


def _fill_wide(target: Target) -> None:
    count = target.dose(REMOVED_PARTITIONS)
    create_topics(target, ["removed"], count)
    requests: list[tuple[Any, int]] = [
        (_written("removed", range(count), producer_id), 9) for producer_id in (1_000, 1_001)
    ]
    requests += [(_committed("removed", range(count), f"removed-{number}"), 8) for number in range(2)]
    _ask(target, requests)


@load("topic-removed", prepare=_fill_wide, settings=MANY_PARTITIONS)
def topic_removed(target: Target) -> str:
    """50,000 partitions with producers, offsets and 300 waiting fetches are deleted, and made again."""

    def remove() -> None:
        wide = fetch_request("removed", *[2] * min(FETCHED, count), max_wait_ms=60_000)
        narrow = frame(fetch_request("removed", 2, max_wait_ms=60_000), 11)
        readers = [target.client() for _ in range(target.dose(WAITING))]
        for reader in readers[1:]:
            reader.socket.sendall(narrow)
        readers[0].socket.sendall(frame(wide, 11))
        _ask(target, [(_deletion(["removed"]), 6)])
        for reader in readers:
            skip_answer(reader)
            reader.close()

    count = target.dose(REMOVED_PARTITIONS)
    return _removed(target, lambda: _fill_wide(target), remove, f"{count} partitions")


# --- many topics --------------------------------------------------------------------------------------------


def _names(target: Target) -> list[str]:
    return [f"removed-{number}" for number in range(target.dose(REMOVED_TOPICS))]


def _fill_many(target: Target) -> None:
    create_topics(target, _names(target), PARTITIONS_EACH)
    indexes = range(PARTITIONS_EACH)
    _ask(target, ((_written(name, indexes, 1_000), 9) for name in _names(target)))
    topics = [
        OffsetCommitRequestTopic(
            name=name,
            partitions=[
                OffsetCommitRequestPartition(partition_index=index, committed_offset=1, committed_metadata="")
                for index in indexes
            ],
        )
        for name in _names(target)
    ]
    _ask(target, [(OffsetCommitRequest(group_id="removed", member_id="", topics=topics), 8)])


@load("topics-removed", prepare=_fill_many, settings=MANY_PARTITIONS)
def topics_removed(target: Target) -> str:
    """5,000 topics of 10 partitions, with records, producers and offsets, are deleted in one request."""
    names = _names(target)
    return _removed(
        target,
        lambda: _fill_many(target),
        lambda: _ask(target, [(_deletion(names), 6)]),
        f"{len(names)} topics",
    )


# --- what many groups have ----------------------------------------------------------------------------------


def _fill_groups(target: Target) -> None:
    create_topics(target, ["read"], 4)
    client = target.client()
    for number in range(target.dose(GROUPS)):
        client.send(_committed("read", range(4), f"reader-{number}"), 8)
        if number % 100 == 99:
            for _ in range(100):
                skip_answer(client)
    for _ in range(target.dose(GROUPS) % 100):
        skip_answer(client)
    client.close()


@load("read-topic-removed", prepare=_fill_groups)
def read_topic_removed(target: Target) -> str:
    """20,000 groups lose the topic in which they have offsets."""
    return _removed(
        target,
        lambda: _fill_groups(target),
        lambda: _ask(target, [(_deletion(["read"]), 6)]),
        f"{target.dose(GROUPS)} groups",
    )


@load("coordinator-removed", prepare=_fill_groups)
def coordinator_removed(target: Target) -> str:
    """20,000 groups lose the topic that keeps them, while members of 300 others wait."""

    def remove() -> None:
        members = [target.client() for _ in range(target.dose(WAITING))]
        for number, member in enumerate(members):
            member.send(
                JoinGroupRequest(
                    group_id=f"joined-{number}",
                    session_timeout_ms=60_000,
                    rebalance_timeout_ms=60_000,
                    member_id="",
                    protocol_type="consumer",
                    protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0\0\0\0\0")],
                ),
                3,
            )
        _ask(target, [(_deletion(["__consumer_offsets"]), 6)])
        for member in members:
            skip_answer(member)
            member.close()

    return _removed(target, lambda: _fill_groups(target), remove, f"{target.dose(GROUPS)} groups")


# --- producers ----------------------------------------------------------------------------------------------


def _fill_producers(target: Target) -> None:
    create_topics(target, ["written"], 4)
    client = target.client()
    for producer_id in range(1_000, 1_000 + target.dose(PRODUCERS)):
        client.send(_written("written", range(4), producer_id), 9)
        skip_answer(client)
    client.close()


@load("producers-described", prepare=_fill_producers)
def producers_described(target: Target) -> str:
    """30 clients ask for the producers of 199,000 partitions each, of which four exist and have 2,000."""
    indexes = [number % 5 for number in range(target.dose(DESCRIBED))]
    request = DescribeProducersRequest(topics=[TopicRequest(name="written", partition_indexes=indexes)])
    data, answered = frame(request, 0), 0
    clients = [target.client() for _ in range(30)]
    for _ in rounds(target):
        for client in clients:
            client.socket.sendall(data)
        for client in clients:
            skip_answer(client)
            answered += 1
    return f"{answered} requests, {len(indexes)} partitions each"
