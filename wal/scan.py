"""A checking walk over the frames of a segment file, shared by recovery, inspect and repair.

A scan yields valid frames with contiguous sequences and stops at the first bytes that are not one; then
`position`, `sequence` and `problem` say where it stopped, which frame was due there, and why.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from crc32c import crc32c

from wal.disk import File
from wal.format import (
    BATCH_CRC_START,
    BATCH_HEAD,
    BATCH_PREFIX,
    ENTRY,
    FRAME_MAGIC,
    HEADER_BYTES,
    EntryKind,
    FrameHeader,
    FrameKind,
    decode_frame_header,
    table_seed,
)
from wal.unreadable import PatientReader

NO_TIMESTAMP = -(1 << 63)
"""A value below every timestamp that a batch can carry."""

_BATCH_LEAST = BATCH_PREFIX.size

WINDOW_BYTES = 1 << 20
"""The bytes read ahead at once: enough that small frames do not cost a call each."""

SKIMMING_WINDOW_BYTES = 1 << 16
"""The same when payloads are skipped."""

END = "the file ends"
NEVER_WRITTEN = "nothing was written there"
UNREADABLE = "the device cannot read it"

Readable = File | PatientReader


class FoundFrame(NamedTuple):
    """A valid frame."""

    position: int
    header: FrameHeader
    header_crc: int
    head: memoryview
    """The header's bytes."""
    table: memoryview
    payload: memoryview | None
    """None when the scan skims."""

    @property
    def payload_position(self) -> int:
        """The position of the payload in the file."""
        return self.position + HEADER_BYTES + self.header.table_bytes

    @property
    def next_position(self) -> int:
        """The position of the next frame."""
        return self.position + self.header.size_bytes

    @property
    def next_sequence(self) -> int:
        """The sequence due there: one higher, or higher by the number of frames that a repair gave up."""
        if self.header.kind == FrameKind.LOST:
            return self.header.sequence + self.header.entry_count
        return self.header.sequence + 1

    def max_timestamp(self) -> int:
        """Return the highest timestamp of the frame's batches."""
        if self.header.kind != FrameKind.DATA:
            return NO_TIMESTAMP
        batches = (e for e in ENTRY.iter_unpack(self.table) if e[1] != EntryKind.META)
        return max((entry[7] for entry in batches), default=NO_TIMESTAMP)


class Scan:
    """An iteration over the frames of `file` from `position`, where the frame `sequence` is due.

    `skim` skips the payloads: headers and tables are checked, batches are not.
    """

    def __init__(
        self, file: Readable, *, seed: int, position: int, sequence: int, skim: bool = False
    ) -> None:
        self.position = position
        self.sequence = sequence
        self.problem = ""
        self.finished = False
        """Whether a footer was found: nothing follows it."""
        self.unreadable = False
        """Whether the frame that is due lies where the device cannot read: what it is cannot be known."""
        self._file = file if isinstance(file, PatientReader) else PatientReader(file)
        self._seed = seed
        self._skim = skim
        self._size = file.size()
        self._window = memoryview(b"")
        self._window_position = 0
        self._window_bytes = SKIMMING_WINDOW_BYTES if skim else WINDOW_BYTES

    def __iter__(self) -> Iterator[FoundFrame]:
        while not self.finished:
            frame = self._frame_here()
            if frame is None:
                self._explain()
                return
            self.position = frame.next_position
            self.sequence = frame.next_sequence
            self.finished = frame.header.kind == FrameKind.FOOTER
            yield frame

    def _explain(self) -> None:
        """Say so if the frame that is due lies where the device cannot read."""
        head = self._bytes(self.position, HEADER_BYTES)
        decoded = decode_frame_header(head, 0, self._seed)
        size = HEADER_BYTES if decoded is None else decoded[0].size_bytes
        self.unreadable = self._file.overlaps(self.position, self.position + size)
        if self.unreadable:
            self.problem = UNREADABLE

    def _frame_here(self) -> FoundFrame | None:
        head = self._bytes(self.position, HEADER_BYTES)
        decoded = decode_frame_header(head, 0, self._seed)
        if decoded is None:
            self.problem = _why_no_header(head)
            return None
        header, header_crc = decoded
        if header.sequence != self.sequence:
            self.problem = f"frame {header.sequence} lies where frame {self.sequence} is due"
            return None
        if self.position + header.size_bytes > self._size:
            size = header.size_bytes
            self.problem = f"frame {header.sequence} has {size} bytes, but the file ends before that"
            return None
        wanted = HEADER_BYTES + header.table_bytes
        if header.kind == FrameKind.DATA and not self._skim:
            wanted += header.payload_bytes
        whole = self._bytes(self.position, wanted)
        return self._checked(header, header_crc, whole)

    def _checked(self, header: FrameHeader, header_crc: int, whole: memoryview) -> FoundFrame | None:
        table = whole[HEADER_BYTES : HEADER_BYTES + header.table_bytes]
        if crc32c(table, table_seed(self._seed, header.sequence)) != header.table_crc:
            self.problem = f"the entry table of frame {header.sequence} has a wrong crc"
            return None
        payload = None
        if not self._skim:
            payload = whole[HEADER_BYTES + header.table_bytes :]
            if header.kind == FrameKind.DATA:
                problem = payload_problem(table, payload)
                if problem:
                    self.problem = f"frame {header.sequence}: {problem}"
                    return None
        return FoundFrame(self.position, header, header_crc, whole[:HEADER_BYTES], table, payload)

    def _bytes(self, position: int, size_bytes: int) -> memoryview:
        start = position - self._window_position
        if start < 0 or start + size_bytes > len(self._window):
            self._window = memoryview(self._file.read_at(position, max(size_bytes, self._window_bytes)))
            self._window_position = position
            start = 0
        return self._window[start : start + size_bytes]


