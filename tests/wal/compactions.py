"""A pass of compaction as its driver makes it, and a reader's view of a stream."""

from __future__ import annotations

from collections.abc import Callable

from tests.wal.logs import batch, commit, open_log, read_all
from wal.format import BATCH_PREFIX
from wal.log import VnodeLog
from wal.memory_disk import MemoryDisk


def stored(data: bytes) -> dict[int, bytes]:
    """Return batches by base offset; fail on bytes that are not a batch."""
    found: dict[int, bytes] = {}
    position = 0
    while position < len(data):
        prefix = BATCH_PREFIX.unpack_from(data, position)
        end = position + prefix[1] + 12
        assert prefix[0] > max(found, default=-1), "offsets ascend"
        found[prefix[0]] = data[position:end]
        position = end
    assert position == len(data)
    return found


def seen(log: VnodeLog, stream_id: int, max_bytes: int = 1 << 20) -> dict[int, bytes]:
    """Return all visible batches of a stream, by base offset."""
    return stored(read_all(log, stream_id, max_bytes))


def append_copies(log: VnodeLog, stream_id: int, clean_end: int, keep: Callable[[int], bool]) -> int:
    """Begin a pass and append the batches below `clean_end` that are kept; return the id of the copies."""
    copies_id = log.begin_copies()
    assert copies_id is not None
    for base, data in seen(log, stream_id).items():
        if base < clean_end and keep(base):
            log.append_copy(copies_id, data)
    return copies_id


def compact(log: VnodeLog, stream_id: int, clean_end: int, keep: Callable[[int], bool]) -> None:
    """Make a whole pass, durable at its end."""
    copies_id = append_copies(log, stream_id, clean_end, keep)
    commit(log)
    log.let_copies_count(stream_id, clean_end=clean_end, copies_id=copies_id)
    commit(log)


def filled(disk: MemoryDisk, batches: int = 20, records: int = 2) -> VnodeLog:
    """Return a log: stream 7 has batches of two records at 0, 2, 4 ..., stream 8 as many between them."""
    log = open_log(disk)
    for number in range(batches):
        log.append(7, batch(records, body=b"seven-%d" % number, timestamp=1_000 + number))
        log.append(8, batch(1, body=b"eight-%d" % number))
        if number % 3 == 2:
            commit(log)
    commit(log)
    return log


def every_fifth(base: int) -> bool:
    return base % 10 == 0
