"""The search for a batch by its time, in which threads read what must come from the disk.

    extents, by their largest times     indexes in memory, or read by a thread, which the search goes on after
    the extent that may have it         its bytes from memory, or read by a thread
    its batches                         on the event loop: an extent has 128 KiB at most, or one batch

A lookup in a cold log read indexes of some megabytes and extents on the event loop, as long as the disk took.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Final

from broker.loop.slices import Offload, Until, in_thread
from broker.storage.parts import joined_in_thread
from broker.storage.remote_waits import when_fetched
from wal.errors import IndexNotLoaded, OffsetOutOfRange, RemoteWaits
from wal.lookup import StreamExtent, TimeHit
from wal.reader import batches

if TYPE_CHECKING:
    from wal.log import VnodeLog

INDEX_LOADS_MAX: Final = 40
"""The indexes that threads read for one step of a search, after which the loop does: other reads may take the
place of each as soon as it is there."""

Search = Generator[Until | None, None, TimeHit | None]


def first_since(
    log: VnodeLog, stream_id: int, timestamp_ms: int, *, from_offset: int, offload: Offload
) -> Search:
    """Return the first visible batch at or after an offset with a record at or after the time.

    Raises: WalError, DiskError.
    """
    offset, tries = from_offset, 0
    while True:
        try:
            found = log.next_extent_since(
                stream_id, timestamp_ms, from_offset=offset, may_wait=tries >= INDEX_LOADS_MAX
            )
            if isinstance(found, StreamExtent):
                start = max(found.base_offset, offset, log.log_start(stream_id))
                read = log.read(stream_id, start, found.size_bytes, may_wait=tries >= INDEX_LOADS_MAX)
        except IndexNotLoaded as cold:
            if cold.offload is not None:
                # It is in the object store, and so may be those after it.
                return (yield from _remote(log, stream_id, timestamp_ms, offset))
            tries += 1
            missing = cold
        except RemoteWaits:
            return (yield from _remote(log, stream_id, timestamp_ms, offset))
        except OffsetOutOfRange:
            # Meanwhile these records were deleted.
            offset = max(offset, log.log_start(stream_id))
            continue
        else:
            if found is None:
                return None
            tries = 0
            if isinstance(found, int):
                offset = found
                yield None
                continue
            data = yield from joined_in_thread(read.parts, offload)
            if (hit := _in(data, offset, timestamp_ms)) is not None:
                return hit
            offset = max(found.next_offset, read.next_offset)
            continue
        yield from in_thread(offload, missing.load)
        missing.adopt()


def newest(log: VnodeLog, stream_id: int, *, offload: Offload) -> Search:
    """Return the first visible batch that has the stream's largest timestamp; None if it is empty.

    Raises: WalError, DiskError.
    """
    found = None
    for tries in range(INDEX_LOADS_MAX + 1):
        try:
            found = log.newest_time(stream_id, may_wait=tries == INDEX_LOADS_MAX)
            break
        except IndexNotLoaded as cold:
            missing = cold
        if missing.offload is not None:
            found = yield from when_fetched(lambda: log.newest_time(stream_id))
            break
        yield from in_thread(offload, missing.load)
        missing.adopt()
    if found is None:
        return None
    timestamp_ms, offset = found
    return (yield from first_since(log, stream_id, timestamp_ms, from_offset=offset, offload=offload))


def _remote(log: VnodeLog, stream_id: int, timestamp_ms: int, offset: int) -> Search:
    return (yield from when_fetched(lambda: log.find_timestamp(stream_id, timestamp_ms, from_offset=offset)))


def _in(data: bytes, offset: int, timestamp_ms: int) -> TimeHit | None:
    """Return the first of these batches that reaches beyond an offset and has a record since the time."""
    base_offset = None
    for position, size, next_offset, max_timestamp in batches(data):
        if base_offset is None:
            base_offset = int.from_bytes(data[position : position + 8], "big")
        if next_offset > offset and max_timestamp >= timestamp_ms:
            return TimeHit(
                base_offset, next_offset, max_timestamp, memoryview(data)[position : position + size]
            )
        base_offset = next_offset
    return None
