"""Loads of requests that name very many things, or come hundreds at a time."""

from __future__ import annotations

import time

from compat_tests.batches import Batch
from compat_tests.overload.load import (
    Target,
    create_topics,
    frame,
    going,
    load,
    produce_many,
    repeated,
    rounds,
    skip_answer,
)
from compat_tests.requests import fetch_request, produce_request
from protocol.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs import (
    AlterableConfig as IncrementalConfig,
)
from protocol.messages.incremental_alter_configs import (
    AlterConfigsResource as IncrementalResource,
)
from protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
)
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

TOPIC_CONFIG = 2

PIPELINED = 390
UNKNOWN_TOPICS = 49_000
TOPICS = 24_000
PARTITIONS = 190_000
MEMBERS = 10_000
WAITING = 8_000
READERS = 16
CROWD = 100
READ_PARTITIONS = 100_000

MANY_PARTITIONS = {"kawal.max.partitions": "1000000"}


def _topics(target: Target) -> list[str]:
    return [f"t{number}" for number in range(target.dose(TOPICS))]


@load("describe-configs", prepare=lambda target: create_topics(target, ["t0"]))
def describe_configs(target: Target) -> str:
    """390 pipelined DescribeConfigs of 50 topics each."""
    resource = DescribeConfigsResource(
        resource_type=TOPIC_CONFIG, resource_name="t0", configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=[resource] * 50, include_documentation=True)
    return repeated(target, [frame(request, 4)], pipelined=target.dose(PIPELINED))


@load("create-partitions")
def create_partitions(target: Target) -> str:
    """CreatePartitions of 49,000 topics that are not there."""
    topics = [
        CreatePartitionsTopic(name=f"none-{number}", count=3, assignments=None)
        for number in range(target.dose(UNKNOWN_TOPICS))
    ]
    request = CreatePartitionsRequest(topics=topics, timeout_ms=1_000, validate_only=False)
    return repeated(target, [frame(request, 3)])


@load("misspelt-configs", prepare=lambda target: create_topics(target, _topics(target)))
def misspelt_configs(target: Target) -> str:
    """IncrementalAlterConfigs with a misspelt key on 24,000 topics."""
    config = IncrementalConfig(name="retention.mss", config_operation=0, value="1")
    resources = [
        IncrementalResource(resource_type=TOPIC_CONFIG, resource_name=name, configs=[config])
        for name in _topics(target)
    ]
    request = IncrementalAlterConfigsRequest(resources=resources, validate_only=False)
    return repeated(target, [frame(request, 1)])


@load("alter-configs", prepare=lambda target: create_topics(target, _topics(target)))
def alter_configs(target: Target) -> str:
    """AlterConfigs of 24,000 topics, to and fro."""
    frames = []
    for value in ("1000000000", "2000000000"):
        config = AlterableConfig(name="retention.ms", value=value)
        resources = [
            AlterConfigsResource(resource_type=TOPIC_CONFIG, resource_name=name, configs=[config])
            for name in _topics(target)
        ]
        frames.append(frame(AlterConfigsRequest(resources=resources, validate_only=False), 2))
    return repeated(target, frames)


@load("create-topics")
def create_many_topics(target: Target) -> str:
    """CreateTopics of 20,000 more, and then more."""
    client = target.client()
    made = 0
    slowest = 0.0
    each = target.dose(20_000)
    for _ in rounds(target):
        if made >= 3 * each:
            time.sleep(0.1)
            continue
        began = time.monotonic()
        topics = [
            CreatableTopic(
                name=f"new-{made + number}",
                num_partitions=1,
                replication_factor=1,
                assignments=[],
                configs=[],
            )
            for number in range(each)
        ]
        answer = client.call(CreateTopicsRequest(topics=topics, timeout_ms=300_000), 7)
        made += sum(topic.error_code == 0 for topic in answer.topics)
        slowest = max(slowest, time.monotonic() - began)
    return f"{made} topics made, slowest request {slowest:.2f} s"


@load("delete-topics", prepare=lambda target: create_topics(target, _topics(target)))
def delete_topics(target: Target) -> str:
    """DeleteTopics of 24,000 in one request, and again of what is no longer there."""
    request = DeleteTopicsRequest(topic_names=_topics(target), timeout_ms=300_000)
    return repeated(target, [frame(request, 5)])


