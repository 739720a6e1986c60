"""The index of a segment that has left the disk, fetched again from the object store after its file was lost.

    <stem>.idx of the segment's object    if it is there, and is a whole index of this segment
    <stem>.wal                            else the index is made again from the frames of the object

Both happen in a thread, and nothing waits for them but the reads that need the index. Maintenance then stores
it as it does for any other closed segment: a crash before that costs another fetch.
"""

from __future__ import annotations

from typing import Final

from wal.block_cache import SharedRead
from wal.errors import RemoteReadError, RemoteWaits
from wal.format import FIRST_FRAME_POSITION
from wal.index import ActiveIndex, SegmentIndex
from wal.index_file import decode_index, encode_index
from wal.indexing import index_frame
from wal.objects import NoSuchObject, ObjectStore, ObjectStoreError
from wal.remote_reads import RemoteNotLoaded
from wal.scan import Scan
from wal.segment import INDEX_SUFFIX, SUFFIX, Segment
from wal.state import LogState
from wal.unreadable import PatientReader

PIECE_BYTES: Final = 4 << 20
"""What is read of an object at once, while its frames are looked through."""


def fetch_index(state: LogState, segment: Segment) -> SharedRead:
    """Begin to fetch the index of a segment in the object store, if that is not under way."""
    base_version = segment.base_version
    known = state.fetched_indexes.get(base_version)
    if known is not None:
        return known
    assert segment.remote is not None
    read = state.fetched_indexes[base_version] = SharedRead()
    found: list[bytes] = []

    def ended(error: Exception | None) -> None:
        if error is None:
            _use(state, segment, found[0])
        if read.is_waited_for or error is None:
            del state.fetched_indexes[base_version]
        read.end(error)

    vnode_id = state.options.vnode_id
    state.blocks.run(
        segment.remote.key,
        lambda store: found.append(_index_bytes(store, segment, vnode_id=vnode_id)),
        ended,
    )
    return read


def _use(state: LogState, segment: Segment, data: bytes) -> None:
    """Use an index that has come, and have maintenance store it."""
    if segment.index is None and not segment.retired:
        segment.index = decode_index(data, base_version=segment.base_version, seed=segment.seed)
        state.index_cache.loaded(segment)
        state.to_store[segment.base_version] = data
        state.unindexed = True


def fetched_index(state: LogState, segment: Segment) -> SegmentIndex:
    """Return the index of a segment in the object store that has no `.idx` any more.

    Raises: RemoteNotLoaded, RemoteWaits; RemoteReadError when the last fetch has failed.
    """
    read = fetch_index(state, segment)
    if segment.index is not None:
        return segment.index
    if read.error is not None:
        del state.fetched_indexes[segment.base_version]
        raise RemoteReadError(str(read.error)) from read.error
    missing = RemoteNotLoaded(state, segment.path, read.wait)
    if state.must_not_wait:
        raise missing
    raise RemoteWaits(missing)


def _index_bytes(store: ObjectStore, segment: Segment, *, vnode_id: int) -> bytes:
    """Return the bytes of a segment's index, in a thread.  Raises: RemoteReadError."""
    assert segment.remote is not None
    key = segment.remote.key
    try:
        data = _stored(store, key.removesuffix(SUFFIX) + INDEX_SUFFIX)
        index = decode_index(data, base_version=segment.base_version, seed=segment.seed)
        if index is not None and index.end_position <= segment.remote.size_bytes:
            return data
        made = _made_again(segment, _ObjectReader(store, key, segment.remote.size_bytes))
    except ObjectStoreError as error:
        raise RemoteReadError(str(error)) from error
    return encode_index(
        made, vnode_id=vnode_id, base_version=segment.base_version,
        end_position=segment.end_position, next_version=segment.next_version, seed=segment.seed,
    )  # fmt: skip


def _stored(store: ObjectStore, key: str) -> bytes:
    try:
        return store.read(key).data
    except NoSuchObject:
        return b""


def _made_again(segment: Segment, reader: _ObjectReader) -> ActiveIndex:
    """Return the index of the frames in an object.  Raises: RemoteReadError; ObjectStoreError."""
    index = ActiveIndex()
    scan = Scan(
        reader, seed=segment.seed, position=FIRST_FRAME_POSITION, sequence=segment.base_sequence, skim=True
    )
    for frame in scan:
        index_frame(index, frame)
    if scan.sequence < segment.next_sequence:
        # An index of the frames before would make a gap of those after.
        raise RemoteReadError(
            f"{reader.key}: frame {scan.sequence} should be at byte {scan.position} of the object, but "
            f"{scan.problem}; '{segment.index_path}' is missing and cannot be made from it"
        )
    return index


class _ObjectReader(PatientReader):
    """An object that is read like a file, some megabytes at a time."""

    def __init__(self, store: ObjectStore, key: str, size_bytes: int) -> None:
        self.bad = []
        self.key = key
        self._store = store
        self._size_bytes = size_bytes
        self._first = 0
        self._piece = b""

    def size(self) -> int:
        """Return the size that its record says."""
        return self._size_bytes

    def next_data(self, position: int) -> int:
        """Return the position: objects have no holes."""
        return position

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Return bytes of the object; fewer where it ends.  Raises: ObjectStoreError."""
        start = position - self._first
        if start < 0 or start + size_bytes > len(self._piece):
            self._first, start = position, 0
            self._piece = self._store.read_range(self.key, position, max(size_bytes, PIECE_BYTES))
        return self._piece[start : start + size_bytes]
