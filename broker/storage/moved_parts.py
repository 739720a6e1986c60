"""A batch whose records belong to several partitions, stored in all of them at once."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from broker.config.topic_settings import TopicSettings
from broker.errors import RequestError
from broker.storage.batch_changes import Changed
from broker.storage.closed import alias_of, entry_of
from broker.storage.deduplication import Judged
from broker.storage.partition import Partition
from broker.storage.produce_guards import check_produce
from broker.storage.routing import Router
from protocol.error_codes import ErrorCode
from protocol.records import BatchHeader, read_batch_header
from wal.named_producers import NamedWrite
from wal.stream_producers import ProducerStamp, sequenceless

META_ENTRIES: int = 2
"""The most entries beside each batch: the numbers of its named producers, and the mark of a ledger."""


class TransactionCheck(Protocol):
    """Says which transactional batches may be stored."""

    def check(self, partition: Partition, header: BatchHeader) -> None:
        """Check that a batch is part of its producer's open transaction.  Raises: RequestError."""


class Targets(NamedTuple):
    """The way to the partitions that records are moved to, and what is asked there."""

    router: Router
    admission: TransactionCheck | None
    settings: TopicSettings


def append_parts(
    partition: Partition,
    header: BatchHeader,
    changed: Changed | memoryview,
    new: Judged,
    stamp: ProducerStamp | None,
    targets: Targets,
) -> tuple[tuple[Partition, int], ...]:
    """Append a batch and those moved from it; return where the moved ones went, each with its size.

    All lie on one vnode, and in one frame of its log. Without a `stamp` an empty rest is left out.
    Raises: RequestError, and the log's errors; nothing was appended.
    """
    changed = changed if isinstance(changed, Changed) else Changed(changed)
    parts = [(targets.router.partition(index), batch) for index, batch in changed.parts]
    for target, batch in parts:
        assert target.vnode is partition.vnode, "partitions that split lie on one vnode"
        check_produce(target, read_batch_header(batch), targets.settings)
        if header.is_transactional:
            assert targets.admission is not None
            targets.admission.check(target, header)
    _keep_together(partition, changed, is_whole=stamp is None)
    vnode = partition.vnode
    if stamp is not None and targets.router.closed is not None:
        vnode.log.append(partition.stream_id, entry_of(header), producer=alias_of(stamp))
    elif stamp is not None or read_batch_header(changed.rest).record_count:
        vnode.log.append(partition.stream_id, changed.rest, producer=stamp, named=new.write)
    for target, batch in parts:
        named: NamedWrite | None = new.moved_writes.get(target.index)
        marked = sequenceless(stamp, read_batch_header(batch).record_count)
        appended = vnode.log.append(target.stream_id, batch, producer=marked, named=named)
        vnode.last_version = appended.version
    vnode.repeated_records += len(new.dropped)
    return tuple((target, len(batch)) for target, batch in parts)


def _keep_together(partition: Partition, changed: Changed, *, is_whole: bool) -> None:
    """Have all of it join one frame.  Raises: RequestError, if an idempotent producer's is too large."""
    log = partition.vnode.log
    batches = [changed.rest, *(batch for _, batch in changed.parts)]
    size_bytes = sum(map(len, batches))
    limit = log.options.frame_bytes_max
    if size_bytes > limit and not is_whole:
        raise RequestError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"the batch belongs to {len(batches)} partitions, and takes {size_bytes} bytes there; what is"
            f" stored in several at once has at most {limit}",
        )
    records = sum(read_batch_header(batch).last_offset_delta + 1 for batch in batches)
    entries = len(batches) * (1 + META_ENTRIES)
    log.keep_together(size_bytes, entries=entries, records=records + entries)
