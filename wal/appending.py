"""Appending batches and meta entries to the open frame: a log's writing half, before any disk."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from wal.errors import OffsetOutOfRange, StreamDropped, WalError
from wal.format import (
    BASE_OFFSET,
    BATCH_PREFIX,
    ENTRY,
    LEADER_EPOCH,
    LEADER_EPOCH_POSITION,
    EntryKind,
    empty_batch,
)
from wal.frame import OpenFrame, Run
from wal.ledgers import Flags, Ledgers, Limits, Mark
from wal.lookup import bytes_between, end_of_data
from wal.meta import drop_meta, leader_epoch_meta, log_start_meta, opaque_meta, retired_meta
from wal.named_producers import NONE, NamedWrite, States, named_meta
from wal.producers import ProducerStamp
from wal.reading import LogReading
from wal.segment import Segment
from wal.state import LogState
from wal.stream import LOG_STREAM, Stream, epoch_after_loss
from wal.transactions import TRANSACTIONAL_BIT, TransactionMarker, read_marker

FRAME_RECORDS_MAX: Final = 2**31
"""Versions in one frame: its header has 32 bits for them, and the largest batch claims 2^31 - 1 records."""

_unpack_prefix = BATCH_PREFIX.unpack_from
_pack_entry = ENTRY.pack
_pack_offset = BASE_OFFSET.pack_into
_pack_epoch = LEADER_EPOCH.pack_into


class Appended:
    """The place of an append, valid once it is synced."""

    __slots__ = ("base_offset", "next_offset", "version")

    def __init__(self, base_offset: int, next_offset: int, version: int) -> None:
        self.base_offset = base_offset
        self.next_offset = next_offset
        self.version = version

    def __repr__(self) -> str:
        return f"Appended({self.base_offset}, {self.next_offset}, version={self.version})"


class LogAppending(LogReading):
    """The appending half of `VnodeLog`."""

    def __init__(self, state: LogState) -> None:
        super().__init__(state)
        self.pending: Collection[OpenFrame] = state.pending
        """The frames that no job has yet: not empty after an append."""
        self._open: OpenFrame | None = None
        """The frame that takes the next append; also the last one of `state.pending`."""
        self._refused: WalError | None = state.refusal()
        """The reason why every append is refused now, if it is.

        One object for all refusals, raised without its last traceback: that would grow with every refusal and
        keep the callers' objects alive.
        """

    def append(
        self,
        stream_id: int,
        batch: bytearray | memoryview,
        *,
        kind: int = EntryKind.DATA,
        producer: ProducerStamp | TransactionMarker | None = None,
        named: NamedWrite | None = None,
        reserved: bool = False,
    ) -> Appended:
        """Add one v2 batch, already validated, to the open frame.

        Base offset and leader epoch are patched in place; the bytes are kept by reference, so they must
        neither change nor be reused. `producer` is the batch's stamp when `producers(stream_id).check` found
        it new, or the marker of a CONTROL batch, which else is read; `named`: its named producers' writes.
        `reserved`: on a full disk the append may use the room kept for commits and deletions.
        Raises: LogFailed, LogDamaged, LogClosed, DiskFull, StoreBehind, StreamDropped: nothing was done.
        """
        state = self._state
        if self._refused is not None:
            raise self._refused.with_traceback(None)
        if (state.full or state.behind) and not reserved:
            raise state.no_room()
        size, prefix = len(batch), _unpack_prefix(batch)
        assert (prefix[1], prefix[3]) == (size - 12, 2)
        stream = state.streams.get(stream_id)
        if stream is None:
            stream = state.stream(stream_id)
        elif stream.dropped:
            raise StreamDropped(stream_id)
        frame, count = self._open, prefix[6] + 1
        if (
            frame is None
            or frame.payload_bytes + size > state.options.frame_bytes_max
            or frame.entry_count >= state.options.frame_entries_max
            or frame.next_version - frame.base_version > FRAME_RECORDS_MAX - count
        ):
            frame = self._next_frame()
        mark = None if stream.ledgers is None else self._count_entry(stream, stream.ledgers, size)
        base, version, epoch = stream.next_offset, frame.next_version, stream.leader_epoch
        stream.next_offset = next_offset = base + count
        _pack_offset(batch, 0, base)
        _pack_epoch(batch, LEADER_EPOCH_POSITION, epoch)
        entry = _pack_entry(
            stream_id, kind, 0, epoch, base, count, size, prefix[8], prefix[4], version - frame.base_version
        )
        if (run := frame.runs.get(stream_id)) is None:
            run = frame.runs[stream_id] = Run(stream)
        run.add(entry, batch, base, next_offset, size, prefix[8], version)
        frame.entry_count += 1
        frame.payload_bytes += size
        frame.next_version = state.next_version = version + count
        if producer is not None or kind == EntryKind.CONTROL:
            self._note_producer(stream_id, batch, producer, base, prefix)
            frame.producers_token = state.producers.token
        if named is not None:
            self._note_named(stream_id, named, prefix)
        if mark is not None:
            self._append_mark(stream_id, mark)
        return Appended(base, next_offset, version)

    def count_entries(self, stream_id: int, limits: Callable[[], Limits]) -> None:
        """Count the stream's batches, in ledgers with these limits; to be called before its first append.

        After a restart it gives the limits again; what was counted is known.
        """
        stream = self._state.stream(stream_id)
        if stream.ledgers is None:
            stream.ledgers = Ledgers()
            if stream.next_offset:
                stream.ledgers.lose_count()  # a repair has lost the stream's first mark
        stream.ledgers.limits = limits

    def _count_entry(self, stream: Stream, ledgers: Ledgers, size_bytes: int) -> Mark | None:
        """Count the next batch; return the mark for its frame, if one is due."""
        mark = ledgers.take(
            size_bytes, epoch=stream.leader_epoch, offset=stream.next_offset, wall_ms=self._wall_ms
        )
        if mark is not None:
            stream.leader_epoch = mark.ledger_id
        return mark

    def _append_mark(self, stream_id: int, mark: Mark) -> None:
        """Add a mark to the frame of the batch that was appended just now."""
        self._append_meta(stream_id, mark.encode())
        if mark.flags & Flags.BEGINS:
            assert self._open is not None
            # An id given out again after a power failure would stand for two batches.
            self._open.must_sync = True

    @property
    def _wall_ms(self) -> int:
        return self._state.now_ms + self._state.wall_offset_ms

    def keep_together(self, size_bytes: int, *, entries: int, records: int) -> None:
        """Have the next appends, up to so many in all, join one frame: a crash keeps all of them or none.

        What is larger than a frame may be (`frame_bytes_max`) is only kept in order.
        """
        frame, options = self._open, self._state.options
        if frame is not None and (
            frame.payload_bytes + size_bytes > options.frame_bytes_max
            or frame.entry_count + entries > options.frame_entries_max
            or frame.next_version - frame.base_version > FRAME_RECORDS_MAX - records
        ):
            self._next_frame()

    def _note_producer(
        self,
        stream_id: int,
        batch: bytearray | memoryview,
        producer: ProducerStamp | TransactionMarker | None,
        base_offset: int,
        prefix: tuple[int, ...],
    ) -> None:
        producers, now_ms = self._state.producers, self._state.now_ms
        if isinstance(producer, ProducerStamp):
            producers.appended(
                stream_id, producer, base_offset=base_offset, timestamp_ms=prefix[8], now_ms=now_ms
            )
            return
        marker = producer or read_marker(memoryview(batch), producer_id=prefix[9], epoch=prefix[10])
        if marker is not None:
            producers.ended(stream_id, marker, offset=base_offset, now_ms=now_ms)
            scope, states = self._state.named.decided(
                stream_id, marker.producer_id, is_commit=marker.is_commit
            )
            if states:
                self._change_named(stream_id, scope, states)

    def _note_named(self, stream_id: int, named: NamedWrite, prefix: tuple[int, ...]) -> None:
        transaction = prefix[9] if prefix[5] & TRANSACTIONAL_BIT else NONE
        self._change_named(stream_id, named.scope, named.states(stream_id, transaction))

    def _change_named(self, stream_id: int, scope: int, states: States) -> None:
        """Change states of named producers, in the frame of the batch that was appended just now."""
        frame, named = self._open, self._state.named
        assert frame is not None
        self._append_meta(stream_id, named_meta(scope, states))
        named.change(scope, states)
        frame.named_token = named.token

    def append_refused(self, stream_id: int, producer: ProducerStamp) -> None:
        """Record that a batch found new by `producers(stream_id).check` could not be appended.

        Everything its producer sent after it is then out of order until the batch comes again.
        """
        self._state.producers.refused(stream_id, producer, now_ms=self._state.now_ms)

    def append_meta(self, stream_id: int, payload: bytes) -> int:
        """Add the caller's own bytes under a stream id; return the version that they take.

        `read_versions` finds them once they are synced.
        Raises: LogFailed, LogDamaged, LogClosed.
        """
        return self._append_alone(stream_id, opaque_meta(payload))

    def set_log_start(self, stream_id: int, offset: int) -> int:
        """Move a stream's log start up to `offset`, at most to the high watermark; visible once synced.

        Returns the version that makes it visible; one that is already written when nothing had to be done.
        Raises: OffsetOutOfRange above the high watermark; LogFailed, LogDamaged, LogClosed.
        """
        state = self._state
        stream = state.streams.get(stream_id)
        log_start, end = (stream.log_start, stream.high_watermark) if stream is not None else (0, 0)
        if not 0 <= offset <= end:
            raise OffsetOutOfRange(stream_id, offset, log_start, end)
        if stream is None or offset <= log_start:
            return state.written_version - 1
        # Bytes that a pending move releases must not be released again.
        announced = state.announced_starts.get(stream_id, log_start)
        if offset > announced:
            released_bytes = bytes_between(state, stream, announced, offset)
            self._append_alone(stream_id, log_start_meta(offset, released_bytes))
            state.announced_starts[stream_id] = offset
        return state.next_version - 1

    def drop_stream(self, stream_id: int) -> int:
        """Drop a stream: appends are refused at once, and the stream is forgotten once this is synced.

        Return a version that is durable when it is.  Raises: LogFailed, LogDamaged, LogClosed.
        """
        if self._refused is not None:
            raise self._refused.with_traceback(None)
        stream = self._state.streams.get(stream_id)
        if stream is not None and not stream.dropped:
            stream.dropped = True
            return self._append_alone(stream_id, drop_meta())
        return self._state.next_version - 1

    def set_leader_epoch(self, stream_id: int, epoch: int) -> None:
        """Begin a new leader epoch at the stream's log end; it must be above the last one."""
        stream = self._state.stream(stream_id)
        assert epoch > stream.leader_epoch
        if stream.ledgers is None:
            self._append_meta(stream_id, leader_epoch_meta(epoch, stream.next_offset))
            assert self._open is not None
            # A power failure may not take it: readers could have records of it, and it would begin again.
            self._open.must_sync = True
        else:
            mark = stream.ledgers.begin(epoch, offset=stream.next_offset, wall_ms=self._wall_ms)
            self._append_mark(stream_id, mark)
        stream.leader_epoch = epoch

    def begin_leader_epoch(self, following: Callable[[int], int]) -> None:
        """Begin an epoch in every stream, also in those to come: what follows is another history.

        `following` returns the next one after the last one known. A stream with ledgers has epochs of its
        own, which the others do not follow.
        """
        epoch = following(self.largest_leader_epoch())
        self.set_leader_epoch(LOG_STREAM, epoch)
        for stream_id in list(self.streams()):
            stream = self._state.streams[stream_id]
            last = stream.leader_epoch
            self.set_leader_epoch(stream_id, epoch if stream.ledgers is None else following(last))

    def fill_lost_offsets(self) -> None:
        """Append an empty batch over the offsets, if any, between each stream's last batch and its end."""
        for stream_id in list(self.streams()):
            stream = self._state.streams[stream_id]
            end, last = stream.high_watermark, max(stream.log_start, end_of_data(self._state, stream_id))
            if last < end:
                self._fill(stream_id, stream, last, end)

    def _fill(self, stream_id: int, stream: Stream, last: int, end: int) -> None:
        if stream.ledgers is not None:
            stream.ledgers.lose_count()
        stream.next_offset = stream.high_watermark = last
        if stream.ledgers is not None:
            # Later ledgers may have begun in what was lost.
            self.set_leader_epoch(stream_id, epoch_after_loss(stream.leader_epoch, self._wall_ms))
        self.append(stream_id, empty_batch(end - last), reserved=True)

    def _append_alone(self, stream_id: int, payload: bytes) -> int:
        """Add a meta entry that belongs to nothing appended before it: a full frame takes no more of them."""
        frame = self._open
        if frame is not None and frame.entry_count >= self._state.options.frame_entries_max:
            self._open = None
        return self._append_meta(stream_id, payload)

    def _append_meta(self, stream_id: int, payload: bytes) -> int:
        if self._refused is not None:
            raise self._refused.with_traceback(None)
        frame = self._open
        if frame is None:
            frame = self._next_frame()
        version = frame.add_meta(stream_id, payload)
        self._state.next_version = frame.next_version
        return version

    def _announce_retired(self, segments: list[Segment]) -> int:
        for segment in segments:
            self._append_meta(0, retired_meta(segment.base_version))
            self._state.retiring_bases.add(segment.base_version)
        return len(segments)

    def _next_frame(self) -> OpenFrame:
        frame = self._open = OpenFrame(self._state.next_version)
        self._state.pending.append(frame)
        return frame
