"""The producer table of a vnode against a model: a list of batches from which the rules are derived."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from wal.producer_snapshot import ProducerSnapshot
from wal.producers import (
    NEW,
    PRODUCER_BYTES,
    STREAM_BYTES,
    Duplicate,
    ProducerError,
    Producers,
    ProducerStamp,
    TransactionMarker,
)

STREAMS = st.integers(0, 1)
PRODUCERS = st.integers(0, 2)

ABORTED_BYTES = 32


class TableMachine(RuleBasedStateMachine):
    """A comparison with a model that keeps every accepted batch and derives the rules from the list."""

    def __init__(self) -> None:
        super().__init__()
        self.producers = Producers()
        self.log: list[tuple[int, int, ProducerStamp | TransactionMarker]] = []  # stream, offset, what
        self.durable_length = 0
        self.tokens: list[tuple[int, int]] = []  # token, length of the log
        # The epoch of each producer whose first batch, of sequence 0, was lost.
        self.awaited: dict[tuple[int, int], int] = {}

    def offset(self) -> int:
        return 10 * len(self.log)

    def history(
        self, stream_id: int, producer_id: int
    ) -> list[tuple[int, ProducerStamp | TransactionMarker]]:
        return [
            (offset, what)
            for stream, offset, what in self.log
            if (stream, what.producer_id) == (stream_id, producer_id)
        ]

    def expected(self, stream_id: int, batch: ProducerStamp) -> object:
        history = self.history(stream_id, batch.producer_id)
        if not history:
            return self.expected_of_unknown(batch, self.awaited.get((stream_id, batch.producer_id)))
        epoch = max(what.epoch for _, what in history)
        same = [
            (offset, what)
            for offset, what in history
            if isinstance(what, ProducerStamp) and what.epoch == epoch
        ]
        if batch.epoch == epoch:
            for offset, what in same[-5:]:
                if (what.first_sequence, what.record_count) == (batch.first_sequence, batch.record_count):
                    return Duplicate(offset, offset + what.record_count - 1, offset * 10)
        if batch.epoch < epoch:
            return "InvalidProducerEpoch"
        last = same[-1][1] if same and batch.epoch == epoch else None
        following = (last.first_sequence + last.record_count) % 2**31 if last else 0
        if batch.first_sequence != following:
            return "OutOfOrderSequence"
        if not batch.is_transactional and self.open_since(stream_id, batch.producer_id) is not None:
            return "InvalidTransactionState"
        return NEW

    def expected_of_unknown(self, batch: ProducerStamp, awaited_epoch: int | None) -> object:
        if awaited_epoch is None:
            return NEW
        if batch.epoch < awaited_epoch:
            return "InvalidProducerEpoch"
        return NEW if batch.first_sequence == 0 else "OutOfOrderSequence"

    def open_since(self, stream_id: int, producer_id: int) -> int | None:
        first = None
        for offset, what in self.history(stream_id, producer_id):
            if isinstance(what, TransactionMarker):
                first = None
            elif what.is_transactional and first is None:
                first = offset
        return first

    @rule(
        stream_id=STREAMS,
        producer_id=PRODUCERS,
        epoch=st.integers(0, 2),
        first=st.sampled_from([0, 1, 2, 3, 4, 2**31 - 1]),
        count=st.integers(1, 2),
        transactional=st.booleans(),
    )
    def send(
        self, stream_id: int, producer_id: int, epoch: int, first: int, count: int, transactional: bool
    ) -> None:
        self.offer(stream_id, ProducerStamp(producer_id, epoch, first, count, transactional))

    @rule(stream_id=STREAMS, producer_id=PRODUCERS, count=st.integers(1, 3), transactional=st.booleans())
    def send_next(self, stream_id: int, producer_id: int, count: int, transactional: bool) -> None:
        for each in self.producers.of(stream_id).describe():
            if each.producer_id == producer_id:
                following = (each.last_sequence + 1) % 2**31
                self.offer(stream_id, ProducerStamp(producer_id, each.epoch, following, count, transactional))

    @rule(back=st.integers(1, 8))
    def retry(self, back: int) -> None:
        for stream_id, _, what in self.log[-back:][:1]:
            if isinstance(what, ProducerStamp):
                self.offer(stream_id, what)

    def offer(self, stream_id: int, batch: ProducerStamp) -> None:
        try:
            answer: object = self.producers.of(stream_id).check(batch)
        except ProducerError as error:
            answer = type(error).__name__
        assert answer == self.expected(stream_id, batch)
        if answer == NEW:
            offset = self.offset()
            self.producers.appended(stream_id, batch, base_offset=offset, timestamp_ms=offset * 10, now_ms=0)
            self.log.append((stream_id, offset, batch))

    @rule(stream_id=STREAMS, producer_id=PRODUCERS, bump=st.integers(0, 1), is_commit=st.booleans())
    def mark(self, stream_id: int, producer_id: int, bump: int, is_commit: bool) -> None:
        history = self.history(stream_id, producer_id)
        awaited = self.awaited.get((stream_id, producer_id), 0)
        epoch = max((what.epoch for _, what in history), default=awaited) + bump
        marker = TransactionMarker(producer_id, epoch, 0, is_commit)
        assert self.producers.of(stream_id).check_marker(marker, bumps_epoch=False)
        self.producers.ended(stream_id, marker, offset=self.offset(), now_ms=0)
        self.log.append((stream_id, self.offset(), marker))

    @rule()
    def begin_sync(self) -> None:
        self.tokens.append((self.producers.token, len(self.log)))

    @precondition(lambda self: self.tokens)
    @rule()
    def synced(self) -> None:
        token, self.durable_length = self.tokens.pop(0)
        self.producers.durable(token)

    @rule()
    def sync_failed(self) -> None:
        lost = self.log[self.durable_length :]
        del self.log[self.durable_length :]
        self.tokens.clear()
        seen = {(stream, what.producer_id) for stream, _, what in self.log}
        for stream, _, what in lost:
            key = (stream, what.producer_id)
            if key not in seen and isinstance(what, ProducerStamp) and what.first_sequence == 0:
                self.awaited.setdefault(key, what.epoch)
            seen.add(key)
        self.producers.revert()

    @rule()
    def restart_from_checkpoint(self) -> None:
        """Lose everything that was not durable; the snapshot never held it."""
        snapshot = ProducerSnapshot()
        for stream_id in self.producers.streams():
            self.producers.capture([stream_id], snapshot)
        assert snapshot == self.producers.snapshot(), "in slices or at once"
        del self.log[self.durable_length :]
        self.tokens.clear()
        self.producers = Producers()
        self.producers.restore(snapshot)

    @invariant()
    def the_last_stable_offset_is_the_first_open_one(self) -> None:
        for stream_id in range(2):
            first = [self.open_since(stream_id, producer_id) for producer_id in range(3)]
            stable = min((offset for offset in first if offset is not None), default=self.offset())
            assert self.producers.of(stream_id).last_stable_offset(self.offset()) == stable

    @invariant()
    def every_stream_and_producer_is_counted_once(self) -> None:
        streams = self.producers._streams.values()
        weights = (STREAM_BYTES + PRODUCER_BYTES * len(stream.states) for stream in streams)
        assert self.producers.size_bytes == sum(weights)

    @invariant()
    def every_abort_is_counted_once(self) -> None:
        count = sum(len(self.aborted(stream_id)) for stream_id in range(2))
        assert self.producers.aborted_bytes == ABORTED_BYTES * count

    @invariant()
    def the_index_holds_every_abort(self) -> None:
        for stream_id in range(2):
            found = {
                (each.producer_id, each.first_offset, each.last_offset)
                for each in self.producers.of(stream_id).aborted_between(0, self.offset() + 1)
            }
            assert found == set(self.aborted(stream_id))

    def aborted(self, stream_id: int) -> list[tuple[int, int, int]]:
        found = []
        for producer_id in range(3):
            first = None
            for offset, what in self.history(stream_id, producer_id):
                if isinstance(what, ProducerStamp):
                    if what.is_transactional and first is None:
                        first = offset
                else:
                    if first is not None and not what.is_commit:
                        found.append((producer_id, first, offset))
                    first = None
        return found


TestTable = TableMachine.TestCase
