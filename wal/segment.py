"""Segments: the files of a log, their order, and the descriptors by which they are read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

from crc32c import crc32c

from wal.disk import Buffer, Disk, DiskError, File
from wal.errors import LogDamaged, RemoteOnly
from wal.format import FIRST_FRAME_POSITION, FORMAT, FrameHeader, SegmentHeader, seed_of
from wal.index import ActiveIndex, SegmentIndex
from wal.index_file import decode_index
from wal.options import LogOptions
from wal.remote_record import RECORD_SUFFIX, RemoteRecord
from wal.scan import NO_TIMESTAMP
from wal.unreadable import is_unreadable
from wal.whole_files import read_file

SUFFIX = ".wal"
INDEX_SUFFIX = ".idx"
PART_SUFFIX = ".part"
"""The suffix of the stored parts of the active segment's index."""

DELETED_SUFFIX = ".deleted"
SPARE = "spare.tmp"
"""The name of the file that reserves room for a segment that does not exist yet."""

DAMAGED_SUFFIX = ".damaged"
"""The end of the names that a repair gives to files of which nothing can be used in their place."""

ANOTHER_HISTORY = "restored"
"""A file that a restore or a repair leaves: the next start begins leader epochs."""

REPAIRED = b"repaired"
"""Its content after a repair that gave up frames: streams may have lost their newest batches, too."""

TEMPORARY = "next.tmp"
"""The name of a segment until it is complete; recovery removes one left by a crash."""


def segment_name(base_version: int) -> str:
    """Return the file name of the segment that begins with this version."""
    return f"{base_version:020d}{SUFFIX}"


def base_version_of(name: str) -> int | None:
    """Return the first version in a segment's file name; None for any other name."""
    stem = name.removesuffix(SUFFIX)
    return int(stem) if name.endswith(SUFFIX) and len(stem) == 20 and stem.isdigit() else None


class SharedFile:
    """An open file that closes with the last reference to it.

    A response that is still being sent holds one, so the segment may be deleted or its
    descriptor released meanwhile.
    """

    __slots__ = ("__weakref__", "file")

    def __init__(self, file: File) -> None:
        self.file = file

    def __del__(self) -> None:
        self.file.close()


class FileRange:
    """Bytes of a segment to be sent unchanged; the file stays open as long as this object lives."""

    __slots__ = ("_load", "maybe_cold", "must_load", "position", "shared", "size_bytes")

    def __init__(
        self,
        shared: SharedFile,
        position: int,
        size_bytes: int,
        *,
        maybe_cold: bool,
        must_load: bool,
        load: Callable[[], None],
    ) -> None:
        self.shared = shared
        self.position = position
        self.size_bytes = size_bytes
        self.must_load = must_load
        """Whether the bytes have not been compared with their CRCs yet: `load` them in a thread first."""
        self._load = load
        self.maybe_cold = maybe_cold
        """Whether the bytes may have to come from the device: then read them in a thread before sending."""

    @property
    def file(self) -> File:
        """The open file, with the `descriptor` for sendfile."""
        return self.shared.file

    def load(self) -> None:
        """Read the bytes into the page cache and compare them with their CRCs; block as long as that takes.

        Raises: LogDamaged; then they must not be sent.
        """
        self._load()
        self.must_load = False

    def read(self) -> bytes:
        """Return the bytes, for callers that cannot send from a file; block when they are cold.

        Raises: LogDamaged when they are not those that were written; DiskError.
        """
        if self.must_load:
            self.load()
        return self.file.read_at(self.position, self.size_bytes)


class Totals(NamedTuple):
    """The totals of a segment so far, as its footer will state them."""

    frame_count: int = 0
    entry_count: int = 0
    record_count: int = 0
    payload_bytes: int = 0
    max_timestamp: int = NO_TIMESTAMP
    chain_crc: int = 0

    def with_frame(
        self, head: bytes | memoryview, header: FrameHeader, max_timestamp: int = NO_TIMESTAMP
    ) -> Totals:
        """Return the totals after one more frame; `head` is its encoded header."""
        return Totals(
            self.frame_count + 1,
            self.entry_count + header.entry_count,
            self.record_count + header.record_count,
            self.payload_bytes + header.payload_bytes,
            max(self.max_timestamp, max_timestamp),
            crc32c(head, self.chain_crc),
        )


def part_path(path: str) -> str:
    """Return the path of the stored index parts of the segment at `path`."""
    return path.removesuffix(SUFFIX) + PART_SUFFIX


class StoredPart(NamedTuple):
    """The share of the active segment's index that lies in its `.part`."""

    rows: int = 0
    frames: int = 0
    position: int = 0
    """The size of what is valid in the file."""
    last_crc: int = 0
    next_sequence: int = 0
    """The first frame that is not covered."""


