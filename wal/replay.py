"""Replay of a scanned frame: its effect on the streams' state, as in `synced` when it was written."""

from __future__ import annotations

from wal.format import ENTRY, PRODUCER_ID, PRODUCER_ID_POSITION, EntryKind, FrameKind, MetaKind
from wal.meta import apply_meta
from wal.producers import HEAD_BYTES
from wal.scan import FoundFrame
from wal.state import LogState


def replay_frame(state: LogState, frame: FoundFrame) -> None:
    """Apply the frame's entries; skip those that the state already contains."""
    if frame.header.kind != FrameKind.DATA:
        return
    assert frame.payload is not None
    payload = frame.payload
    start = 0
    streams = state.streams
    for stream_id, kind, _, _, base_offset, count, size_bytes, timestamp, _, _ in ENTRY.iter_unpack(
        frame.table
    ):
        end = start + size_bytes
        if kind == EntryKind.META:
            if payload[start] == MetaKind.NAMED:
                state.named.replay(payload[start:end])
            apply_meta(state, stream_id, payload[start:end])
        else:
            stream = streams.get(stream_id)
            if stream is None:
                stream = state.stream(stream_id)
            if base_offset >= stream.next_offset:
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
