"""The producers of one stream: the last batches of each, to judge whether its next is new, repeated or wrong.

Each producer id has one packed value, little endian and immutable, so that undoing, copying and saving it are
trivial and a hundred thousand of them do not burden the garbage collector:

    state := epoch:i16 coordinator_epoch:i32 appended_ms:i64 transaction_first_offset:i64 batch*
    batch := first_sequence:i32 last_offset_delta:i32 base_offset:i64 timestamp_ms:i64
             oldest first, at most five; the last may be one more, without a sequence

A batch without a sequence (-1) has been moved here from the partition that its producer wrote to, where its
sequence counts; it begins a transaction, and nothing is ever compared with it.

Rules, in this order (Kafka's ProducerAppendInfo, 4.3):

    same epoch and sequences as one of the five batches   duplicate: repeat that batch's answer
    no state                                              any sequence may begin
    lower epoch                                           InvalidProducerEpoch
    higher epoch                                          begins at 0, else OutOfOrderSequence
    same epoch                                            follows the last one (0 follows 2^31 - 1)
    a batch outside the open transaction                  InvalidTransactionState
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import starmap
from typing import NamedTuple

from wal.format import BatchPrefix
from wal.producer_errors import (
    CoordinatorFenced,
    InvalidProducerEpoch,
    InvalidSequence,
    InvalidTransactionState,
    OutOfOrderSequence,
)
from wal.transactions import (
    CONTROL_BIT,
    NO_OFFSET,
    TRANSACTIONAL_BIT,
    AbortedTransaction,
    StreamTransactions,
    TransactionMarker,
)

BATCHES_KEPT = 5
"""Clients keep at most five batches in flight, so no retry is older.  Source: KIP-98, max.in.flight 5."""

LOOKED_AT_MAX = 8
"""The producers that are looked at for one without a transaction."""

NO_EPOCH = -1
_SEQUENCE_MASK = 0x7FFF_FFFF
_STATE = struct.Struct("<hiqq")
_BATCH = struct.Struct("<iiqq")
STATE_BYTES = _STATE.size
BATCH_BYTES = _BATCH.size


class ProducerStamp(NamedTuple):
    """A batch's statement about its producer; `record_count` is its last offset delta + 1."""

    producer_id: int
    epoch: int
    first_sequence: int
    record_count: int
    is_transactional: bool = False


def sequenceless(stamp: ProducerStamp | None, record_count: int) -> ProducerStamp | None:
    """Return the stamp of a batch moved to another stream; only that of a transaction has one."""
    if stamp is None or not stamp.is_transactional:
        return None
    return stamp._replace(first_sequence=-1, record_count=record_count)


class New(NamedTuple):
    """The verdict on a batch that is the next one: append it."""


class Duplicate(NamedTuple):
    """The verdict on a batch already stored: answer this, once `last_offset` is as durable as requested."""

    base_offset: int
    last_offset: int
    timestamp_ms: int


NEW = New()