def payload_problem(table: memoryview, payload: memoryview) -> str:
    """Return what is wrong with a frame's batches according to its table; "" when nothing is."""
    start, available, unpack_head = 0, len(payload), BATCH_HEAD.unpack_from
    for index, entry in enumerate(ENTRY.iter_unpack(table)):
        stream_id, kind, _, leader_epoch, base_offset, _, size_bytes, _, crc, _ = entry
        end = start + size_bytes
        if kind == EntryKind.META:
            good = end <= available and crc32c(payload[start:end]) == crc
        else:
            # As in `batch_is_good`, without the call: this is most of the time of a recovery.
            good = (
                _BATCH_LEAST <= size_bytes <= available - start
                and unpack_head(payload, start) == (base_offset, size_bytes - 12, leader_epoch, 2, crc)
                and crc32c(payload[start + BATCH_CRC_START : end]) == crc
            )
        if not good:
            return f"entry {index} (stream {stream_id}, offset {base_offset}) has a wrong crc or size"
        start = end
    return "" if start == available else f"the entries cover {start} of {available} bytes"


def batch_is_good(entry: tuple[int, ...], payload: memoryview, start: int) -> bool:
    """Return whether the batch at `start` is the one in the table's entry, byte for byte."""
    _, _, _, leader_epoch, base_offset, _, size_bytes, _, crc, _ = entry
    return (
        BATCH_PREFIX.size <= size_bytes <= len(payload) - start
        and BATCH_HEAD.unpack_from(payload, start) == (base_offset, size_bytes - 12, leader_epoch, 2, crc)
        and crc32c(payload[start + BATCH_CRC_START : start + size_bytes]) == crc
    )


class Survey(NamedTuple):
    """The valid frames found after a bad one."""

    durable_sequence: int
    """The highest durable_sequence of all valid frame headers there; 0 when there is none."""
    position: int
    """The start of the first valid frame after the bad ones; the file's size when there is none."""
    sequence: int
    """Its sequence; 0 when there is none."""


def survey_after(file: Readable, *, seed: int, position: int, sequence: int) -> Survey:
    """Search for valid frame headers from `position` on, wherever they begin; the frame `sequence` is bad.

    Unreadable bytes are passed over.
    """
    if not isinstance(file, PatientReader):
        file = PatientReader(file)
    durable, first, first_sequence = 0, file.size(), 0
    while True:
        position = file.next_data(position)
        window = file.read_at(position, WINDOW_BYTES)
        found = window.find(FRAME_MAGIC)
        while found >= 0:
            decoded = decode_frame_header(_tail(file, window, position, found), 0, seed)
            if decoded is not None:
                durable = max(durable, decoded[0].durable_sequence)
                if position + found < first and decoded[0].sequence > sequence:
                    first, first_sequence = position + found, decoded[0].sequence
            found = window.find(FRAME_MAGIC, found + 1)
        if len(window) < WINDOW_BYTES:
            return Survey(durable, first, first_sequence)
        # The magic may lie across the border of two windows.
        position += len(window) - len(FRAME_MAGIC) + 1


def _tail(file: PatientReader, window: bytes, position: int, found: int) -> bytes:
    """Return the 64 bytes at `found`, read again where the window cuts them."""
    if found + HEADER_BYTES <= len(window):
        return window[found : found + HEADER_BYTES]
    return file.read_at(position + found, HEADER_BYTES)


def _why_no_header(head: memoryview) -> str:
    if len(head) < HEADER_BYTES:
        return END
    if not any(head):
        return NEVER_WRITTEN
    return "the frame header there has a wrong magic or crc"
