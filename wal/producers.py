"""The producers of all streams of a vnode: the sequences that each wrote, and which of them are durable.

An append counts at once, so that the next batch is checked against it; `revert` takes back what a failed sync
lost. Unlike in Kafka, idleness counts from the append and not from the records' timestamps, so that old data
written today does not expire its producer at once. The rules for one stream are in `wal.stream_producers`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from wal.format import BATCH_PREFIX, BatchPrefix
from wal.producer_changes import Change, undone_in
from wal.producer_errors import (
    CoordinatorFenced,
    InvalidProducerEpoch,
    InvalidSequence,
    InvalidTransactionState,
    OutOfOrderSequence,
    ProducerError,
)
from wal.producer_snapshot import ProducerSnapshot
from wal.stream_producers import (
    NEW,
    Duplicate,
    New,
    ProducerDescription,
    ProducerStamp,
    StreamProducers,
    awaiting_first,
    stamp_of,
    without_first,
)
from wal.stream_rounds import Round, StreamRow
from wal.transactions import NO_OFFSET, AbortedTransaction, TransactionMarker, read_marker

if TYPE_CHECKING:
    from wal.options import LogOptions

__all__ = [
    "NEW",
    "AbortedTransaction",
    "CoordinatorFenced",
    "Duplicate",
    "InvalidProducerEpoch",
    "InvalidSequence",
    "InvalidTransactionState",
    "New",
    "OutOfOrderSequence",
    "ProducerDescription",
    "ProducerError",
    "ProducerSnapshot",
    "ProducerStamp",
    "Producers",
    "StreamProducers",
    "TransactionMarker",
    "stamp_of",
]

EXPIRATION_MS = 24 * 3600 * 1000
"""Kafka's default of producer.id.expiration.ms."""

PRODUCERS_PER_STREAM_MAX = 10_000
"""About 4 MB. Kafka has no limit; without one, a client that asks for ids in a loop could fill the memory."""

BYTES_MAX = 1 << 62
"""No limit: a log on its own is no part of a server."""

STREAM_BYTES = 350
PRODUCER_BYTES = 250
"""The memory of a stream with producers, and of each: an object with a dict and its place in another; 80 to
176 bytes of state, an id and a place (measured: 460 to 550 for the first of a stream, others 110 to 300)."""

NEARLY_FULL = 0.9
"""The part of the memory from which on producers may have been forgotten before a start."""

LOOKED_AT_MAX = 20
"""The streams that one append looks at to make room: one or two of them have a producer to be forgotten."""

STREAMS_PER_STEP = 500
"""The streams that are looked at between two looks at the time, where all are gone through."""

_NOBODY = StreamProducers()

HEAD_BYTES = 128
"""The most that `Producers.replay` needs of a batch: the prefix, and the whole of a control batch."""


