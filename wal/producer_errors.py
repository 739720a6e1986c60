"""The refusals of a producer's batch or a transaction's marker; each carries the facts for its answer.

WalError > ProducerError
  InvalidProducerEpoch     a newer instance of the producer has already written          (Kafka's 47)
  OutOfOrderSequence       batches are missing, or this one is older than the last five   (45)
  InvalidSequence          a producer id without a sequence                              (87)
  InvalidTransactionState  a batch outside the transaction that its producer has open    (48)
  CoordinatorFenced        a marker of a transaction coordinator that was replaced       (52)
"""

from __future__ import annotations

from wal.errors import WalError


class ProducerError(WalError):
    """The base; `producer_id` is the batch's producer. Nothing was stored and nothing changed."""

    def __init__(self, producer_id: int, problem: str) -> None:
        super().__init__(f"producer {producer_id}: {problem}")
        self.producer_id = producer_id


class InvalidProducerEpoch(ProducerError):
    """An epoch below the one that wrote last, or not above it where a marker's must be."""

    def __init__(self, producer_id: int, *, epoch: int, current_epoch: int) -> None:
        super().__init__(
            producer_id,
            f"epoch {epoch} is over: epoch {current_epoch} has already written; ask for a producer id again",
        )
        self.epoch = epoch
        self.current_epoch = current_epoch


class OutOfOrderSequence(ProducerError):
    """A batch that does not follow the last one, and is none of the last five."""

    def __init__(self, producer_id: int, *, epoch: int, sequence: int, expected_sequence: int) -> None:
        super().__init__(
            producer_id,
            f"sequence {sequence} of epoch {epoch} does not follow the last one stored; "
            f"{expected_sequence} was expected: send the missing batches first",
        )
        self.epoch = epoch
        self.sequence = sequence
        self.expected_sequence = expected_sequence


class InvalidSequence(ProducerError):
    """A batch that names a producer but has no sequence, as only markers may."""

    def __init__(self, producer_id: int, *, sequence: int) -> None:
        super().__init__(producer_id, f"sequence {sequence} is below 0; number the batches of a producer id")
        self.sequence = sequence


class InvalidTransactionState(ProducerError):
    """A batch outside the transaction that its producer has open in the stream."""

    def __init__(self, producer_id: int, *, first_offset: int) -> None:
        super().__init__(
            producer_id,
            f"its transaction, open since offset {first_offset}, must end before a batch outside of it",
        )
        self.first_offset = first_offset


class CoordinatorFenced(ProducerError):
    """A marker from a coordinator that another one has replaced."""

    def __init__(self, producer_id: int, *, coordinator_epoch: int, current_epoch: int) -> None:
        super().__init__(
            producer_id,
            f"a marker of coordinator epoch {coordinator_epoch} comes after one of epoch {current_epoch}",
        )
        self.coordinator_epoch = coordinator_epoch
        self.current_epoch = current_epoch
