"""The conversion of a vnode's durable state to a checkpoint and back."""

from __future__ import annotations

from wal.checkpoint import (
    COMPACTION_COLUMNS,
    EPOCH_COLUMNS,
    SEGMENT_COLUMNS,
    STREAM_COLUMNS,
    Checkpoint,
    empty_table,
    log_number,
    table_of,
)
from wal.index_parts import Part, take_part
from wal.ledger_snapshot import CountedStream, Table
from wal.producer_snapshot import ProducerSnapshot
from wal.segment import Segment, Totals, part_path, segment_name
from wal.state import LogState
from wal.stream import Stream
from wal.stream_producers import with_appended_ms

STREAMS_PER_STEP = 1_000
"""The number of streams captured before other work gets its turn: 1 to 2 ms, as their objects are cold."""


class Capture:
    """The capture of a checkpoint from a running log, a slice of the streams at a time.

    Streams of later slices are captured in a later state. That is harmless: the captured state is durable by
    then, and replay begins at the frame where the capture began and skips batches that a stream already
    contains. The same is true of a stream and its copies: replay learns of later copies from the meta entry
    that makes them count; and of producers, whose streams are captured after those of the log.
    """

    def __init__(self, state: LogState, *, generation: int, clean: bool) -> None:
        self._state = state
        self._generation = generation
        self._clean = clean
        self._sequence = state.next_sequence
        self._version = state.written_version
        self._last_crc = state.expected_crc
        self._segments = [_segment_row(segment) for segment in state.segments.all if segment.sealed]
        self.part: tuple[Segment, Part] | None = None
        """What the checkpoint adds to the stored index of the active segment."""
        active = state.active
        part = take_part(active, written_ms=state.now_ms + state.wall_offset_ms) if active else None
        if active is not None and part is not None:
            self.part = active, part
        self.useless_parts = [
            part_path(segment.path)
            for segment in state.segments.all
            if segment.sealed and segment.index_stored and segment.stored_part.position
        ]
        """The stored parts of segments that the checkpoint lists as sealed."""
        self._todo = list(state.streams.values())
        self._columns: Table = empty_table(STREAM_COLUMNS)
        self._epochs: list[tuple[int, int, int]] = []
        self._compactions: list[tuple[int, int, int]] = []
        self._counted: list[CountedStream] = []
        self._producers_todo = state.producers.streams()
        self._producers = ProducerSnapshot()

    def step(self) -> bool:
        """Capture a slice; return whether it was the last one."""
        left = STREAMS_PER_STEP - min(len(self._todo), STREAMS_PER_STEP)
        if self._todo:
            self._capture_streams()
        if left:
            self._state.producers.capture(self._producers_todo[-left:], self._producers)
            del self._producers_todo[-left:]
        return not (self._todo or self._producers_todo)

    def _capture_streams(self) -> None:
        streams = [stream for stream in self._todo[-STREAMS_PER_STEP:] if not stream.forgotten]
        del self._todo[-STREAMS_PER_STEP:]
        ids, ends, starts, sizes, timestamps, offsets = self._columns
        ids.extend([stream.stream_id for stream in streams])
        ends.extend([stream.high_watermark for stream in streams])
        starts.extend([stream.log_start for stream in streams])
        sizes.extend([stream.size_bytes for stream in streams])
        timestamps.extend([stream.max_timestamp for stream in streams])
        offsets.extend([stream.max_timestamp_offset for stream in streams])
        for stream in streams:
            if stream.ledgers is not None and stream.ledgers.ledgers:
                self._counted.append(CountedStream.of(stream.stream_id, stream.ledgers))
            elif stream.epochs:
                self._epochs += [(stream.stream_id, epoch, start) for epoch, start in stream.epochs]
            if stream.copies_id:
                self._compactions.append((stream.stream_id, stream.clean_end, stream.copies_id))

    def finish(self) -> Checkpoint:
        """Return the checkpoint, after the last step."""
        state = self._state
        assert not self._todo
        assert not self._producers_todo
        return Checkpoint(
            log_number=log_number(state.directory),
            generation=self._generation,
            sequence=self._sequence,
            durable_sequence=state.durable_sequence,
            version=self._version,
            last_crc=self._last_crc,
            clean=self._clean,
            segments=table_of(SEGMENT_COLUMNS, self._segments),
            streams=self._columns,
            epochs=table_of(EPOCH_COLUMNS, self._epochs),
            compactions=table_of(COMPACTION_COLUMNS, self._compactions),
            counted=self._counted,
            producers=self._producers,
            named=state.named.snapshot(),
        )


def _segment_row(segment: Segment) -> tuple[int, ...]:
    return (
        segment.base_version, segment.base_sequence, segment.salt, segment.next_version,
        segment.next_sequence, segment.end_position, segment.totals.max_timestamp, segment.last_crc,
        int(segment.retired),
    )  # fmt: skip


def restore(state: LogState, checkpoint: Checkpoint) -> list[Segment]:
    """Fill an empty state from a checkpoint; return the sealed segments that it lists, oldest first."""
    state.next_sequence = checkpoint.sequence
    state.durable_sequence = checkpoint.sequence
    state.written_version = state.next_version = checkpoint.version
    state.expected_crc = checkpoint.last_crc
    streams = state.streams
    for stream_id, next_offset, log_start, size, timestamp, offset in zip(*checkpoint.streams, strict=True):
        streams[stream_id] = Stream(stream_id, next_offset, log_start, size, timestamp, offset)
    for stream_id, epoch, start in zip(*checkpoint.epochs, strict=True):
        stream = state.streams[stream_id]
        stream.epochs = (*stream.epochs, (epoch, start))
        stream.leader_epoch = epoch
    for stream_id, clean_end, copies_id in zip(*checkpoint.compactions, strict=True):
        streams[stream_id].clean_end, streams[stream_id].copies_id = clean_end, copies_id
    for counted in checkpoint.counted:
        stream = streams[counted.stream_id]
        stream.ledgers, stream.epochs = counted.restored(), counted.epochs()
        stream.leader_epoch = stream.ledgers.epoch
    # Idleness counts on a clock that does not survive the process: it restarts for every producer.
    for states in checkpoint.producers.states:
        for producer_id, producer in states.items():
            states[producer_id] = with_appended_ms(producer, state.now_ms)
    state.producers.restore(checkpoint.producers)
    state.named.restore(checkpoint.named)
    return [_segment_of(state, row) for row in zip(*checkpoint.segments, strict=True)]


def _segment_of(state: LogState, row: tuple[int, ...]) -> Segment:
    (
        base_version,
        base_sequence,
        salt,
        next_version,
        next_sequence,
        end_position,
        timestamp,
        last_crc,
        retired,
    ) = row
    segment = Segment(
        state.path(segment_name(base_version)),
        base_version=base_version,
        base_sequence=base_sequence,
        salt=salt,
    )
    segment.next_version = next_version
    segment.next_sequence = next_sequence
    segment.end_position = end_position
    segment.totals = Totals(max_timestamp=timestamp)
    segment.last_crc = last_crc
    segment.sealed = True
    if retired:
        state.retired_bases.add(base_version)
    segment.index_stored = True
    return segment
