"""The leader epoch of a node that is not alone: each of its starts begins one, durably, in all of its logs.

What the process before has sent to other nodes may arrive after this one has begun: they refuse the ends of
transactions that have an older epoch. A node that is alone sends nothing, and needs none.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from broker.storage.vnode import Vnode
from wal.errors import WalError
from wal.stream import EPOCH_MAX, EPOCH_ZERO_MS, LOG_STREAM

logger = logging.getLogger("kawal.broker")


def begin_node_epoch(vnodes: Sequence[Vnode], now_ms: int, wall_ms: int) -> None:
    """Begin an epoch above all that these logs know; one that takes no writes keeps its own.

    It is a time, in seconds: so it is above that of the node that has led a vnode while there were more nodes
    or fewer, if the clock is right.  Raises: DiskError.
    """
    known = max((vnode.log.largest_leader_epoch() for vnode in vnodes), default=0)
    wanted = max(known + 1, (wall_ms - EPOCH_ZERO_MS) // 1_000)
    # As much is left as a clock that is wrong may take.
    epoch = min(wanted, known + 1 + (EPOCH_MAX - 1 - known) // 2)
    for vnode in vnodes:
        log = vnode.log
        try:
            log.set_leader_epoch(LOG_STREAM, epoch)
        except WalError as error:
            logger.warning("leader epoch %d is not in the log of vnode %s: %s", epoch, vnode.name, error)
            continue
        while (job := log.begin_sync(now_ms)) is not None:
            job.run()
            log.synced(job, now_ms)