class ProducerDescription(NamedTuple):
    """One producer as DescribeProducers shows it; -1 where there is no value."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    transaction_first_offset: int


def with_appended_ms(state: bytes, now_ms: int) -> bytes:
    """Return the state as if its last batch came now: needed at a restart, which begins a new clock."""
    epoch, coordinator_epoch, _, first_offset = _STATE.unpack_from(state)
    return _STATE.pack(epoch, coordinator_epoch, now_ms, first_offset) + state[_STATE.size :]


def awaiting_first(epoch: int, now_ms: int) -> bytes:
    """Return the state of a producer whose first batch, of sequence 0, was not stored and must come first."""
    return _STATE.pack(epoch, NO_EPOCH, now_ms, NO_OFFSET)


def without_first(state: bytes) -> bytes | None:
    """Return the rest of a state whose only batch is taken back; None when that began above 0."""
    if len(state) == STATE_BYTES or _BATCH.unpack_from(state, STATE_BYTES)[0] != 0:
        return None
    epoch, _, appended_ms, _ = _STATE.unpack_from(state)
    return awaiting_first(epoch, appended_ms)


def stamp_of(prefix: BatchPrefix) -> ProducerStamp | None:
    """Return the stamp in a batch's prefix; None without a producer, and for markers (no sequence).

    A control batch with a sequence ends nothing: it is left where a batch was sent of which nothing stays.
    """
    if prefix.producer_id < 0 or (prefix.attributes & CONTROL_BIT and prefix.base_sequence < 0):
        return None
    return ProducerStamp(
        prefix.producer_id,
        prefix.producer_epoch,
        prefix.base_sequence,
        prefix.last_offset_delta + 1,
        bool(prefix.attributes & TRANSACTIONAL_BIT),
    )


class StreamProducers:
    """The producers of one stream, the latest writer last."""

    __slots__ = ("_is_shared", "place", "states", "transactions")

    def __init__(self, states: dict[int, bytes] | None = None) -> None:
        """Begin with the states of a snapshot, which is not changed."""
        self.states: dict[int, bytes] = {} if states is None else states
        self._is_shared = states is not None  # a snapshot shares the table: copy it before a change
        self.transactions: StreamTransactions | None = None  # made with the first one
        self.place = 0
        """Its place in the row of all streams (`wal.stream_rounds`)."""
        for producer_id, state in self.states.items():
            first_offset = _STATE.unpack_from(state)[3]
            if first_offset != NO_OFFSET:
                self.have_transactions().begin(producer_id, first_offset)

    def check(self, stamp: ProducerStamp) -> New | Duplicate:
        """Return whether the batch is to be appended or is already stored.

        Raises: InvalidProducerEpoch, OutOfOrderSequence, InvalidSequence, InvalidTransactionState.
        """
        if stamp.first_sequence < 0:
            raise InvalidSequence(stamp.producer_id, sequence=stamp.first_sequence)
        state = self.states.get(stamp.producer_id)
        if state is None:
            return NEW
        epoch, _, _, transaction_first_offset = _STATE.unpack_from(state)
        expected = _next_sequence(state) if stamp.epoch == epoch else 0
        if stamp.first_sequence != expected or stamp.epoch < epoch:
            return _duplicate(state, stamp, epoch, expected)
        if transaction_first_offset != NO_OFFSET and not stamp.is_transactional:
            raise InvalidTransactionState(stamp.producer_id, first_offset=transaction_first_offset)
        return NEW

    def check_marker(self, marker: TransactionMarker, *, bumps_epoch: bool) -> bool:
        """Return whether a marker is to be appended; False when it is a repetition without effect.

        `bumps_epoch`: the marker's epoch is above that of the transaction's batches (transaction.version 2).
        Raises: InvalidProducerEpoch, CoordinatorFenced.  Source: KIP-890, KIP-1228.
        """
        state = self.states.get(marker.producer_id)
        if state is None:
            return True
        epoch, coordinator_epoch, _, transaction_first_offset = _STATE.unpack_from(state)
        if bumps_epoch and marker.epoch == epoch and transaction_first_offset == NO_OFFSET:
            return False
        if marker.epoch < epoch or (bumps_epoch and marker.epoch == epoch):
            raise InvalidProducerEpoch(marker.producer_id, epoch=marker.epoch, current_epoch=epoch)
        if marker.coordinator_epoch < coordinator_epoch:
            raise CoordinatorFenced(
                marker.producer_id,
                coordinator_epoch=marker.coordinator_epoch,
                current_epoch=coordinator_epoch,
            )
        return True

    def has_open(self, producer_id: int, epoch: int) -> bool:
        """Whether the producer has a transaction open here, in this epoch."""
        state = self.states.get(producer_id)
        if state is None:
            return False
        current_epoch, _, _, first_offset = _STATE.unpack_from(state)
        return bool(first_offset != NO_OFFSET and current_epoch == epoch)

    def has_idle_transaction(self, since_ms: int) -> bool:
        """Whether a transaction is open whose producer has written nothing since then."""
        still_open = self.transactions.open if self.transactions is not None else ()
        return any(_STATE.unpack_from(self.states[producer_id])[2] < since_ms for producer_id in still_open)

    def last_stable_offset(self, high_watermark: int, log_start: int = 0) -> int:
        """Return the end for readers of committed data, between the log start and the high watermark."""
        if self.transactions is None:
            return high_watermark
        return max(log_start, self.transactions.last_stable_offset(high_watermark))

    def aborted_between(self, from_offset: int, up_to_offset: int) -> list[AbortedTransaction]:
        """Return the aborted transactions that readers of [`from_offset`, `up_to_offset`) skip, in order."""
        if self.transactions is None:
            return []
        return self.transactions.aborted_between(from_offset, up_to_offset)

    def state_after(self, stamp: ProducerStamp, *, base_offset: int, timestamp_ms: int, now_ms: int) -> bytes:
        """Return the producer's state once this batch is stored."""
        before = self.states.get(stamp.producer_id)
        coordinator_epoch, first_offset, batches = NO_EPOCH, NO_OFFSET, b""
        if before is not None:
            epoch, coordinator_epoch, _, first_offset = _STATE.unpack_from(before)
            if epoch == stamp.epoch:
                batches = before[max(STATE_BYTES, len(before) - (BATCHES_KEPT - 1) * BATCH_BYTES) :]
                if stamp.first_sequence < 0:
                    batches = _numbered(before)
                elif batches and _ends_unnumbered(before):
                    batches = _numbered(before)[-(BATCHES_KEPT - 1) * BATCH_BYTES :]
        if stamp.is_transactional and first_offset == NO_OFFSET:
            first_offset = base_offset
        state = _STATE.pack(stamp.epoch, coordinator_epoch, now_ms, first_offset)
        newest = _BATCH.pack(stamp.first_sequence, stamp.record_count - 1, base_offset, timestamp_ms)
        return state + batches + newest

    def state_after_marker(self, marker: TransactionMarker, *, now_ms: int) -> bytes:
        """Return the producer's state once this marker is stored; a higher epoch begins without batches."""
        before = self.states.get(marker.producer_id)
        state = _STATE.pack(marker.epoch, marker.coordinator_epoch, now_ms, NO_OFFSET)
        if before is None or _STATE.unpack_from(before)[0] != marker.epoch:
            return state
        return state + before[STATE_BYTES:]

    def knows(self, prefix: BatchPrefix) -> bool:
        """Return whether replaying the batch would go back: it was seen already, or a later epoch was."""
        state = self.states.get(prefix.producer_id)
        if state is None:
            return False
        epoch: int = _STATE.unpack_from(state)[0]
        if prefix.producer_epoch != epoch or len(state) == STATE_BYTES:
            return prefix.producer_epoch < epoch
        newest_offset: int = _BATCH.unpack_from(state, len(state) - BATCH_BYTES)[2]
        return prefix.base_offset <= newest_offset

    def last_records(self) -> dict[int, tuple[int | None, int]]:
        """Return per producer its last batch's last offset (None if its epoch has none) and its epoch."""
        found: dict[int, tuple[int | None, int]] = {}
        for producer_id, state in self.states.items():
            last_offset = None
            if len(state) > STATE_BYTES:
                _, delta, base_offset, _ = _BATCH.unpack_from(state, len(state) - BATCH_BYTES)
                last_offset = base_offset + delta
            found[producer_id] = (last_offset, _STATE.unpack_from(state)[0])
        return found

    def forget_idle(self, since_ms: int) -> int:
        """Forget the producers that wrote nothing after `since_ms`, and return their number."""
        count = 0
        while (producer_id := self.maybe_idle_longest()) is not None:
            if _STATE.unpack_from(self.states[producer_id])[2] > since_ms:
                break
            self.put(producer_id, None)
            count += 1
        return count

    def described(self) -> Iterator[ProducerDescription]:
        """Return every producer, the one idle longest first, as they are now: 1 us each when yielded."""
        return starmap(_describe, tuple(self.states.items()))

    def describe(self) -> list[ProducerDescription]:
        """Return the same at once."""
        return list(self.described())

    def share_states(self) -> dict[int, bytes]:
        """Return the states by producer, never changed from here on."""
        self._is_shared = True
        return self.states

    def put(self, producer_id: int, state: bytes | None) -> None:
        """Replace a producer's state, or forget it; open transactions follow the state."""
        if self._is_shared:
            self.states = dict(self.states)
            self._is_shared = False
        self.states.pop(producer_id, None)
        first_offset = NO_OFFSET
        if state is not None:
            self.states[producer_id] = state
            first_offset = _STATE.unpack_from(state)[3]
        if first_offset != NO_OFFSET:
            self.have_transactions().begin(producer_id, first_offset)
        elif self.transactions is not None:
            self.transactions.forget(producer_id)

    def have_transactions(self) -> StreamTransactions:
        """Return the stream's transactions; make them when there are none."""
        if self.transactions is None:
            self.transactions = StreamTransactions()
        return self.transactions

    @property
    def aborted_bytes(self) -> int:
        """The memory of the index of aborted transactions."""
        return 0 if self.transactions is None else self.transactions.aborted_bytes

    def settled(self, marker_offset: int) -> bool:
        """Note that a marker is durable and counted; return whether all transactions are decided by now."""
        if self.transactions is None:
            return True
        self.transactions.settled(marker_offset)
        if self.transactions.is_empty():
            self.transactions = None
            return True
        return not self.transactions.is_undecided

    def maybe_idle_longest(self) -> int | None:
        """Return the producer idle longest that has no transaction open, as far as it is found at once.

        Those with one, which are in no order, go behind the others: however many there are, a few are looked
        at.
        """
        still_open = self.transactions.open if self.transactions is not None else ()
        for _ in range(min(LOOKED_AT_MAX, len(self.states))):
            producer_id = next(iter(self.states))
            if producer_id not in still_open:
                return producer_id
            self.put(producer_id, self.states[producer_id])
        return None

    def idle_since(self, before_ms: int) -> int | None:
        """Return the producer idle longest, as above, if it has written nothing since then."""
        producer_id = self.maybe_idle_longest()
        if producer_id is None or _STATE.unpack_from(self.states[producer_id])[2] >= before_ms:
            return None
        return producer_id

    def is_empty(self) -> bool:
        """Return whether there is nothing to remember."""
        return not self.states and (self.transactions is None or self.transactions.is_empty())


