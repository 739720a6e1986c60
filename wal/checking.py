"""The comparison of stored batches with their CRCs, once, before their bytes are handed out.

What this process wrote, or has read whole during recovery, is trusted. Other extents are compared at their
first use, and `SegmentIndex.checked` remembers the outcome as long as the index is in memory:

    small and in the page cache     by the reader, on the event loop
    large, or on the device only    by `load`, in the thread that reads the bytes before they are sent
    bad, or unreadable              noted: the next reader raises LogDamaged, and the log is scrubbed

A batch's own CRC covers it from byte 21 on. What is before that follows from the index and the leader epoch;
where it does not, as between copies, the entry table of the frame decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from crc32c import crc32c

from wal.disk import Buffer, File
from wal.disk_errors import DiskError
from wal.errors import LogDamaged
from wal.format import (
    BATCH_CRC_START,
    BATCH_PREFIX,
    COPIES_BIT,
    ENTRY,
    HEADER_BYTES,
    decode_frame_header,
    table_seed,
)
from wal.index import SegmentIndex
from wal.scan import batch_is_good
from wal.segment import Segment
from wal.stream import Stream
from wal.verdicts import BAD, GOOD


@dataclass(slots=True)
class ExtentRef:
    """An extent: a row of a segment's index."""

    segment: Segment
    index: SegmentIndex
    row: int
    stream: Stream

    @property
    def range(self) -> tuple[int, int]:
        """The position of its first byte, and of the one after its last."""
        start = self.index.position[self.row]
        return start, start + self.index.size[self.row]


def load(file: File, extents: Iterable[ExtentRef]) -> None:
    """Read extents and compare them with their CRCs; in a thread, as it waits for the device.

    Raises: LogDamaged; then the extent at fault is marked, and no reader gets it any more.
    """
    for extent in extents:
        start, end = extent.range
        try:
            data = read_again(file, start, end - start)
        except DiskError as error:
            extent.index.mark(extent.row, BAD)
            raise LogDamaged(extent.segment.path, start, end, str(error)) from error
        if extent.index.is_unchecked(extent.row):
            compare(extent, data, file)
        elif len(data) < end - start:
            raise LogDamaged(extent.segment.path, start + len(data), end, "the file ends too early")


def read_again(file: File, position: int, size_bytes: int) -> bytes:
    """Read, and once more if that fails: a device may need two attempts at a sector.  Raises: DiskError."""
    try:
        return file.read_at(position, size_bytes)
    except DiskError:
        return file.read_at(position, size_bytes)


def compare(extent: ExtentRef, data: Buffer, file: File) -> None:
    """Compare an extent's bytes with their CRCs, and remember the outcome.  Raises: LogDamaged, DiskError."""
    index, row = extent.index, extent.row
    if is_as_written(extent, data, file.read_at):
        index.mark(row, GOOD)
        return
    index.mark(row, BAD)
    raise damage_of_extent(extent)


def is_as_written(extent: ExtentRef, data: Buffer, read_at: Callable[[int, int], bytes]) -> bool:
    """Return whether an extent's bytes are those that were written; `read_at(position, size)` reads more."""
    return _is_plain(extent, memoryview(data)) or _is_as_in_table(extent, memoryview(data), read_at)


def damage_of_extent(extent: ExtentRef) -> LogDamaged:
    """Return the damage of an extent that cannot be handed out."""
    base, stream_id = extent.index.base[extent.row], extent.stream.stream_id
    problem = f"the batches of stream {stream_id} from offset {base} on cannot be read as they were written"
    return LogDamaged(extent.segment.path, *extent.range, problem)


def _is_plain(extent: ExtentRef, data: memoryview) -> bool:
    """Return whether the batches follow each other as appends do, in one leader epoch, with good CRCs."""
    stream, index, row = extent.stream, extent.index, extent.row
    if stream.stream_id >= COPIES_BIT:
        return False
    offset = index.base[row]
    end, size = offset + index.count[row], len(data)
    epoch = stream.epoch_at(offset)
    position = 0
    while size - position >= BATCH_PREFIX.size:
        base, length, leader_epoch, magic, crc, _, last_delta = BATCH_PREFIX.unpack_from(data, position)[:7]
        after = position + length + 12
        if (base, leader_epoch, magic) != (offset, epoch, 2) or not position < after <= size:
            return False
        if crc32c(data[position + BATCH_CRC_START : after]) != crc:
            return False
        offset, position = base + last_delta + 1, after
    return position == size == index.size[row] and offset == end


def _is_as_in_table(extent: ExtentRef, data: memoryview, read_at: Callable[[int, int], bytes]) -> bool:
    """Return whether the batches are those in the entry table of their frame."""
    segment, index = extent.segment, extent.index
    start, end = extent.range
    frame = index.frame_of(index.version[extent.row])
    position = index.frame_position[frame]
    decoded = decode_frame_header(read_at(position, HEADER_BYTES), 0, segment.seed)
    if decoded is None or len(data) != end - start:
        return False
    header = decoded[0]
    table = read_at(position + HEADER_BYTES, header.table_bytes)
    if crc32c(table, table_seed(segment.seed, header.sequence)) != header.table_crc:
        return False
    position += HEADER_BYTES + header.table_bytes
    reached = start
    for entry in ENTRY.iter_unpack(table):
        if start <= position < end:
            if entry[0] != extent.stream.stream_id or not batch_is_good(entry, data, position - start):
                return False
            reached = position + entry[6]
        position += entry[6]
    return reached == end
