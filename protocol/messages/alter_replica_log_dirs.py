"""AlterReplicaLogDirs (34): move replicas to other log directories of a broker."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, String, message, struct, wire


@struct
class AlterReplicaLogDirTopic:
    """The partitions of one topic."""

    name: str = wire(String)
    partitions: list[int] = wire(ArrayOf(Int32))


@struct
class AlterReplicaLogDir:
    """A directory and the partitions to put into it."""

    path: str = wire(String)
    topics: list[AlterReplicaLogDirTopic] = wire(ArrayOf(AlterReplicaLogDirTopic))


@message(api=ApiKey.ALTER_REPLICA_LOG_DIRS, versions="1-2", flexible="2+", hot=True, elements_max=200_000)
class AlterReplicaLogDirsRequest:
    """A request to put replicas into log directories.

    Source: KIP-113.
    """

    dirs: list[AlterReplicaLogDir] = wire(ArrayOf(AlterReplicaLogDir))


@struct
class AlterReplicaLogDirPartitionResult:
    """The outcome for one partition."""

    partition_index: int = wire(Int32)
    error_code: int = wire(Int16, default=0)


@struct
class AlterReplicaLogDirTopicResult:
    """The outcomes for one topic."""

    topic_name: str = wire(String)
    partitions: list[AlterReplicaLogDirPartitionResult] = wire(ArrayOf(AlterReplicaLogDirPartitionResult))


@message(api=ApiKey.ALTER_REPLICA_LOG_DIRS, versions="1-2", flexible="2+", hot=True)
class AlterReplicaLogDirsResponse:
    """The outcome for each partition.

    Source: KIP-113.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    results: list[AlterReplicaLogDirTopicResult] = wire(ArrayOf(AlterReplicaLogDirTopicResult))
