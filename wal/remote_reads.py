"""Reads of segments that have left the disk: from blocks in memory, or by the threads that ask the store.

    the read may not wait     RemoteNotLoaded, which tells how to load what is missing; then it is read again
    it may                    RemoteWaits: the blocks are asked for in the background, and the caller is to
                              come again: the event loop never waits for the store, nor do threads for disks

Each extent is compared with its CRCs every time: what comes from elsewhere may be other bytes next time.
Wrong bytes end that one read, with the object's name; the log itself is not damaged by them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from wal.block_cache import Told
from wal.checking import ExtentRef, is_as_written
from wal.errors import IndexNotLoaded, RemoteReadError, RemoteWaits
from wal.segment import Segment
from wal.state import LogState


class RemoteNotLoaded(IndexNotLoaded):
    """A read that must not wait needs bytes of the store; `offload` has them read, and `adopt` looks."""

    def __init__(self, state: LogState, path: str, fetch: Callable[[Told], None]) -> None:
        """`fetch(told)` has the bytes read, if they are not being read already."""
        super().__init__(path, _nothing, self._adopt)
        self.offload = self._offload
        self._fetch = fetch
        self._later = state.blocks.later
        self._error: Exception | None = None
        self._is_late = False

    def begin(self) -> None:
        """Have the blocks read in the background, for the next read; an error tells the next read."""
        self._fetch(_ignored)

    def _offload(self, work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        ended = False

        def end(*, is_late: bool, error: Exception | None = None) -> None:
            nonlocal ended
            if not ended:
                ended, self._error, self._is_late = True, error, is_late
                work()
                done(None)

        self._fetch(lambda error: end(is_late=False, error=error))
        if not ended and self._later is not None:
            self._later(lambda: end(is_late=True))

    def _adopt(self) -> bool:
        """Return whether the blocks came; False: they are still on their way.

        Raises: RemoteReadError when the store did not give them.
        """
        if self._error is not None:
            raise RemoteReadError(str(self._error)) from self._error
        return not self._is_late


def _nothing() -> None:
    """Nothing is left to be done by the thread that waited."""


def _ignored(_error: Exception | None) -> None:
    """Tell nothing: what was read is in memory, or is asked for again."""


def remote_bytes(state: LogState, segment: Segment, start: int, end: int) -> bytes:
    """Return bytes of a segment in the store.  Raises: RemoteNotLoaded, RemoteWaits; RemoteReadError."""
    assert segment.remote is not None
    record = segment.remote
    if end > record.size_bytes:
        raise RemoteReadError(f"{record.key}: the object ends at byte {record.size_bytes}, before byte {end}")
    data = state.blocks.find(record.key, start, end)
    if data is not None:
        return data
    fetch = partial(state.blocks.fetch, record.key, record.size_bytes, start, end)
    missing = RemoteNotLoaded(state, segment.path, fetch)
    if state.must_not_wait:
        raise missing
    missing.begin()
    raise RemoteWaits(missing)


def _following(state: LogState, segment: Segment, key: str) -> tuple[str, int] | None:
    """Return key and size of the object that follows another one, if its segment has left the disk too.

    `segment` is the one that is read, or was read a moment ago.
    """
    segments = state.segments.all
    for row in range(max(0, state.segments.row_of(segment.base_version)), len(segments) - 1):
        record, successor = segments[row].remote, segments[row + 1].remote
        if record is None or record.key == key:
            return (successor.key, successor.size_bytes) if record and successor else None
    return None


def remote_extent(state: LogState, extent: ExtentRef) -> bytes:
    """Return an extent's bytes, compared with their CRCs.

    Raises: RemoteNotLoaded, RemoteWaits; RemoteReadError, also for wrong bytes.
    """
    segment, (start, end) = extent.segment, extent.range
    data = remote_bytes(state, segment, start, end)
    assert segment.remote is not None
    key, size_bytes = segment.remote.key, segment.remote.size_bytes
    state.blocks.follow(key, size_bytes, start, end, partial(_following, state, segment))
    if not is_as_written(extent, data, lambda first, size: remote_bytes(state, segment, first, first + size)):
        state.blocks.forget(segment.remote.key, start, end)
        raise RemoteReadError(
            f"{segment.remote.key}: bytes {start} to {end} of the object are not those that were written: "
            f"the batches of stream {extent.stream.stream_id} from offset {extent.index.base[extent.row]} on"
        )
    return data
