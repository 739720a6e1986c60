"""DescribeLogDirs: v1-5.

Behaviour: one directory, this node's data directory, with the size of every partition asked for (null: all);
unknown topics and partitions are left out, as in Kafka.  A partition's size is the bytes of its batches; a
segment file holds batches of many partitions.
Differences from Apache Kafka: none known; no replica ever lags or moves.
Version notes: v2 flexible; v3 top-level error (KIP-784); v4 size of the file system (KIP-827); v5 cordoned
directories (KIP-1066; there are none).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from broker.loop.call import Call
from broker.loop.slices import ITEMS_PER_STEP, Steps, in_slices, made_of
from protocol.error_codes import ErrorCode
from protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from wal.disk import DiskError

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from broker.core import Broker


def handle(broker: Broker, call: Call[DescribeLogDirsRequest]) -> DescribeLogDirsResponse | Steps:
    """Describe the data directory."""
    steps = _describe(broker, call.request)
    answer: DescribeLogDirsResponse | Steps = in_slices(steps, broker.catalogue.partition_count)
    return answer


def _describe(broker: Broker, request: DescribeLogDirsRequest) -> Steps:
    path, disk = broker.store.path, broker.store.disk
    try:
        total_bytes, usable_bytes = disk.total_bytes(path), disk.free_bytes(path)
    except DiskError:
        failed = DescribeLogDirsResult(
            error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=broker.data_directory, topics=[]
        )
        return DescribeLogDirsResponse(results=[failed])
    topics = []
    for topic, indexes in tuple(_asked(broker, request)):
        sizes = yield from made_of(indexes, partial(_size, broker, topic))
        topics.append(DescribeLogDirsTopic(name=topic.name, partitions=sizes))
        if not len(topics) % ITEMS_PER_STEP:
            yield
    directory = DescribeLogDirsResult(
        log_dir=broker.data_directory, topics=topics, total_bytes=total_bytes, usable_bytes=usable_bytes
    )
    return DescribeLogDirsResponse(results=[directory])


def _asked(broker: Broker, request: DescribeLogDirsRequest) -> Iterator[tuple[Topic, Iterable[int]]]:
    """Yield the topics with those of the requested partitions that exist."""
    if request.topics is None:
        for topic in broker.catalogue.by_name.values():
            if topic.recorded:
                yield topic, range(topic.partition_count)
        return
    asked: dict[str, dict[int, None]] = {}
    for item in request.topics:
        asked.setdefault(item.topic, {}).update(dict.fromkeys(item.partitions))
    for name, indexes in asked.items():
        found = broker.catalogue.find(name)
        known = [] if found is None else [index for index in indexes if 0 <= index < found.partition_count]
        if found is not None and known:
            yield found, known


def _size(broker: Broker, topic: Topic, index: int) -> DescribeLogDirsPartition:
    partition = broker.topics.partition(topic, index)
    return DescribeLogDirsPartition(
        partition_index=index,
        partition_size=partition.size_bytes,
        offset_lag=0,
        is_future_key=False,
    )
