"""Refusals name the producer, the values and the remedy."""

from __future__ import annotations

from wal.errors import WalError
from wal.producer_errors import (
    CoordinatorFenced,
    InvalidProducerEpoch,
    InvalidSequence,
    InvalidTransactionState,
    OutOfOrderSequence,
    ProducerError,
)


def test_messages_carry_the_facts() -> None:
    assert [str(error) for error in errors()] == [
        "producer 7: epoch 1 is over: epoch 2 has already written; ask for a producer id again",
        "producer 7: sequence 9 of epoch 1 does not follow the last one stored; 5 was expected: "
        "send the missing batches first",
        "producer 7: sequence -1 is below 0; number the batches of a producer id",
        "producer 7: its transaction, open since offset 30, must end before a batch outside of it",
        "producer 7: a marker of coordinator epoch 1 comes after one of epoch 2",
    ]


def test_all_are_producer_errors_of_the_engine() -> None:
    for error in errors():
        assert isinstance(error, ProducerError)
        assert isinstance(error, WalError)
        assert error.producer_id == 7


def errors() -> list[ProducerError]:
    return [
        InvalidProducerEpoch(7, epoch=1, current_epoch=2),
        OutOfOrderSequence(7, epoch=1, sequence=9, expected_sequence=5),
        InvalidSequence(7, sequence=-1),
        InvalidTransactionState(7, first_offset=30),
        CoordinatorFenced(7, coordinator_epoch=1, current_epoch=2),
    ]
