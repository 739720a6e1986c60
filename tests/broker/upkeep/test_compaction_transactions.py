"""Aborted records go at once, and markers when no record of their transaction is left."""

from __future__ import annotations

import pytest

from broker.upkeep.compaction_transactions import CleanedTransactions
from protocol.record_reader import Record
from protocol.record_writer import empty_batch, encode_batch, left_behind_batch, transaction_marker_batch
from protocol.records import read_batch_header
from wal.producers import AbortedTransaction


def data(offset: int, producer_id: int, *, transactional: bool = True) -> bytearray:
    return encode_batch(
        [Record(offset, 0, b"k", b"v")],
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        transactional=transactional,
    )


def marker(offset: int, producer_id: int, *, commit: bool) -> bytearray:
    return transaction_marker_batch(
        commit=commit,
        offset=offset,
        timestamp_ms=0,
        producer_id=producer_id,
        producer_epoch=0,
        coordinator_epoch=0,
    )


def verdicts(met: CleanedTransactions, *batches: bytearray) -> list[bool]:
    return [met.may_go(read_batch_header(batch), memoryview(batch)) for batch in batches]


def test_records_of_an_aborted_transaction_go_and_its_marker_stays() -> None:
    met = CleanedTransactions([AbortedTransaction(7, 1, 3, 4)])
    found = verdicts(met, data(0, 8), data(1, 7), data(2, 7), marker(3, 7, commit=False), data(4, 7))
    assert found == [False, True, True, False, False]


def test_a_marker_goes_once_nothing_of_its_transaction_is_met() -> None:
    met = CleanedTransactions([AbortedTransaction(7, 1, 3, 4)])
    assert verdicts(met, marker(3, 7, commit=False)) == [True]
    assert verdicts(CleanedTransactions([]), marker(5, 9, commit=True)) == [True]
    assert verdicts(CleanedTransactions([]), marker(5, 9, commit=False)) == [True]


def test_a_commit_marker_stays_while_records_of_its_transaction_do() -> None:
    found = verdicts(
        CleanedTransactions([]), data(0, 7), marker(1, 7, commit=True), marker(2, 7, commit=True)
    )
    assert found == [False, False, True]


def test_transactions_of_several_producers_do_not_mix() -> None:
    met = CleanedTransactions([AbortedTransaction(8, 2, 5, 6), AbortedTransaction(7, 0, 4, 5)])
    found = verdicts(
        met,
        data(0, 7),
        data(1, 9),
        data(2, 8),
        data(3, 9, transactional=False),
        marker(4, 7, commit=False),
        marker(5, 8, commit=False),
        data(6, 7),
        marker(7, 7, commit=True),
    )
    assert found == [True, False, True, False, False, False, False, False]


@pytest.mark.parametrize("commit", [True, False])
def test_what_is_left_of_a_batch_of_repetitions_ends_no_transaction(commit: bool) -> None:
    left = left_behind_batch(read_batch_header(data(1, 7))._replace(base_sequence=5))
    aborted = [] if commit else [AbortedTransaction(7, 0, 2, 0)]
    found = verdicts(CleanedTransactions(aborted), data(0, 7), left, marker(2, 7, commit=commit))
    assert found == [not commit, True, False]


def test_a_marker_that_was_emptied_may_go_and_another_control_record_may_not() -> None:
    emptied = bytearray(marker(3, 7, commit=True))
    header = read_batch_header(emptied)
    assert header.is_control
    empty = empty_batch(3, 3, producer_id=7, producer_epoch=0, transactional=True)
    empty[22] |= 0x20
    other = encode_batch([Record(4, 0, b"\0\0\0\5", b"")], producer_id=7, control=True, transactional=True)

    assert verdicts(CleanedTransactions([]), empty, other) == [True, False]
