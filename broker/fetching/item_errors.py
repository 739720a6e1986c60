"""Answers to partitions of a fetch without records: none is new, refused, of another epoch, or unreadable."""

from __future__ import annotations

import logging

from broker.errors import RequestError
from broker.fetching.fetch_items import FetchItem
from broker.storage.leader_epochs import NO_EPOCH, end_of_epoch
from broker.storage.partition import Partition
from protocol.error_codes import ErrorCode
from protocol.messages.fetch import EpochEndOffset, PartitionData
from wal.errors import RemoteReadError

logger = logging.getLogger("kawal.broker")

_READ_ERRORS = frozenset(
    {
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


def divergence(item: FetchItem, partition: Partition, server_epoch: int) -> EpochEndOffset | None:
    """Return where the client's log and ours part.  Raises: RequestError for an epoch our log never had."""
    epoch, end_offset = end_of_epoch(partition, item.last_fetched_epoch, server_epoch)
    if epoch == NO_EPOCH:
        raise RequestError(ErrorCode.OFFSET_OUT_OF_RANGE)
    if epoch == partition.leader_epoch(server_epoch):
        end_offset = partition.log_end
    if epoch == item.last_fetched_epoch and item.fetch_offset <= end_offset:
        return None
    return EpochEndOffset(epoch=epoch, end_offset=end_offset)


def empty_data(item: FetchItem, partition: Partition, *, read_committed: bool) -> PartitionData:
    """Return the answer to a partition as long as it has no records."""
    return PartitionData(
        partition_index=item.index,
        high_watermark=partition.high_watermark,
        last_stable_offset=partition.last_stable_offset,
        log_start_offset=partition.log_start,
        aborted_transactions=[] if read_committed else None,
        records=b"",
    )


def error_data(item: FetchItem, code: ErrorCode) -> PartitionData:
    """Return the answer to a partition that is refused."""
    return PartitionData(
        partition_index=item.index,
        error_code=code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        # Kafka leaves null only where it has tried to read.
        aborted_transactions=None if code in _READ_ERRORS else [],
        records=b"",
    )


def remote_error(item: FetchItem, error: RemoteReadError) -> RequestError:
    """Return what a client is told of an error of the object store: what Kafka's tiers tell.

    Source: DelayedRemoteFetch, and Errors.forException of an error that clients do not know.
    """
    logger.warning("fetch of %s-%d from offset %d: %s", item.name, item.index, item.fetch_offset, error)
    return RequestError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error))