@load(
    "produce-wide",
    prepare=lambda target: create_topics(target, ["wide"], target.dose(PARTITIONS)),
    settings=MANY_PARTITIONS,
)
def produce_wide(target: Target) -> str:
    """Produce to 190,000 partitions in one request."""
    batch = Batch().encode()
    parts = [PartitionProduceData(index=number, records=batch) for number in range(target.dose(PARTITIONS))]
    request = ProduceRequest(
        acks=-1, timeout_ms=60_000, topic_data=[TopicProduceData(name="wide", partition_data=parts)]
    )
    return repeated(target, [frame(request, 9)])


@load(
    "offset-commit",
    prepare=lambda target: create_topics(target, ["wide"], target.dose(PARTITIONS)),
    settings=MANY_PARTITIONS,
)
def offset_commit(target: Target) -> str:
    """OffsetCommit of 190,000 partitions in one request."""
    parts = [
        OffsetCommitRequestPartition(partition_index=number, committed_offset=1, committed_metadata="")
        for number in range(target.dose(PARTITIONS))
    ]
    request = OffsetCommitRequest(
        group_id="wide", member_id="", topics=[OffsetCommitRequestTopic(name="wide", partitions=parts)]
    )
    return repeated(target, [frame(request, 8)])


@load(
    "delete-records",
    prepare=lambda target: create_topics(target, ["wide"], target.dose(PARTITIONS)),
    settings=MANY_PARTITIONS,
)
def delete_records(target: Target) -> str:
    """DeleteRecords of 190,000 partitions in one request."""
    parts = [
        DeleteRecordsPartition(partition_index=number, offset=-1) for number in range(target.dose(PARTITIONS))
    ]
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name="wide", partitions=parts)], timeout_ms=60_000
    )
    return repeated(target, [frame(request, 2)])


@load("busy-crowd", prepare=lambda target: create_topics(target, ["t0"]))
def busy_crowd(target: Target) -> str:
    """100 clients always ask for the configuration of one topic, which takes some tenths of a millisecond."""
    resource = DescribeConfigsResource(
        resource_type=TOPIC_CONFIG, resource_name="t0", configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=[resource], include_documentation=True)
    return repeated(target, [frame(request, 4)], clients=target.dose(CROWD))


@load("metadata-unknown", settings={"auto.create.topics.enable": "false"})
def metadata_unknown(target: Target) -> str:
    """Metadata of 190,000 names that are not there."""
    topics = [MetadataRequestTopic(name=f"no-{number}") for number in range(target.dose(PARTITIONS))]
    return repeated(target, [frame(MetadataRequest(topics=topics), 9)])


@load(
    "metadata-readers",
    prepare=lambda target: create_topics(
        target, [f"w{number}" for number in range(100)], target.dose(READ_PARTITIONS) // 100 + 1
    ),
    settings=MANY_PARTITIONS,
)
def metadata_readers(target: Target) -> str:
    """16 clients read the metadata of 100,000 partitions, over and over."""
    return repeated(target, [frame(MetadataRequest(topics=None), 12)], clients=READERS)


@load("joins", settings={"group.initial.rebalance.delay.ms": "3000"})
def joins(target: Target) -> str:
    """10,000 classic members join one group."""
    subscription = b"\0\1\0\0\0\1\0\4good\xff\xff\xff\xff"
    request = JoinGroupRequest(
        group_id="crowded",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=3_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription)],
    )
    data = frame(request, 3)
    count = target.dose(MEMBERS)
    # One connection for twenty members: the server answers each of them by itself.
    crowd = [target.client() for _ in range(max(1, count // 20))]
    going()
    began = time.monotonic()
    for _ in range(20):
        for client in crowd:
            client.socket.sendall(data)
    joined = 0
    while time.monotonic() < began + target.seconds:
        for client in crowd:
            client.socket.settimeout(0.001)
            try:
                skip_answer(client)
                joined += 1
            except (TimeoutError, AssertionError, OSError):
                continue
        time.sleep(0.05)
    return f"{20 * len(crowd)} joins, {joined} answered"


@load("wake-ups", prepare=lambda target: create_topics(target, ["awaited"]))
def wake_ups(target: Target) -> str:
    """8,000 fetches wait for one partition, and a record comes twice a second."""
    crowd = [target.client() for _ in range(target.dose(WAITING) // 100 + 1)]
    for client in crowd:
        client.socket.settimeout(30)
    woken = 0
    for end in rounds(target):
        waiting = frame(fetch_request("awaited", end, max_wait_ms=20_000), 11)
        for client in crowd:
            client.socket.sendall(waiting * 100)
        time.sleep(0.3)
        produce_many(target, [produce_request("awaited", Batch())])
        for client in crowd:
            for _ in range(100):
                skip_answer(client)
                woken += 1
    return f"{woken} fetches woken"
