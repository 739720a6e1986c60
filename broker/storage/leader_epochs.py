"""Leader epochs: one node leads every partition for life, so nearly all have one, which clients must know.

It is the largest of all logs, and constant while the server runs.  A log begins a higher one in its streams
where offsets may be given out again: after a repair, and after a crash with durability `os`.  A partition
whose batches are counted has epochs of its own above it, its ledgers (broker/storage/counted_partition.py),
and one that was split begins an epoch, so that clients look at the metadata again and find the new partition.
Source: KIP-320, LeaderEpochFileCache.endOffsetFor.
"""

from __future__ import annotations

from typing import Final

from broker.errors import RequestError
from broker.storage.partition import Partition
from protocol.error_codes import ErrorCode

NO_EPOCH: Final = -1
"""The epoch of a client that knows none."""


def check_leader_epoch(partition: Partition, epoch: int, server_epoch: int, *, is_alone: bool = True) -> None:
    """Compare the client's leader epoch with the partition's.

    Epoch 0 of a node that is not alone is no epoch: such a node begins a higher one at each start
    (node_epoch.py), others that do not know it yet name none in Metadata, and librdkafka makes 0 of that.
    Source: librdkafka 2.16, rd_kafka_broker_fetch_toppars: "send 0 instead".
    Raises: RequestError, with UNKNOWN_LEADER_EPOCH above ours and FENCED_LEADER_EPOCH below it.
    """
    if epoch == NO_EPOCH or (not epoch and not is_alone):
        return
    if epoch == server_epoch and partition.least_epoch < 0:
        return
    if epoch < partition.oldest_epoch(server_epoch):
        raise RequestError(ErrorCode.FENCED_LEADER_EPOCH)
    if epoch > partition.leader_epoch(server_epoch):
        raise RequestError(ErrorCode.UNKNOWN_LEADER_EPOCH)


def end_of_epoch(partition: Partition, epoch: int, server_epoch: int) -> tuple[int, int]:
    """Return the largest epoch of the partition's records up to `epoch`, and the offset at which it ends.

    Both are -1 for an epoch that this node never had.
    """
    current = partition.leader_epoch(server_epoch)
    if not 0 <= epoch <= current:
        return NO_EPOCH, -1
    found, end = partition.epoch_up_to(epoch)
    return (current, partition.counted_end) if epoch == current else (found, end)


def epoch_of(partition: Partition, offset: int, server_epoch: int) -> int:
    """Return the epoch of the record at an offset; at the end of the log, that of the next one."""
    if offset >= partition.counted_end:
        return partition.leader_epoch(server_epoch)
    return partition.epoch_at(offset)
