"""Meta entries: their payloads, and their effect on the state once they are durable."""

from __future__ import annotations

from wal.format import COMPACTED_META, LEADER_EPOCH_META, LOG_START_META, RETIRED_META, MetaKind
from wal.ledgers import Flags, Ledgers, Mark, read_mark
from wal.state import LogState
from wal.stream import Stream


def log_start_meta(offset: int, released_bytes: int) -> bytes:
    """Return the payload that moves a stream's log start past `released_bytes`."""
    return LOG_START_META.pack(MetaKind.LOG_START, offset, released_bytes)


def drop_meta() -> bytes:
    """Return the payload that drops a stream."""
    return bytes((MetaKind.DROP,))


def leader_epoch_meta(epoch: int, offset: int) -> bytes:
    """Return the payload that begins a leader epoch at an offset."""
    return LEADER_EPOCH_META.pack(MetaKind.LEADER_EPOCH, epoch, offset)


def retired_meta(base_version: int) -> bytes:
    """Return the payload that allows the deletion of a segment."""
    return RETIRED_META.pack(MetaKind.RETIRED, base_version)


def compacted_meta(clean_end: int, copies_id: int, replaced_bytes: int) -> bytes:
    """Return the payload that makes a stream's copies count below `clean_end`, in place of so many bytes."""
    return COMPACTED_META.pack(MetaKind.COMPACTED, clean_end, copies_id, replaced_bytes)


def opaque_meta(payload: bytes) -> bytes:
    """Return the payload that carries a caller's bytes."""
    return bytes((MetaKind.OPAQUE,)) + payload


def apply_meta(state: LogState, stream_id: int, payload: bytes | memoryview) -> None:
    """Apply a durable meta entry; applying it again changes nothing."""
    kind = payload[0]
    if kind == MetaKind.LOG_START:
        state.note_deletion(stream_id)
        _, offset, released_bytes = LOG_START_META.unpack(payload)
        move_log_start(state.stream(stream_id), offset, released_bytes)
        move_copies_start(state, state.stream(stream_id))
        trim_ledgers(state.stream(stream_id))
        if state.announced_starts.get(stream_id, offset) <= offset:
            state.announced_starts.pop(stream_id, None)
        state.producers.log_start_moved(stream_id, offset)
    elif kind == MetaKind.DROP:
        state.note_deletion(stream_id)
        forget_stream(state, stream_id)
    elif kind == MetaKind.LEADER_EPOCH:
        _, epoch, offset = LEADER_EPOCH_META.unpack(payload)
        state.stream(stream_id).begin_epoch(epoch, offset)
    elif kind == MetaKind.MARK:
        put_mark(state, stream_id, read_mark(payload))
    elif kind == MetaKind.RETIRED:
        base_version = RETIRED_META.unpack(payload)[1]
        state.retired_bases.add(base_version)
        for segment in state.segments.all:
            if segment.base_version == base_version:
                segment.retired = True
    elif kind == MetaKind.COMPACTED:
        _, clean_end, copies_id, replaced_bytes = COMPACTED_META.unpack(payload)
        let_copies_count(state, stream_id, clean_end, copies_id, replaced_bytes)


def undo_meta(state: LogState, stream_id: int, payload: bytes) -> None:
    """Take back what appending a meta entry announced, since the entry did not become durable."""
    stream = state.streams.get(stream_id)
    kind = payload[0]
    if kind == MetaKind.LOG_START:
        state.announced_starts.pop(stream_id, None)
    elif kind == MetaKind.DROP and stream is not None:
        stream.dropped = False
    elif kind in (MetaKind.LEADER_EPOCH, MetaKind.MARK) and stream is not None:
        stream.leader_epoch = stream.epochs[-1][0] if stream.epochs else 0
        if stream.ledgers is not None:
            stream.ledgers.revert()
    elif kind == MetaKind.RETIRED:
        state.retiring_bases.discard(RETIRED_META.unpack(payload)[1])


def put_mark(state: LogState, stream_id: int, mark: Mark) -> bool:
    """Keep a durable mark of a stream's entries; return whether it is new."""
    stream = state.stream(stream_id)
    if stream.ledgers is None:
        stream.ledgers = Ledgers()
    is_new = stream.ledgers.put(mark)
    if is_new and mark.flags & Flags.BEGINS:
        state.ledgers_begun += 1
        stream.begin_epoch(mark.ledger_id, mark.offset)
    return is_new


def let_copies_count(
    state: LogState, stream_id: int, clean_end: int, copies_id: int, replaced_bytes: int
) -> None:
    """Read these copies below `clean_end` from now on, not earlier copies or the batches replaced."""
    stream = state.streams.get(stream_id)
    if stream is None:
        forget_copies(state, copies_id)
    elif copies_id > stream.copies_id:
        forget_copies(state, stream.copies_id)
        state.compactions += 1
        stream.copies_id, stream.clean_end = copies_id, clean_end
        copies = state.streams.get(copies_id)
        copied_bytes = copies.size_bytes if copies is not None else 0
        stream.size_bytes = max(0, stream.size_bytes - replaced_bytes) + copied_bytes
        if stream.max_timestamp_offset < clean_end:
            # Its record may have been deleted: it is looked up again on demand.
            stream.max_timestamp_offset = -1
        # Transactions aborted below have no records left; readers need not know of them.
        state.producers.log_start_moved(stream_id, max(stream.log_start, clean_end))
        move_copies_start(state, stream)


def move_copies_start(state: LogState, stream: Stream) -> None:
    """Let the copies begin where their stream does; forget them when that is past their end."""
    copies = state.streams.get(stream.copies_id) if stream.copies_id else None
    if copies is not None and stream.log_start > copies.log_start:
        copies.log_start = stream.log_start
        if stream.log_start >= copies.next_offset:
            forget_copies(state, stream.copies_id)


def forget_copies(state: LogState, copies_id: int) -> None:
    """Forget the stream of copies with this id, if there is one."""
    copies = state.streams.pop(copies_id, None) if copies_id else None
    if copies is not None:
        copies.dropped = copies.forgotten = True


def trim_ledgers(stream: Stream) -> None:
    """Forget the ledgers and marks before the log start."""
    if stream.ledgers is not None:
        stream.ledgers.trim(stream.log_start)


def move_log_start(stream: Stream, offset: int, released_bytes: int) -> None:
    """Raise the log start; it never moves back."""
    if offset <= stream.log_start:
        return
    stream.log_start = offset
    stream.size_bytes = max(0, stream.size_bytes - released_bytes)
    stream.high_watermark = max(stream.high_watermark, offset)
    stream.next_offset = max(stream.next_offset, offset)


def forget_stream(state: LogState, stream_id: int) -> None:
    """Remove a dropped stream."""
    state.producers.drop_stream(stream_id)
    state.named.drop_stream(stream_id)
    state.announced_starts.pop(stream_id, None)
    stream = state.streams.pop(stream_id, None)
    if stream is not None:
        stream.dropped = stream.forgotten = True
        forget_copies(state, stream.copies_id)
