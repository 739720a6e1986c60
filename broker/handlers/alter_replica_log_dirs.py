"""AlterReplicaLogDirs: v1-2.

Behaviour: every partition is already in the only place it can be.  Asking for this node's data directory
succeeds and does nothing; any other directory answers LOG_DIR_NOT_FOUND.
Differences from Apache Kafka: none known.  Of a partition named twice, the last directory counts, as in
Kafka.
Version notes: v2 flexible.  Source: KIP-113.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker.errors import RequestError
from broker.loop.call import Call
from broker.loop.slices import Pace, Steps, begun, emptied_tables, made_by_group
from protocol.error_codes import ErrorCode
from protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

if TYPE_CHECKING:
    from broker.core import Broker

PARTITIONS_PER_STEP: Final = 100
"""The topics of the request that are looked at between two looks at the time."""

DIRECTORY_LENGTH_MAX: Final = 255
MOVING_SUFFIX_LENGTH: Final = len(".") + 32 + len("-future")
"""The suffix that Kafka adds to a partition's directory while moving it; the whole name has to fit."""


def handle(broker: Broker, call: Call[AlterReplicaLogDirsRequest]) -> AlterReplicaLogDirsResponse | Steps:
    """Check each partition on its own."""
    answer: AlterReplicaLogDirsResponse | Steps = begun(_answer_all(broker, call.request))
    return answer


def _answer_all(broker: Broker, request: AlterReplicaLogDirsRequest) -> Steps:
    wanted: dict[str, dict[int, str]] = {}
    pace = Pace(PARTITIONS_PER_STEP)
    for directory in request.dirs:
        for topic in directory.topics:
            if topic.partitions:
                wanted.setdefault(topic.name, {}).update(dict.fromkeys(topic.partitions, directory.path))
            if pace.due():
                yield
        if pace.due():
            yield
    results = yield from made_by_group(
        wanted.items(),
        lambda topic: topic[1].items(),
        lambda topic, item: AlterReplicaLogDirPartitionResult(
            partition_index=item[0], error_code=_judge(broker, topic[0], *item)
        ),
        lambda topic, partitions: AlterReplicaLogDirTopicResult(topic_name=topic[0], partitions=partitions),
    )
    yield from emptied_tables(wanted)
    return AlterReplicaLogDirsResponse(results=results)


def _judge(broker: Broker, name: str, index: int, path: str) -> int:
    if len(f"{name}-{index}") + MOVING_SUFFIX_LENGTH > DIRECTORY_LENGTH_MAX:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if path != broker.data_directory:
        return ErrorCode.LOG_DIR_NOT_FOUND
    try:
        broker.topics.partition(broker.find_topic(name), index)
    except RequestError as error:
        return error.code
    return ErrorCode.NONE
