"""Reading a vnode's log by time: which extent or batch has a record at or after it, and the newest of all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wal.lookup import (
    StreamExtent,
    TimeHit,
    find_timestamp,
    max_timestamp,
    next_extent_since,
    offset_since,
)
from wal.state import LogState


class TimeReading:
    """The lookups by time of `LogReading`."""

    def __init__(self, state: LogState) -> None:
        self._state = state

    def find_timestamp(self, stream_id: int, timestamp_ms: int, *, from_offset: int = 0) -> TimeHit | None:
        """Return the first visible batch at or after `from_offset` with a record at or after `timestamp_ms`.

        The caller searches for the record; if the only ones lie below the log start, it calls again with
        the batch's `next_offset`.
        """
        stream = self._state.streams.get(stream_id)
        return find_timestamp(self._state, stream, timestamp_ms, from_offset) if stream is not None else None

    def next_extent_since(
        self, stream_id: int, timestamp_ms: int, *, from_offset: int, may_wait: bool = True
    ) -> StreamExtent | int | None:
        """Return the first extent from an offset on that may have a record at or after the time.

        Or the offset from which on to ask again, when a segment has none; None at the end of the stream.
        Raises: IndexNotLoaded, without `may_wait`, if an index must be read from the disk first.
        """
        stream = self._state.streams.get(stream_id)
        if stream is None:
            return None
        with self._waiting(may_wait=may_wait):
            return next_extent_since(self._state, stream, timestamp_ms, from_offset)

    def max_timestamp(self, stream_id: int) -> TimeHit | None:
        """Return the first visible batch with the stream's largest timestamp; None if the stream is empty."""
        found = self.newest_time(stream_id)
        return self.find_timestamp(stream_id, found[0], from_offset=found[1]) if found is not None else None

    def newest_time(self, stream_id: int, *, may_wait: bool = True) -> tuple[int, int] | None:
        """Return the stream's largest timestamp and an offset in its extent; None when it is empty.

        Usually no batch is read.  Raises: IndexNotLoaded, as above.
        """
        stream = self._state.streams.get(stream_id)
        if stream is None:
            return None
        with self._waiting(may_wait=may_wait):
            return max_timestamp(self._state, stream)

    def largest_timestamp(self, stream_id: int) -> int | None:
        """Return the stream's largest timestamp, usually without reading a batch; None when it is empty."""
        found = self.newest_time(stream_id)
        return found[0] if found is not None else None

    def offset_since(self, stream_id: int, timestamp_ms: int, *, from_offset: int) -> int:
        """Return the first offset from `from_offset` on whose extent has a record at or after the time.

        It is the high watermark when there is none. The extent may begin with older records.
        """
        stream = self._state.streams.get(stream_id)
        return offset_since(self._state, stream, timestamp_ms, from_offset) if stream is not None else 0

    @contextmanager
    def _waiting(self, *, may_wait: bool) -> Iterator[None]:
        """Ask what follows with or without waiting for the disk."""
        self._state.must_not_wait = not may_wait
        try:
            yield
        finally:
            self._state.must_not_wait = False