class Segment:
    """One segment, active or sealed. Positions are bytes in its file."""

    __slots__ = (
        "base_sequence", "base_version", "blocker", "capacity", "created_ms", "damage", "end_position",
        "format", "index", "index_stored", "last_crc", "made_ms", "next_sequence", "next_version", "path",
        "remote", "retired", "roomy_end", "salt", "sealed", "seed", "shared", "stored_part", "tail", "totals",
    )  # fmt: skip

    def __init__(self, path: str, *, base_version: int, base_sequence: int, salt: int) -> None:
        self.path = path
        self.base_version = base_version
        self.base_sequence = base_sequence
        self.salt = salt
        self.format = FORMAT
        """The format of its file while it is active; a sealed segment takes nothing new."""
        self.seed = seed_of(salt)
        self.created_ms: int | None = None
        """The time of day in its header, as far as it was needed."""
        self.made_ms: int | None = None
        """The moment at which this process made it, by the clock that never jumps."""
        self.shared: SharedFile | None = None
        self.capacity = 0
        """The number of bytes preallocated for it."""
        self.end_position = FIRST_FRAME_POSITION
        """The position for the next frame, or the end of the last one."""
        self.roomy_end = -1
        """The end of its bytes when it was found to have room: it is asked some times for each commit."""
        self.next_version = base_version
        self.next_sequence = base_sequence
        self.last_crc = 0
        """The header CRC of the last frame; the next segment repeats it."""
        self.totals = Totals()
        self.sealed = False
        """Whether nothing will be appended to it any more."""
        self.index: SegmentIndex | None = None
        self.index_stored = False
        """Whether its `.idx` is on disk, as far as is known."""
        self.stored_part = StoredPart()
        self.tail: dict[int, list[Buffer]] = {}
        """Batches by the position of their extent, as long as they are kept in memory."""
        self.blocker: tuple[int, int] | None = None
        """A stream that was found still to need the segment, and the end of its offsets in it."""
        self.retired = False
        self.remote: RemoteRecord | None = None
        """The object with its bytes, once its file has left the disk; the index stays."""
        self.damage: LogDamaged | None = None
        """The damage that a scrub found; extents in it are not handed out."""

    @property
    def index_path(self) -> str:
        """The path of the segment's `.idx`."""
        return self.path.removesuffix(SUFFIX) + INDEX_SUFFIX

    @property
    def paths(self) -> tuple[str, str, str]:
        """The paths of all its files, of which some may not be there: index, bytes, record."""
        stem = self.path.removesuffix(SUFFIX)
        return stem + INDEX_SUFFIX, self.path, stem + RECORD_SUFFIX

    @property
    def active_index(self) -> ActiveIndex:
        """The index, while it grows."""
        assert isinstance(self.index, ActiveIndex)
        return self.index

    def is_nearly_full(self, options: LogOptions) -> bool:
        """Return whether it has three quarters of its bytes, or of the extents after which it is closed."""
        end_position = self.end_position
        if end_position == self.roomy_end:
            return False
        extents = len(self.index.base) if self.index is not None else 0
        if 4 * end_position > 3 * self.capacity or 4 * extents > 3 * options.segment_extents_max:
            return True
        self.roomy_end = end_position
        return False

    def open_shared(self, disk: Disk) -> SharedFile:
        """Return the open file; open it for reading if necessary.

        Raises: RemoteOnly when it has left the disk.
        """
        if self.remote is not None:
            raise RemoteOnly(self.path, self.remote.key)
        if self.shared is None:
            self.shared = SharedFile(disk.open(self.path, read_only=True))
        return self.shared

    def load_index(self, disk: Disk) -> SegmentIndex | None:
        """Return the index, from the `.idx` if it is not in memory; None if that is missing or invalid."""
        if self.index is None:
            self.index = self.read_index(disk)
        return self.index

    def read_index(self, disk: Disk) -> SegmentIndex | None:
        """Return what the `.idx` has, None if that is missing or invalid; threads may call it."""
        if not disk.exists(self.index_path):
            return None
        try:
            data = read_file(disk, self.index_path)
        except DiskError as error:
            if not is_unreadable(error):
                raise
            return None  # it is rebuilt
        return decode_index(data, base_version=self.base_version, seed=self.seed)


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

    def bases(self) -> tuple[int, ...]:
        """Return the base versions of all segments."""
        return tuple(self._bases)

    def at(self, base_version: int) -> Segment | None:
        """Return the segment that begins with this version, if there is one."""
        row = self.row_of(base_version)
        return self.all[row] if row >= 0 and self._bases[row] == base_version else None

    def row_of(self, version: int) -> int:
        """Return the row of the last segment that begins at or before `version`; -1 when there is none."""
        return bisect_right(self._bases, version) - 1


def header_of(segment: Segment, *, vnode_id: int, previous_crc: int, created_ms: int) -> SegmentHeader:
    """Return the header of a new segment."""
    return SegmentHeader(
        vnode_id, segment.base_version, segment.base_sequence, segment.salt, previous_crc, created_ms
    )
