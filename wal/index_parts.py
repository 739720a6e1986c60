"""The index of the active segment, stored in parts beside it: a start after a crash need not read its frames.

    <base>.part  := part*                        each checkpoint appends what came since the one before it
    part         := header columns crc[4]        covers the frames below `next_sequence`
    columns      := stream u64[E] base i64[E] version u64[E] max_timestamp i64[E] frame_version u64[F]
                    count u32[E] position u32[E] size u32[E] frame_position u32[F]

All is little endian; the crc covers header and columns and is seeded with the segment's salt. A part repeats
the crc of the frame before it, so that one of another history never continues the one before it.

Parts are derived data, written before their checkpoint and never synced. Only those that the checkpoint in
effect covers are used; where one is missing or invalid, the frames are read instead. They are removed once a
checkpoint lists the segment as sealed, as its `.idx` has replaced them by then.
"""

from __future__ import annotations

import struct
from array import array
from typing import NamedTuple

from crc32c import crc32c

from wal.disk import Disk, DiskError
from wal.index import ActiveIndex
from wal.segment import Segment, StoredPart, Totals, part_path
from wal.unreadable import is_unreadable
from wal.whole_files import read_file

PART_MAGIC = b"KAWALPRT"
PART_FORMAT = 1
PART_HEADER = struct.Struct("<8sHxx6I9QqI")
# magic, format, first row, rows, first frame, frames, previous crc, last crc; base version, next sequence,
# next version, end position, written ms; totals: frames, entries, records, payload, max timestamp, chain crc
PART_CRC = struct.Struct("<I")
ROW_CODES = "QqQqIII"
FRAME_CODES = "QI"


class Part(NamedTuple):
    """The addition of one checkpoint to the stored index of the active segment."""

    first_row: int
    first_frame: int
    previous_crc: int
    last_crc: int
    base_version: int
    next_sequence: int
    """The first frame that the part does not cover."""
    next_version: int
    end_position: int
    written_ms: int
    """The time of day at which the part was made."""
    totals: Totals
    rows: list[array[int]]
    """The columns of the extents: stream, base, version, largest timestamp, count, position, size."""
    frames: list[array[int]]
    """The columns of the frames: version, position."""


def take_part(segment: Segment, *, written_ms: int) -> Part | None:
    """Return what is not stored yet of a growing segment's index, as it is now; None if that is nothing."""
    index, stored = segment.index, segment.stored_part
    if segment.sealed or not isinstance(index, ActiveIndex) or stored.next_sequence == segment.next_sequence:
        return None
    rows = (
        index.stream, index.base, index.version, index.max_timestamp, index.count, index.position, index.size,
    )  # fmt: skip
    return Part(
        stored.rows, stored.frames, stored.last_crc, segment.last_crc, segment.base_version,
        segment.next_sequence, segment.next_version, segment.end_position, written_ms, segment.totals,
        [column[stored.rows :] for column in rows],
        [column[stored.frames :] for column in (index.frame_version, index.frame_position)],
    )  # fmt: skip


def encode_part(part: Part, seed: int) -> bytes:
    """Return the bytes of a part."""
    header = PART_HEADER.pack(
        PART_MAGIC, PART_FORMAT, part.first_row, len(part.rows[0]), part.first_frame, len(part.frames[0]),
        part.previous_crc, part.last_crc, part.base_version, part.next_sequence, part.next_version,
        part.end_position, part.written_ms, *part.totals,
    )  # fmt: skip
    data = b"".join([header, *(column.tobytes() for column in (*part.rows, *part.frames))])
    return data + PART_CRC.pack(crc32c(data, seed))


def decode_part(data: memoryview, position: int, seed: int) -> tuple[Part, int] | None:
    """Return the part at `position` and the position after it; None unless a whole valid one is there."""
    start = position + PART_HEADER.size
    if start > len(data):
        return None
    magic, version, first_row, rows, first_frame, frames, *fields = PART_HEADER.unpack_from(data, position)
    widths = [8 if code in "Qq" else 4 for code in ROW_CODES + FRAME_CODES]
    counts = [rows] * len(ROW_CODES) + [frames] * len(FRAME_CODES)
    end = start + sum(width * count for width, count in zip(widths, counts, strict=True))
    if magic != PART_MAGIC or version != PART_FORMAT or end + PART_CRC.size > len(data):
        return None
    if crc32c(data[position:end], seed) != PART_CRC.unpack_from(data, end)[0]:
        return None
    columns = []
    for code, width, count in zip(ROW_CODES + FRAME_CODES, widths, counts, strict=True):
        columns.append(array(code, data[start : start + width * count].tobytes()))
        start += width * count
    part = Part(
        first_row, first_frame, *fields[:7], Totals._make(fields[7:]),  # type: ignore[call-arg]
        columns[: len(ROW_CODES)], columns[len(ROW_CODES) :],
    )  # fmt: skip
    return part, end + PART_CRC.size


def write_part(disk: Disk, segment: Segment, part: Part) -> StoredPart:
    """Write a part after those that are stored; unsynced, as only a whole one counts.  Raises: DiskError."""
    position = segment.stored_part.position
    data = encode_part(part, segment.seed)
    file = disk.open(part_path(segment.path), create=True)
    try:
        file.truncate(position)
        file.write_at(position, [data])
    finally:
        file.close()
    return _stored(part, position + len(data))


def _stored(part: Part, position: int) -> StoredPart:
    return StoredPart(
        rows=part.first_row + len(part.rows[0]),
        frames=part.first_frame + len(part.frames[0]),
        position=position,
        last_crc=part.last_crc,
        next_sequence=part.next_sequence,
    )


def load_parts(disk: Disk, segment: Segment, *, before: int) -> Part | None:
    """Fill an empty segment from its stored parts up to the frame `before`; return the last one used.

    Nothing is changed when there is none.  Raises: DiskError.
    """
    path = part_path(segment.path)
    if segment.shared is None or not disk.exists(path):
        return None
    try:
        data = memoryview(read_file(disk, path))
    except DiskError as error:
        if not is_unreadable(error):
            raise
        return None
    index, position, last = segment.active_index, 0, None
    while (decoded := decode_part(data, position, segment.seed)) is not None:
        part, after = decoded
        if part.next_sequence > before or not _continues(segment, part):
            break
        index.extend(part.rows, part.frames)
        segment.stored_part, position, last = _stored(part, after), after, part
    if last is not None:
        segment.end_position = last.end_position
        segment.next_sequence = last.next_sequence
        segment.next_version = last.next_version
        segment.last_crc = last.last_crc
        segment.totals = last.totals
    return last


def _continues(segment: Segment, part: Part) -> bool:
    """Return whether the part follows those loaded, and the file is large enough for what it lists."""
    stored = segment.stored_part
    return (
        part.base_version == segment.base_version
        and (part.first_row, part.first_frame) == (stored.rows, stored.frames)
        and part.previous_crc == stored.last_crc
        and part.next_sequence > stored.next_sequence
        and part.end_position <= segment.capacity
    )
