"""Replay of a scanned frame: its effect on the streams' state, as in `synced` when it was written."""

from __future__ import annotations

from wal.disk import Buffer
from wal.format import ENTRY, PRODUCER_ID, PRODUCER_ID_POSITION, EntryKind, FrameKind, MetaKind
from wal.ledgers import read_mark
from wal.meta import apply_meta, put_mark
from wal.producers import HEAD_BYTES
from wal.scan import FoundFrame
from wal.state import LogState
from wal.stream import Stream


def replay_frame(state: LogState, frame: FoundFrame) -> None:
    """Apply the frame's entries; skip those that the state already contains."""
    if frame.header.kind != FrameKind.DATA:
        return
    assert frame.payload is not None
    payload = frame.payload
    start = 0
    streams = state.streams
    replayed = state.replayed
    if replayed is not None and replayed.version is None:
        replayed.version = frame.header.base_version
    for stream_id, kind, _, epoch, base_offset, count, size_bytes, timestamp, _, _ in ENTRY.iter_unpack(
        frame.table
    ):
        end = start + size_bytes
        if kind == EntryKind.META:
            _replay_meta(state, stream_id, payload[start:end], frame.table)
        else:
            stream = streams.get(stream_id)
            if stream is None:
                stream = state.stream(stream_id)
            if base_offset >= stream.next_offset:
                if replayed is not None:
                    replayed.add(stream_id, base_offset, size_bytes)
                if stream.ledgers is not None:
                    replay_entry(state, stream, base_offset, size_bytes, epoch)
                elif epoch > stream.leader_epoch and kind != EntryKind.COPY:
                    stream.begin_epoch(epoch, base_offset)  # a repair has lost the entry that began it
                stream.next_offset = stream.high_watermark = base_offset + count
                stream.size_bytes += size_bytes
                if timestamp > stream.max_timestamp:
                    stream.max_timestamp = timestamp
                    stream.max_timestamp_offset = base_offset
                (producer_id,) = PRODUCER_ID.unpack_from(payload, start + PRODUCER_ID_POSITION)
                if producer_id >= 0 and kind != EntryKind.COPY:
                    state.producers.replay(
                        stream_id, payload[start : start + HEAD_BYTES], ingest_ms=state.now_ms
                    )
        start = end


def _replay_meta(state: LogState, stream_id: int, payload: bytes | memoryview, table: Buffer) -> None:
    if payload[0] == MetaKind.NAMED:
        state.named.replay(payload)
    elif payload[0] == MetaKind.MARK:
        replay_mark(state, stream_id, payload, table)
    else:
        apply_meta(state, stream_id, payload)


def replay_entry(state: LogState, stream: Stream, base_offset: int, size_bytes: int, epoch: int) -> None:
    """Count a batch of a stream with ledgers."""
    assert stream.ledgers is not None
    wall_ms = state.now_ms + state.wall_offset_ms
    stream.ledgers.replay(
        size_bytes, offset=base_offset, epoch=epoch, due=stream.next_offset, wall_ms=wall_ms
    )
    if epoch > stream.leader_epoch:
        stream.begin_epoch(epoch, base_offset)  # a repair may have lost its mark


def replay_mark(state: LogState, stream_id: int, payload: bytes | memoryview, table: Buffer) -> None:
    """Keep a mark, and count on from it: the frame's batches at and after it were counted before."""
    mark = read_mark(payload)
    if not put_mark(state, stream_id, mark):
        return
    sizes = [
        entry[6]
        for entry in ENTRY.iter_unpack(table)
        if entry[0] == stream_id and entry[1] != EntryKind.META and entry[4] >= mark.offset
    ]
    ledgers = state.stream(stream_id).ledgers
    assert ledgers is not None
    ledgers.resume(mark.ordinal + len(sizes), mark.total_bytes + sum(sizes))
