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
from protocol.error_codes import ErrorCode
from protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

if TYPE_CHECKING:
    from broker.core import Broker

DIRECTORY_LENGTH_MAX: Final = 255
MOVING_SUFFIX_LENGTH: Final = len(".") + 32 + len("-future")
"""The suffix that Kafka adds to a partition's directory while moving it; the whole name has to fit."""


def handle(broker: Broker, call: Call[AlterReplicaLogDirsRequest]) -> AlterReplicaLogDirsResponse:
    """Check each partition on its own."""
    wanted: dict[str, dict[int, str]] = {}
    for directory in call.request.dirs:
        for topic in directory.topics:
            if topic.partitions:
                wanted.setdefault(topic.name, {}).update(dict.fromkeys(topic.partitions, directory.path))
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic_name=name,
                partitions=[
                    AlterReplicaLogDirPartitionResult(
                        partition_index=index, error_code=_judge(broker, name, index, path)
                    )
                    for index, path in paths.items()
                ],
            )
            for name, paths in wanted.items()
        ]
    )


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
