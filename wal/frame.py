"""The open frame: batches and meta entries that will be committed together.

Batches are kept by reference and grouped by stream, so that each stream's run is contiguous in the payload.
Entries are packed on arrival, when base version and base offsets are already known. Meta entries follow all
batches, in order of arrival. Nothing here loops over records.
"""

from __future__ import annotations

from itertools import chain

from crc32c import crc32c

from wal.disk import Buffer
from wal.format import (
    ENTRY,
    ENTRY_BYTES,
    HEADER_BYTES,
    EntryKind,
    FrameHeader,
    FrameKind,
    encode_frame_header,
    table_seed,
)
from wal.index import EXTENT_BYTES, EXTENT_OFFSETS
from wal.stream import Stream


class Extent:
    """A part of a run that becomes one row of the index; `start` counts from the beginning of the run."""

    __slots__ = ("base", "buffers", "max_timestamp", "next_offset", "size", "start", "version")

    def __init__(
        self,
        base: int,
        next_offset: int,
        start: int,
        size: int,
        max_timestamp: int,
        version: int,
        batch: Buffer,
    ) -> None:
        self.base = base
        self.next_offset = next_offset
        self.start = start
        self.size = size
        self.max_timestamp = max_timestamp
        self.version = version
        self.buffers: list[Buffer] = [batch]


class Run:
    """One stream's batches in the frame."""

    __slots__ = ("entries", "extents", "last", "size_bytes", "stream")

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.entries: list[bytes] = []
        self.extents: list[Extent] = []
        self.last: Extent | None = None
        self.size_bytes = 0

    def add(
        self,
        entry: bytes,
        batch: Buffer,
        base: int,
        next_offset: int,
        size: int,
        timestamp: int,
        version: int,
    ) -> None:
        """Add the stream's next batch; positional because it is on the path of every append."""
        self.entries.append(entry)
        last = self.last
        if (
            last is not None
            and last.size + size <= EXTENT_BYTES
            and next_offset - last.base <= EXTENT_OFFSETS
        ):
            last.next_offset = next_offset
            last.size += size
            if timestamp > last.max_timestamp:
                last.max_timestamp = timestamp
            last.buffers.append(batch)
        else:
            self.last = extent = Extent(base, next_offset, self.size_bytes, size, timestamp, version, batch)
            self.extents.append(extent)
        self.size_bytes += size

    @property
    def next_offset(self) -> int:
        """The offset after the run."""
        return self.extents[-1].next_offset


class MetaRecord:
    """A meta entry, which `synced` applies once it is durable."""

    __slots__ = ("entry", "payload", "stream_id")

    def __init__(self, stream_id: int, payload: bytes, entry: bytes) -> None:
        self.stream_id = stream_id
        self.payload = payload
        self.entry = entry


class OpenFrame:
    """The batches and meta entries appended since the last frame was closed."""

    __slots__ = (
        "base_version", "entry_count", "metas", "must_sync", "named_token", "next_version", "payload_bytes",
        "producers_token", "runs",
    )  # fmt: skip

    def __init__(self, base_version: int) -> None:
        self.base_version = base_version
        self.next_version = base_version
        self.entry_count = 0
        self.payload_bytes = 0
        self.producers_token = 0
        """The token of the producers' changes that become durable with this frame."""
        self.named_token = 0
        """The same of the named producers' changes."""
        self.must_sync = False
        """Whether it counts only once it is synced, even with durability `os`."""
        self.runs: dict[int, Run] = {}
        self.metas: list[MetaRecord] = []

    @property
    def size_bytes(self) -> int:
        """The size of the frame in the file."""
        return HEADER_BYTES + self.entry_count * ENTRY_BYTES + self.payload_bytes

    def add_meta(self, stream_id: int, payload: bytes) -> int:
        """Add a meta entry; return its version."""
        version = self.next_version
        entry = ENTRY.pack(
            stream_id,
            EntryKind.META,
            0,
            0,
            0,
            1,
            len(payload),
            0,
            crc32c(payload),
            version - self.base_version,
        )
        self.metas.append(MetaRecord(stream_id, payload, entry))
        self.next_version = version + 1
        self.entry_count += 1
        self.payload_bytes += len(payload)
        return version

    def build(self, *, sequence: int, durable_sequence: int, now_ms: int, seed: int) -> BuiltFrame:
        """Close the frame: build its header, its table and the batches in payload order."""
        runs = self.runs.values()
        parts = [run.entries for run in runs]
        parts.append([meta.entry for meta in self.metas])
        table = b"".join(chain.from_iterable(parts))
        assert len(table) == self.entry_count * ENTRY_BYTES
        header = FrameHeader(
            FrameKind.DATA, sequence, durable_sequence, self.base_version, self.entry_count,
            self.next_version - self.base_version, len(table), self.payload_bytes, now_ms,
            crc32c(table, table_seed(seed, sequence)),
        )  # fmt: skip
        head, crc = encode_frame_header(header, seed)
        buffers: list[Buffer] = [head + table]
        for run in runs:
            for extent in run.extents:
                buffers += extent.buffers
        buffers += [meta.payload for meta in self.metas]
        return BuiltFrame(self, header, crc, head, buffers)


class BuiltFrame:
    """A closed frame, ready to be written."""

    __slots__ = ("buffers", "crc", "frame", "head", "header")

    def __init__(
        self, frame: OpenFrame, header: FrameHeader, crc: int, head: bytes, buffers: list[Buffer]
    ) -> None:
        self.frame = frame
        self.header = header
        self.crc = crc
        self.head = head
        self.buffers = buffers
