"""Leader epochs: one node leads every partition for life, so all have one epoch, which clients must know.

It is the largest of all logs, and constant while the server runs.  A log begins a higher one in its streams
where offsets may be given out again: after a repair, and after a crash with durability `os`.
Source: KIP-320, LeaderEpochFileCache.endOffsetFor.
"""

from __future__ import annotations

from typing import Final

from broker.errors import RequestError
from broker.storage.partition import Partition
from protocol.error_codes import ErrorCode

NO_EPOCH: Final = -1
"""The epoch of a client that knows none."""


def check_leader_epoch(epoch: int, current: int) -> None:
    """Compare the client's leader epoch with ours.

    Raises: RequestError, with UNKNOWN_LEADER_EPOCH above ours and FENCED_LEADER_EPOCH below it.
    """
    if epoch not in (NO_EPOCH, current):
        later = epoch > current
        raise RequestError(ErrorCode.UNKNOWN_LEADER_EPOCH if later else ErrorCode.FENCED_LEADER_EPOCH)


def end_of_epoch(partition: Partition, epoch: int, current: int) -> tuple[int, int]:
    """Return the largest epoch of the partition's records up to `epoch`, and the offset at which it ends.

    Both are -1 for an epoch that this node never had.
    """
    if not 0 <= epoch <= current:
        return NO_EPOCH, -1
    found, end = 0, partition.high_watermark
    for begun, start in partition.leader_epochs():
        if begun > epoch:
            return found, start
        found = begun
    return (current if epoch == current else found), end


def epoch_of(partition: Partition, offset: int, current: int) -> int:
    """Return the epoch of the record at an offset; at the end of the log, that of the next one."""
    if offset >= partition.high_watermark:
        return current
    return max((epoch for epoch, start in partition.leader_epochs() if start <= offset), default=0)
