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
from typing import TYPE_CHECKING, Final

from broker.loop.call import Call
from broker.loop.slices import Pace, WaitingSteps, begun, emptied_tables, in_thread
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


PARTITIONS_PER_STEP: Final = 50
"""The topics and partitions that are looked at between two looks at the time."""


def handle(broker: Broker, call: Call[DescribeLogDirsRequest]) -> DescribeLogDirsResponse | WaitingSteps:
    """Describe the data directory."""
    steps = _describe(broker, call.request)
    answer: DescribeLogDirsResponse | WaitingSteps = begun(steps)
    return answer


def _describe(broker: Broker, request: DescribeLogDirsRequest) -> WaitingSteps:
    path, disk = broker.store.path, broker.store.disk
    try:
        # A file system that hangs must not hold the loop.
        total_bytes, usable_bytes = yield from in_thread(
            broker.scheduler.offload, lambda: (disk.total_bytes(path), disk.free_bytes(path))
        )
    except DiskError:
        failed = DescribeLogDirsResult(
            error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=broker.data_directory, topics=[]
        )
        return DescribeLogDirsResponse(results=[failed])
    topics = []
    pace = Pace(PARTITIONS_PER_STEP)
    asked: dict[str, dict[int, None]] = {}
    for found in _asked(broker, request, asked):
        if found is not None:
            topic = DescribeLogDirsTopic(name=found[0].name, partitions=[])
            for index in found[1]:
                # A deletion may have come between.
                if index in range(found[0].partition_count) and broker.catalogue.find(topic.name) is found[0]:
                    topic.partitions += _sizes(broker, found[0], index)
                if pace.due():
                    yield None
            if topic.partitions:
                topics.append(topic)
        if pace.due():
            yield None
    yield from emptied_tables(asked)
    directory = DescribeLogDirsResult(
        log_dir=broker.data_directory, topics=topics, total_bytes=total_bytes, usable_bytes=usable_bytes
    )
    return DescribeLogDirsResponse(results=[directory])


def _asked(
    broker: Broker, request: DescribeLogDirsRequest, asked: dict[str, dict[int, None]]
) -> Iterator[tuple[Topic, Iterable[int]] | None]:
    """Yield the topics with the partitions asked for, existing or not; None for each look at others.

    `asked` has them in the end, if any are named.
    """
    if request.topics is None:
        for topic in tuple(broker.catalogue.by_name.values()):
            yield (topic, range(topic.partition_count)) if topic.recorded else None
        return
    for item in request.topics:
        asked.setdefault(item.topic, {}).update(dict.fromkeys(item.partitions))
        yield None
    for name, indexes in asked.items():
        found = broker.catalogue.find(name)
        if found is None:
            yield None
            continue
        yield found, indexes


def _sizes(broker: Broker, topic: Topic, index: int) -> Iterator[DescribeLogDirsPartition]:
    """Yield the size of a partition, if this node has it."""
    partition = broker.topics.here(topic, index)
    if partition is not None:
        yield DescribeLogDirsPartition(
            partition_index=index,
            partition_size=partition.size_bytes,
            offset_lag=0,
            is_future_key=False,
        )
