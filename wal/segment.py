"""Segments: the files of a log, the order they come in, and the descriptors they are read by."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from crc32c import crc32c

from wal.disk import Buffer, Disk, File
from wal.errors import LogDamaged
from wal.format import FIRST_FRAME_POSITION, FORMAT, FrameHeader, SegmentHeader, seed_of
from wal.index import ActiveIndex, SegmentIndex, decode_index
from wal.scan import NO_TIMESTAMP
from wal.whole_files import read_file

SUFFIX = ".wal"
INDEX_SUFFIX = ".idx"
DELETED_SUFFIX = ".deleted"
SPARE = "spare.tmp"
"""The name of room reserved for a segment that does not exist yet."""

TEMPORARY = "next.tmp"
"""The name of a segment until it is complete; what is left of it after a crash is removed."""


def segment_name(base_version: int) -> str:
    """The file name of the segment that begins with this version."""
    return f"{base_version:020d}{SUFFIX}"


def base_version_of(name: str) -> int | None:
    """The first version in a segment's file name; None when the name is not one."""
    stem = name.removesuffix(SUFFIX)
    return int(stem) if name.endswith(SUFFIX) and len(stem) == 20 and stem.isdigit() else None


class SharedFile:
    """An open file that closes with the last reference to it.

    A reply that is still being sent holds one, so a segment may be deleted or its descriptor given up
    meanwhile.
    """

    __slots__ = ("__weakref__", "file")

    def __init__(self, file: File) -> None:
        self.file = file

    def __del__(self) -> None:
        self.file.close()


class FileRange:
    """Bytes of a segment to be sent as they lie there; the file stays open as long as this object lives."""

    __slots__ = ("maybe_cold", "position", "shared", "size_bytes")

    def __init__(self, shared: SharedFile, position: int, size_bytes: int, *, maybe_cold: bool) -> None:
        self.shared = shared
        self.position = position
        self.size_bytes = size_bytes
        self.maybe_cold = maybe_cold
        """The bytes may have to come from the device first: read them in a thread before sending."""

    @property
    def file(self) -> File:
        """The open file; its `descriptor` is what sendfile wants."""
        return self.shared.file

    def read(self) -> bytes:
        """The bytes themselves, for whoever cannot send from a file; blocks when they are cold."""
        return self.file.read_at(self.position, self.size_bytes)


class Totals(NamedTuple):
    """What a segment holds so far: what its footer will state."""

    frame_count: int = 0
    entry_count: int = 0
    record_count: int = 0
    payload_bytes: int = 0
    max_timestamp: int = NO_TIMESTAMP
    chain_crc: int = 0

    def with_frame(
        self, head: bytes | memoryview, header: FrameHeader, max_timestamp: int = NO_TIMESTAMP
    ) -> Totals:
        """The totals after one more frame; `head` is its encoded header."""
        return Totals(
            self.frame_count + 1,
            self.entry_count + header.entry_count,
            self.record_count + header.record_count,
            self.payload_bytes + header.payload_bytes,
            max(self.max_timestamp, max_timestamp),
            crc32c(head, self.chain_crc),
        )


class Segment:
    """One segment, active or sealed. Positions are bytes in its file."""

    __slots__ = (
        "base_sequence", "base_version", "blocker", "capacity", "damage", "end_position", "format", "index",
        "index_stored", "last_crc", "next_sequence", "next_version", "path", "retired", "salt", "sealed",
        "seed", "shared", "tail", "totals",
    )  # fmt: skip

    def __init__(self, path: str, *, base_version: int, base_sequence: int, salt: int) -> None:
        self.path = path
        self.base_version = base_version
        self.base_sequence = base_sequence
        self.salt = salt
        self.format = FORMAT
        """The format of its file while it is active; a sealed one takes nothing new."""
        self.seed = seed_of(salt)
        self.shared: SharedFile | None = None
        self.capacity = 0
        """Bytes preallocated for it."""
        self.end_position = FIRST_FRAME_POSITION
        """Where the next frame goes, or where the last one ended."""
        self.next_version = base_version
        self.next_sequence = base_sequence
        self.last_crc = 0
        """Header CRC of the last frame; the next segment repeats it."""
        self.totals = Totals()
        self.sealed = False
        """Nothing will be appended to it any more."""
        self.index: SegmentIndex | None = None
        self.index_stored = False
        """Its `.idx` is on disk, as far as is known."""
        self.tail: dict[int, list[Buffer]] = {}
        """Position of an extent -> its batches, as long as they are kept in memory."""
        self.blocker: int | None = None
        """A stream that still needs the segment, when one was found."""
        self.retired = False
        self.damage: LogDamaged | None = None
        """What a scrub found wrong with it; extents that lie there are not handed out."""

    @property
    def index_path(self) -> str:
        """The path of the segment's `.idx`."""
        return self.path.removesuffix(SUFFIX) + INDEX_SUFFIX

    @property
    def active_index(self) -> ActiveIndex:
        """The index while it grows."""
        assert isinstance(self.index, ActiveIndex)
        return self.index

    def open_shared(self, disk: Disk) -> SharedFile:
        """The open file, opened for reading when it was not."""
        if self.shared is None:
            self.shared = SharedFile(disk.open(self.path, read_only=True))
        return self.shared

    def load_index(self, disk: Disk) -> SegmentIndex | None:
        """The index, read from the `.idx` when it is not in memory; None when that one is missing or odd."""
        if self.index is None and disk.exists(self.index_path):
            data = read_file(disk, self.index_path)
            self.index = decode_index(data, base_version=self.base_version, seed=self.seed)
        return self.index


class Segments:
    """The segments of a log, oldest first; the last one may be active."""

    def __init__(self) -> None:
        self.all: list[Segment] = []
        self._bases: list[int] = []

    def __len__(self) -> int:
        return len(self.all)

    def add(self, segment: Segment) -> None:
        """Add the newest segment."""
        assert not self._bases or segment.base_version >= self._bases[-1]
        self.all.append(segment)
        self._bases.append(segment.base_version)

    def remove(self, segment: Segment) -> None:
        """Forget a segment."""
        row = self.all.index(segment)
        del self.all[row], self._bases[row]

    def row_of(self, version: int) -> int:
        """The row of the last segment that begins at or before `version`; -1 when there is none."""
        return bisect_right(self._bases, version) - 1


def header_of(segment: Segment, *, vnode_id: int, previous_crc: int, created_ms: int) -> SegmentHeader:
    """The header of a new segment."""
    return SegmentHeader(
        vnode_id, segment.base_version, segment.base_sequence, segment.salt, previous_crc, created_ms
    )
