"""DescribeLogDirs (35): the disk space that partitions take."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int16, Int32, Int64, String, message, struct, wire


@struct
class DescribableLogDirTopic:
    """The partitions of one topic."""

    topic: str = wire(String)
    partitions: list[int] = wire(ArrayOf(Int32))


@message(api=ApiKey.DESCRIBE_LOG_DIRS, versions="1-5", flexible="2+", hot=True, elements_max=200_000)
class DescribeLogDirsRequest:
    """A request for the sizes of some topics, or with null of all.

    Source: KIP-113.
    """

    topics: list[DescribableLogDirTopic] | None = wire(ArrayOf(DescribableLogDirTopic), nullable="0+")


@struct
class DescribeLogDirsPartition:
    """A partition and its size."""

    partition_index: int = wire(Int32)
    partition_size: int = wire(Int64)
    offset_lag: int = wire(Int64)
    is_future_key: bool = wire(Bool)


@struct
class DescribeLogDirsTopic:
    """The partitions of one topic."""

    name: str = wire(String)
    partitions: list[DescribeLogDirsPartition] = wire(ArrayOf(DescribeLogDirsPartition))


@struct
class DescribeLogDirsResult:
    """A log directory."""

    error_code: int = wire(Int16, default=0)
    log_dir: str = wire(String)
    topics: list[DescribeLogDirsTopic] = wire(ArrayOf(DescribeLogDirsTopic))
    total_bytes: int = wire(Int64, "4+", default=-1, ignorable=True)  # -1: unknown
    usable_bytes: int = wire(Int64, "4+", default=-1, ignorable=True)  # -1: unknown
    is_cordoned: bool = wire(Bool, "5+", default=False, ignorable=True)


@message(api=ApiKey.DESCRIBE_LOG_DIRS, versions="1-5", flexible="2+", hot=True)
class DescribeLogDirsResponse:
    """The log directories and their contents.

    Source: KIP-113, KIP-784 (v3 top-level error), KIP-827 (v4 size of the disk), KIP-1066 (v5 cordoned).
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, "3+", default=0, ignorable=True)
    results: list[DescribeLogDirsResult] = wire(ArrayOf(DescribeLogDirsResult))
