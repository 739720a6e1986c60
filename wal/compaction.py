"""Compaction's half of the log: copies replace the old part of a stream once a meta entry makes them count.

    id = begin_copies()             a stream of copies, not read yet
    append_copy(id, batch) ...      at their old offsets, ascending; each takes one version of the vnode
    let_copies_count(...)           a meta entry. Once it is durable, reads below `clean_end` see the copies
                                    and nothing else; earlier copies and the original batches are no longer
                                    needed, and their segments are deleted like any other
    give_up_copies(id)              instead: the copies are forgotten

    stream 7    [ copies: 3 17 18 40 ]            clean end = 50           [ 50 51 52 ... ]
                in newer segments, by offset                              where they were written

A crash before that entry is durable leaves copies that no stream names; recovery forgets them. Old segments
are only read, so until then every acknowledged batch stays where it was. What compaction keeps is decided
elsewhere: here a batch is bytes with an offset.
"""

from __future__ import annotations

from wal.appending import LogAppending
from wal.errors import StreamDropped
from wal.format import BATCH_PREFIX, COPIES_BIT, ENTRY, FORMAT, EntryKind
from wal.frame import Run
from wal.lookup import bytes_between
from wal.meta import compacted_meta, forget_copies
from wal.state import LogState
from wal.stream import LOG_STREAM


class LogCompacting(LogAppending):
    """The half of `VnodeLog` with which compaction writes; one pass at a time."""

    def __init__(self, state: LogState) -> None:
        super().__init__(state)
        self._copies_id = 0
        """The stream of copies of the pass under way; 0 without one."""

    def clean_end(self, stream_id: int) -> int:
        """Return the offset up to which the stream was compacted; 0 when it never was."""
        stream = self._state.streams.get(stream_id)
        return stream.clean_end if stream is not None else 0

    def copied_bytes(self, stream_id: int) -> int:
        """Return the size in bytes of the stream's batches below its clean end."""
        stream = self._state.streams.get(stream_id)
        copies = self._state.streams.get(stream.copies_id) if stream is not None else None
        return copies.size_bytes if copies is not None else 0

    @property
    def takes_copies(self) -> bool:
        """Whether a pass could begin: none is under way, there is room, the active segment has our format."""
        state = self._state
        if self._copies_id or self._refused is not None or state.full:
            return False
        return state.active is None or state.active.format == FORMAT

    def begin_copies(self) -> int | None:
        """Begin a pass; return the id of its stream of copies, or None unless the log `takes_copies`."""
        if not self.takes_copies:
            return None
        # Each copy takes a version, so an id that was used for writing never recurs.
        self._copies_id = COPIES_BIT | self._state.next_version
        return self._copies_id

    def append_copy(self, copies_id: int, batch: bytearray | bytes) -> int:
        """Add a whole batch to the open frame at its own offset, above the last copy's; return its version.

        The bytes are kept by reference and must not change.
        Raises: LogFailed, LogDamaged, LogClosed, DiskFull.
        """
        assert copies_id == self._copies_id
        state = self._state
        if self._refused is not None:
            raise self._refused.with_traceback(None)
        if state.full:
            raise state.no_room()
        size = len(batch)
        prefix = BATCH_PREFIX.unpack_from(batch)
        base, count = prefix[0], prefix[6] + 1
        stream = state.stream(copies_id)
        assert prefix[1] == size - 12
        assert base >= stream.next_offset, f"copy at {base}, below {stream.next_offset}"
        frame = self._open
        if frame is None or frame.payload_bytes + size > state.options.frame_bytes_max:
            frame = self._next_frame()
        version = frame.next_version
        entry = ENTRY.pack(
            copies_id, EntryKind.COPY, 0, prefix[2], base, count, size, prefix[8], prefix[4],
            version - frame.base_version,
        )  # fmt: skip
        run = frame.runs.get(copies_id)
        if run is None:
            run = frame.runs[copies_id] = Run(stream)
        run.add(entry, batch, base, base + count, size, prefix[8], version)
        stream.next_offset = base + count
        frame.entry_count += 1
        frame.payload_bytes += size
        frame.next_version = state.next_version = version + 1
        return version

    def replaced_bytes(self, stream_id: int, start: int, end: int) -> int:
        """Return how many bytes a pass replaces between two offsets; the counts of adjacent parts add up."""
        stream = self._state.streams.get(stream_id)
        return bytes_between(self._state, stream, start, end) if stream is not None else 0

    def let_copies_count(
        self, stream_id: int, *, clean_end: int, copies_id: int, replaced_bytes: int | None = None
    ) -> int:
        """End a pass: once durable, the copies count below `clean_end`, where a batch of the stream begins.

        Returns the version that makes them count. From here on the pass can be given up only if that version
        was lost. `replaced_bytes` counts from the log start up to `clean_end`; None: they are added up here,
        which takes 1 µs for each extent.
        Raises: StreamDropped, LogFailed, LogDamaged, LogClosed.
        """
        assert copies_id == self._copies_id
        state = self._state
        stream = state.streams.get(stream_id)
        if stream is None or stream.dropped:
            raise StreamDropped(stream_id)
        assert stream.clean_end <= clean_end <= stream.high_watermark
        copies = state.streams.get(copies_id)
        # A reader in a gap at the end would never reach the end.
        assert clean_end < stream.high_watermark or (copies and copies.next_offset == clean_end)
        start = state.announced_starts.get(stream_id, stream.log_start)
        if replaced_bytes is None or start > stream.log_start:
            replaced_bytes = bytes_between(state, stream, start, clean_end) if start < clean_end else 0
        version = self._append_meta(stream_id, compacted_meta(clean_end, copies_id, replaced_bytes))
        self._copies_id = 0
        return version

    def give_up_copies(self, copies_id: int) -> None:
        """End a pass without effect, also one whose frames were lost; harmless when it has already ended."""
        stream_ids = {stream.copies_id for stream in self._state.streams.values()}
        if copies_id not in stream_ids:
            forget_copies(self._state, copies_id)
        if self._copies_id == copies_id:
            self._copies_id = 0


def forget_unfinished(state: LogState) -> None:
    """Forget the copies that no stream names: a crash came before the entry that makes them count."""
    named = {LOG_STREAM} | {stream.copies_id for stream in state.streams.values()}
    for stream_id in [
        copies_id for copies_id in state.streams if copies_id >= COPIES_BIT and copies_id not in named
    ]:
        forget_copies(state, stream_id)