def _next_sequence(state: bytes) -> int:
    """Return the sequence after the last batch that has one; 0 when the epoch has none."""
    if len(state) == STATE_BYTES:
        return 0
    first_sequence, last_offset_delta, _, _ = _BATCH.unpack_from(state, len(state) - BATCH_BYTES)
    if first_sequence < 0:
        return _next_sequence(state[:-BATCH_BYTES])
    return int(first_sequence + last_offset_delta + 1) & _SEQUENCE_MASK


def _ends_unnumbered(state: bytes) -> bool:
    """Whether the last batch, of which there is one, has no sequence: the sign of a little-endian number."""
    return state[3 - BATCH_BYTES] > 0x7F


def _numbered(state: bytes) -> bytes:
    """Return the batches of a state that have a sequence."""
    batches = state[STATE_BYTES:]
    return batches[:-BATCH_BYTES] if batches and _ends_unnumbered(state) else batches


def _duplicate(state: bytes, stamp: ProducerStamp, epoch: int, expected: int) -> Duplicate:
    """Return the duplicate that a batch out of order repeats, or raise the error that refuses it."""
    if stamp.epoch < epoch:
        raise InvalidProducerEpoch(stamp.producer_id, epoch=stamp.epoch, current_epoch=epoch)
    if stamp.epoch == epoch:
        for position in range(STATE_BYTES, len(state), BATCH_BYTES):
            first_sequence, last_offset_delta, base_offset, timestamp_ms = _BATCH.unpack_from(state, position)
            if (first_sequence, last_offset_delta + 1) == (stamp.first_sequence, stamp.record_count):
                return Duplicate(base_offset, base_offset + last_offset_delta, timestamp_ms)
    raise OutOfOrderSequence(
        stamp.producer_id, epoch=stamp.epoch, sequence=stamp.first_sequence, expected_sequence=expected
    )


def _describe(producer_id: int, state: bytes) -> ProducerDescription:
    epoch, coordinator_epoch, _, first_offset = _STATE.unpack_from(state)
    last_sequence = timestamp_ms = -1
    if len(state) > STATE_BYTES:
        last_sequence = (_next_sequence(state) - 1) & _SEQUENCE_MASK if _numbered(state) else -1
        timestamp_ms = _BATCH.unpack_from(state, len(state) - BATCH_BYTES)[3]
    return ProducerDescription(
        producer_id, epoch, last_sequence, timestamp_ms, coordinator_epoch, first_offset
    )