class Producers:
    """The producers of all streams of a vnode, with the data to undo changes that did not become durable.

    `token` names a point in the order of changes. A group commit that ends at a token calls `durable(token)`;
    when it failed, `revert` takes back everything that is not durable.
    """

    def __init__(
        self,
        *,
        expiration_ms: int = EXPIRATION_MS,
        producers_per_stream_max: int = PRODUCERS_PER_STREAM_MAX,
        bytes_max: int = BYTES_MAX,
    ) -> None:
        self.expiration_ms = expiration_ms
        self.producers_per_stream_max = producers_per_stream_max
        self._streams: dict[int, StreamProducers] = {}
        self._changes: deque[Change] = deque()  # the changes that are not durable, oldest first
        self._durable_token = 0
        # The same streams in a row, and how far each of two has come on its way round them.
        self._row = StreamRow(self._streams)
        self._to_expire, self._to_evict = Round(self._row), Round(self._row)
        self._evicted_before_ms = 0
        """The moment since which producers that wrote nothing are forgotten for lack of memory: that at which
        the round began."""
        self.bytes_max = bytes_max
        self._count = 0
        self.aborted_bytes, self.aborted_bytes_max = 0, BYTES_MAX
        """The memory of all aborted transactions, and from which on none should begin that may be aborted."""
        # The streams that may have a transaction open or ending.  Others are left out when it is asked about.
        self._undecided: dict[int, None] = {}
        self.counts_at_once = True
        """Whether what is durable is also in the high watermark: not with durability `remote`."""
        self.forgotten = 0
        """The producers that were forgotten for lack of memory so far."""

    def configure(self, options: LogOptions) -> None:
        """Apply changed limits."""
        self.expiration_ms = options.producer_expiry_ms
        self.producers_per_stream_max = options.producers_per_stream_max
        self.bytes_max = options.producers_bytes_max
        self.counts_at_once = options.durability != "remote"
        self.aborted_bytes_max = options.aborted_bytes_max

    @property
    def token(self) -> int:
        """The number of changes so far; a sync makes durable those that it covers."""
        return self._durable_token + len(self._changes)

    @property
    def size_bytes(self) -> int:
        """About how much memory all producers take."""
        return STREAM_BYTES * len(self._streams) + PRODUCER_BYTES * self._count

    def of(self, stream_id: int) -> StreamProducers:
        """Return the producers of a stream, read-only; nothing is kept for a stream without any."""
        return self._streams.get(stream_id, _NOBODY)

    def is_full(self, stream_id: int) -> bool:
        """Whether producers of a stream may have been forgotten so that others could be remembered."""
        if len(self.of(stream_id).states) >= self.producers_per_stream_max:
            return True
        # After a start it is not known whether some were forgotten before: memory is full then as it was.
        return bool(self.forgotten) or self.size_bytes > NEARLY_FULL * self.bytes_max

    def largest_id(self, below: int) -> int:
        """Return the largest producer id less than `below`; -1 without any."""
        ids = (producer_id for stream in self._streams.values() for producer_id in stream.states)
        return max((producer_id for producer_id in ids if producer_id < below), default=-1)

    def streams(self) -> list[int]:
        """Return the streams that have producers, or aborted transactions."""
        return list(self._streams)

    def undecided_streams(self) -> list[int]:
        """Return the streams that may have a transaction that is open, or whose marker is not durable yet."""
        return list(self._undecided)

    def hanging_streams(self, since_ms: int) -> Generator[None, None, int]:
        """Return in steps how many streams have a transaction open, and nothing was written since then."""
        count = 0
        for number, stream_id in enumerate(self.undecided_streams(), 1):
            stream = self._streams.get(stream_id)
            if stream is not None and stream.transactions is not None and stream.transactions.is_undecided:
                count += stream.has_idle_transaction(since_ms)
            else:
                self._undecided.pop(stream_id, None)
            if not number % STREAMS_PER_STEP:
                yield
        return count

    def appended(
        self, stream_id: int, stamp: ProducerStamp, *, base_offset: int, timestamp_ms: int, now_ms: int
    ) -> None:
        """Record a batch that `check` found new; `timestamp_ms` is the answer to a duplicate."""
        stream = self._have(stream_id)
        state = stream.state_after(stamp, base_offset=base_offset, timestamp_ms=timestamp_ms, now_ms=now_ms)
        self._change(stream_id, stream, stamp.producer_id, state)
        if len(stream.states) > self.producers_per_stream_max:
            evicted = stream.maybe_idle_longest()
            if evicted is not None and evicted != stamp.producer_id:
                self._change(stream_id, stream, evicted, None)
        self._make_room(now_ms)

    def _make_room(self, now_ms: int) -> None:
        """Forget producers until the rest fits, as far as they are found at once.

        All streams are gone through in turn, and in each the producer idle longest is forgotten unless it has
        written since the round began.  So those that write now and then stay, however many others come.
        """
        if self.size_bytes <= self.bytes_max:
            return
        for _ in range(LOOKED_AT_MAX):
            stream_id = self._to_evict.next()
            if stream_id is None:
                self._evicted_before_ms = now_ms
                continue
            stream = self._streams[stream_id]
            evicted = stream.idle_since(self._evicted_before_ms)
            if evicted is not None:
                self.forgotten += 1
                self._change(stream_id, stream, evicted, None)
                self._forget_if_empty(stream_id, stream)
                if self.size_bytes <= self.bytes_max:
                    return

    def refused(self, stream_id: int, stamp: ProducerStamp, *, now_ms: int) -> None:
        """Record that a batch that `check` found new could not be appended.

        An unknown producer may begin at any sequence; one whose first batch was refused must not, because the
        batches that it sent after that one would be stored before it.
        """
        stream = self._have(stream_id)
        is_first = stamp.first_sequence == 0 and stamp.producer_id not in stream.states
        if is_first and len(stream.states) < self.producers_per_stream_max:
            self._put(stream_id, stream, stamp.producer_id, awaiting_first(stamp.epoch, now_ms))
        self._forget_if_empty(stream_id, stream)
        self._make_room(now_ms)

    def ended(self, stream_id: int, marker: TransactionMarker, *, offset: int, now_ms: int) -> None:
        """Record a marker appended at `offset`; one that ends nothing still raises the epoch."""
        stream = self._have(stream_id)
        before = stream.states.get(marker.producer_id)
        self._changes.append(Change(stream_id, marker.producer_id, before, offset))
        if stream.transactions is not None:
            weight = stream.aborted_bytes
            stream.transactions.end(marker.producer_id, marker_offset=offset, is_commit=marker.is_commit)
            self.aborted_bytes += stream.aborted_bytes - weight
        self._put(stream_id, stream, marker.producer_id, stream.state_after_marker(marker, now_ms=now_ms))
        self._make_room(now_ms)

    def replay(self, stream_id: int, head: bytes | memoryview, *, ingest_ms: int) -> None:
        """Record a batch found in the log; it is durable, and not checked again.

        `head` is the beginning of the batch: its 61-byte prefix, or the whole of a control batch
        (`HEAD_BYTES` are enough). Batches that the state already knows are skipped, so that replay may
        begin too early.
        """
        prefix = BatchPrefix._make(BATCH_PREFIX.unpack_from(head))
        if prefix.producer_id < 0 or self.of(stream_id).knows(prefix):
            return
        offset = prefix.base_offset
        stamp = stamp_of(prefix)
        if stamp is None:
            marker = read_marker(head, producer_id=prefix.producer_id, epoch=prefix.producer_epoch)
            if marker is not None:
                self.ended(stream_id, marker, offset=offset, now_ms=ingest_ms)
        else:
            timestamp_ms = prefix.max_timestamp
            self.appended(stream_id, stamp, base_offset=offset, timestamp_ms=timestamp_ms, now_ms=ingest_ms)
        self.durable(self.token)

    def durable(self, token: int) -> None:
        """Mark everything before `token` as durable; it will not be taken back."""
        assert token <= self.token, f"token {token} is ahead of {self.token}"
        while self._durable_token < token:
            change = self._changes.popleft()
            self._durable_token += 1
            if change.marker_offset != NO_OFFSET and self.counts_at_once:
                stream = self._streams.get(change.stream_id)
                if stream is not None and stream.settled(change.marker_offset):
                    self._undecided.pop(change.stream_id, None)

    def revert(self) -> None:
        """Take back everything that is not durable, newest first."""
        touched = {}
        while self._changes:
            change = self._changes.pop()
            stream = touched[change.stream_id] = self._have(change.stream_id)
            if change.marker_offset != NO_OFFSET and stream.transactions is not None:
                weight = stream.aborted_bytes
                stream.transactions.undo_end(change.marker_offset)
                self.aborted_bytes += stream.aborted_bytes - weight
            before = change.before
            if before is None and change.marker_offset == NO_OFFSET:
                # Batches after the lost first one may be on their way: none of them may come first.
                before = without_first(stream.states[change.producer_id])
            self._put(change.stream_id, stream, change.producer_id, before)
        for stream_id, stream in touched.items():
            self._forget_if_empty(stream_id, stream)

    def drop_stream(self, stream_id: int) -> None:
        """Forget a stream; to be called when its drop is durable."""
        stream = self._streams.get(stream_id)
        if stream is not None:
            self._count -= len(stream.states)
            self.aborted_bytes -= stream.aborted_bytes
            self._remove(stream_id)

    def log_start_moved(self, stream_id: int, log_start: int) -> None:
        """Forget the aborted transactions below the log start.

        Producers stay: their retries may still come, even after all their records were deleted.
        """
        stream = self._streams.get(stream_id)
        if stream is not None and stream.transactions is not None:
            weight = stream.aborted_bytes
            stream.transactions.forget_before(log_start)
            self.aborted_bytes += stream.aborted_bytes - weight
            self._forget_if_empty(stream_id, stream)

    def expire(self, now_ms: int, *, stream_count: int = 1000) -> int:
        """Forget idle producers in the next `stream_count` streams, and return their number.

        A producer with an open transaction stays. Repeated calls cycle through all streams.
        """
        expired = 0
        for _ in range(min(stream_count, len(self._streams))):
            stream_id = self._to_expire.next()
            if stream_id is not None:
                stream = self._streams[stream_id]
                expired += stream.forget_idle(now_ms - self.expiration_ms)
                self._forget_if_empty(stream_id, stream)
        self._count -= expired
        return expired

    def snapshot(self) -> ProducerSnapshot:
        """Return the durable part of all this; later changes do not affect it."""
        snapshot = ProducerSnapshot()
        self.capture(self.streams(), snapshot)
        return snapshot

    def capture(self, stream_ids: Sequence[int], snapshot: ProducerSnapshot) -> None:
        """Add the durable part of what some streams have, if they are still there, to a snapshot.

        The tables are shared, not copied, until their next change: about 0.4 µs per stream.
        """
        undone, markers = undone_in(frozenset(stream_ids), self._changes)
        for stream_id in stream_ids:
            stream = self._streams.get(stream_id)
            if stream is None:
                continue
            states = stream.share_states()
            if stream_id in undone:
                older = {**states, **undone[stream_id]}
                states = {producer_id: state for producer_id, state in older.items() if state is not None}
            snapshot.stream_ids.append(stream_id)
            snapshot.states.append(states)
            if stream.transactions is not None:
                aborted = stream.transactions.aborted_rows(markers.get(stream_id))
                if aborted:
                    snapshot.aborted[stream_id] = aborted

    def restore(self, snapshot: ProducerSnapshot) -> None:
        """Replace everything with a snapshot."""
        self._row.clear()
        self._undecided.clear()
        self._durable_token = self.token
        self._changes.clear()
        for stream_id, states in zip(snapshot.stream_ids, snapshot.states, strict=True):
            stream = StreamProducers(states)
            self._row.add(stream_id, stream)
            if stream_id in snapshot.aborted:
                stream.have_transactions().set_aborted(snapshot.aborted[stream_id])
            if stream.transactions is not None:
                self._undecided[stream_id] = None
        self._count = sum(map(len, snapshot.states))
        self.aborted_bytes = sum(stream.aborted_bytes for stream in self._streams.values())

    def _have(self, stream_id: int) -> StreamProducers:
        stream = self._streams.get(stream_id)
        if stream is None:
            stream = StreamProducers()
            self._row.add(stream_id, stream)
        return stream

    def _change(self, stream_id: int, stream: StreamProducers, producer_id: int, state: bytes | None) -> None:
        self._changes.append(Change(stream_id, producer_id, stream.states.get(producer_id)))
        self._put(stream_id, stream, producer_id, state)

    def _put(self, stream_id: int, stream: StreamProducers, producer_id: int, state: bytes | None) -> None:
        self._count -= len(stream.states)
        stream.put(producer_id, state)
        self._count += len(stream.states)
        if stream.transactions is not None:
            self._undecided[stream_id] = None

    def _forget_if_empty(self, stream_id: int, stream: StreamProducers) -> None:
        if stream.is_empty():
            self._remove(stream_id)

    def _remove(self, stream_id: int) -> None:
        self._row.remove(stream_id)
        self._undecided.pop(stream_id, None)
