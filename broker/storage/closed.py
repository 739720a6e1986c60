"""Partitions that are closed: they have a successor on another vnode, which gets what is sent to them.

    sent to 1 (vnode B)   -->   its successor 3 (vnode A)    the sequence, and records without a key
                          -->   2, 3, 4, ... (vnode A)       records with keys, by the tree

All of that lies in one frame of one log. But clients go on to count sequences where they send, and may send
to the successor, too, with a sequence of its own. So the entry has the producer's id with a bit that ids
never have: two sequences, in one partition, that do not meet. What was written before the closing is known by
the producer's state in the closed partition; nothing adds to that any more but markers of transactions, which
raise its epoch. That state must be durable before the first batch is taken here (outlets.py in the
catalogue): else a crash could lose a batch that later ones, which are in another log, were checked to follow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from broker.errors import storage_error
from broker.loop.slices import Until
from broker.storage.deduplication import Judged
from protocol.error_codes import ErrorCode
from protocol.record_writer import left_behind_batch
from protocol.records import TRANSACTIONAL, BatchHeader
from wal.producer_errors import OutOfOrderSequence
from wal.stream_producers import Duplicate, New, ProducerStamp

if TYPE_CHECKING:
    from broker.storage.partition import Partition
    from broker.storage.vnode import Vnode

ALIAS: Final = 1 << 61
"""The bit; ids that servers give out count from 0."""


def alias_of(stamp: ProducerStamp) -> ProducerStamp:
    """Return the stamp under which a successor keeps a sequence of its closed partition."""
    return stamp._replace(producer_id=stamp.producer_id | ALIAS, is_transactional=False)


def is_alias(producer_id: int) -> bool:
    """Whether a producer's id is one of a closed partition, that no client knows."""
    return producer_id >= 0 and bool(producer_id & ALIAS)


def check_sequence(closed: Partition, outlet: Partition, stamp: ProducerStamp) -> New | Duplicate:
    """Return whether a batch that was sent to a closed partition is the next one, or stored already.

    A producer that the successor has forgotten, as it has too many others, may begin anywhere, as any unknown
    producer may: its state in the closed partition is older, but had no others to make room for. Idleness
    makes the closed partition forget it no later than the successor.

    Raises: ProducerError; RequestError, if the end of the closed partition's log is damaged.
    """
    if (damage := closed.vnode.log.damaged_end) is not None:
        raise storage_error(damage)
    alias = alias_of(stamp)
    since = outlet.vnode.log.producers(outlet.stream_id)
    is_known = alias.producer_id in since.states
    try:
        before = closed.vnode.log.producers(closed.stream_id).check(stamp)
    except OutOfOrderSequence:
        if not is_known and not outlet.vnode.log.forgets_producers(outlet.stream_id):
            raise
    else:
        if isinstance(before, Duplicate) or not is_known:
            return before
    return since.check(alias)


def entry_of(header: BatchHeader) -> memoryview:
    """Return the entry that a batch leaves in the successor of the closed partition that it was sent to."""
    alias = header._replace(
        producer_id=header.producer_id | ALIAS, attributes=header.attributes & ~TRANSACTIONAL
    )
    return memoryview(left_behind_batch(alias))


def all_moved(new: Judged, outlet: int, count: int) -> Judged:
    """Return the verdict on a batch of `count` records of which the entry alone is left, as another batch."""
    gone = new.dropped.union(*(indexes for _, indexes in new.moved))
    left = tuple(index for index in range(count) if index not in gone)
    if not left:
        return new
    writes = new.moved_writes if new.write is None else {**new.moved_writes, outlet: new.write}
    return Judged(new.dropped, None, tuple(sorted((*new.moved, (outlet, left)))), writes)


def until_durable(vnode: Vnode, now_ms: int) -> Until:
    """Wait until all that was appended to a vnode so far is durable, or lost."""

    def start(resume: Callable[[], None]) -> None:
        vnode.wait_durable(vnode.last_version, _Resumed(resume), now_ms)

    return Until(start)


class _Resumed:
    """A wait for appends, however they are settled."""

    def __init__(self, resume: Callable[[], None]) -> None:
        self._resume = resume

    def appended(self, _vnode: Vnode, _error: ErrorCode | None, _now_ms: int) -> None:
        """Go on; what waited looks again."""
        self._resume()
