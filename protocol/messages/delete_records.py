"""DeleteRecords (21): drop the beginning of partitions."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int16, Int32, Int64, String, message, struct, wire


@struct
class DeleteRecordsPartition:
    """The offset at which one partition is to begin."""

    partition_index: int = wire(Int32)
    offset: int = wire(Int64)  # -1: the high watermark


@struct
class DeleteRecordsTopic:
    """The partitions of one topic."""

    name: str = wire(String)
    partitions: list[DeleteRecordsPartition] = wire(ArrayOf(DeleteRecordsPartition))


@message(api=ApiKey.DELETE_RECORDS, versions="0-2", flexible="2+", hot=True, elements_max=200_000)
class DeleteRecordsRequest:
    """A request to delete all records before an offset of each partition.

    Source: KIP-107.
    """

    topics: list[DeleteRecordsTopic] = wire(ArrayOf(DeleteRecordsTopic))
    timeout_ms: int = wire(Int32)


@struct
class DeleteRecordsPartitionResult:
    """The outcome for one partition."""

    partition_index: int = wire(Int32)
    low_watermark: int = wire(Int64)  # -1: unknown
    error_code: int = wire(Int16, default=0)


@struct
class DeleteRecordsTopicResult:
    """The outcomes for one topic."""

    name: str = wire(String)
    partitions: list[DeleteRecordsPartitionResult] = wire(ArrayOf(DeleteRecordsPartitionResult))


@message(api=ApiKey.DELETE_RECORDS, versions="0-2", flexible="2+", hot=True)
class DeleteRecordsResponse:
    """The new first offset of each partition.

    Source: KIP-107.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    topics: list[DeleteRecordsTopicResult] = wire(ArrayOf(DeleteRecordsTopicResult))
