"""Teaching the tags of keys: a history is shown the batches of a partition, as the log has them now."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Final

from broker.loop.slices import Offload, Until, WaitingSteps
from broker.storage.parts import joined_in_thread
from broker.view_topics.scanned_view import SCAN_BYTES, is_aborted
from broker.view_topics.view_slices import SliceBudget
from protocol.records import iter_batches, read_batch_header

if TYPE_CHECKING:
    from broker.storage.partition import Partition
    from views.tag_history import BatchTags, TagHistory

Filtering = Callable[[memoryview, "BatchTags", int], WaitingSteps]
"""Evaluates a batch of the partition of that number, in slices, and lets the tags learn from it."""

BYTES_PER_OFFSET: Final = 1024
"""Bytes read for each offset: often only the markers of transactions are missing."""


def teach(
    filtering: Filtering,
    budget: SliceBudget,
    offload: Offload,
    partition: Partition,
    history: TagHistory,
    start: int,
    end: int,
) -> WaitingSteps:
    """Show a history the batches between two offsets that it has not learned yet.

    If another fetch is teaching it a batch, the rest is left: `history.end` is below `end` then.
    Raises: OffsetOutOfRange, WalError, DiskError.
    """
    offset = max(start, partition.log_start)
    while offset < end:
        size_bytes = min(SCAN_BYTES, (end - offset) * BYTES_PER_OFFSET)
        batches = yield from read_batches(partition, offset, size_bytes, offload)
        if not batches:
            break
        for batch, is_hidden in batches:
            header = read_batch_header(batch)
            if header.base_offset >= end:
                offset = end
                break
            offset = header.last_offset + 1
            if offset <= history.end:
                continue
            if history.is_busy(header.base_offset):
                return
            if not is_hidden:
                yield from taught(filtering, batch, history, partition.index)
            if budget.spend(records=header.record_count, size_bytes=header.size_bytes):
                yield None
        offset = max(offset, partition.log_start)
    if not history.is_busy(max(history.end, offset)):
        history.passed(end)


def read_batches(
    partition: Partition, offset: int, max_bytes: int, offload: Offload
) -> Generator[Until, None, list[tuple[memoryview, bool]]]:
    """Return the batches at an offset, and of each whether it is hidden from views."""
    log, stream_id = partition.vnode.log, partition.stream_id
    result = log.read(stream_id, offset, max_bytes)
    aborted = log.producers(stream_id).aborted_between(offset, result.next_offset)
    data = yield from joined_in_thread(result.parts, offload)
    batches = []
    for batch in iter_batches(data):
        header = read_batch_header(batch)
        batches.append((batch, header.is_control or is_aborted(header, aborted)))
    return batches


def taught(filtering: Filtering, batch: memoryview, history: TagHistory, index: int) -> WaitingSteps:
    """Evaluate a batch, which the history learns unless it knows it; return a `Filtered`."""
    header = read_batch_header(batch)
    tags = history.open(header.base_offset)
    is_done = False
    try:
        found = yield from filtering(batch, tags, index)
        is_done = True
    finally:
        # The client may have left: the next fetch evaluates the batch from the beginning.
        if not is_done:
            tags.abandon()
    tags.commit(header.last_offset + 1)
    return found
