"""The last stable offset, the index of aborted transactions, and markers as stored in the log."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wal.transactions import (
    ENDING_MAX,
    AbortedTransaction,
    StreamTransactions,
    TransactionMarker,
    read_marker,
)


def with_open(offsets: dict[int, int]) -> StreamTransactions:
    """Return transactions of which these are open."""
    transactions = StreamTransactions()
    for producer_id, offset in offsets.items():
        transactions.begin(producer_id, offset)
    return transactions


def test_the_oldest_open_transaction_holds_the_last_stable_offset() -> None:
    transactions = with_open({1: 10, 2: 5, 3: 20})
    assert transactions.last_stable_offset(100) == 5
    assert transactions.last_stable_offset(3) == 3


def test_a_marker_moves_the_last_stable_offset_only_when_it_is_durable() -> None:
    transactions = StreamTransactions()
    transactions.begin(1, 10)
    assert transactions.end(1, marker_offset=30, is_commit=True)
    assert transactions.last_stable_offset(30) == 10
    assert transactions.last_stable_offset(31) == 31


def test_a_marker_without_a_transaction_ends_nothing() -> None:
    transactions = StreamTransactions()
    assert not transactions.end(1, marker_offset=30, is_commit=False)
    assert (transactions.last_stable_offset(40), transactions.aborted_between(0, 40)) == (40, [])
    assert transactions.is_empty()


def test_only_aborts_enter_the_index() -> None:
    transactions = with_open({1: 10, 2: 12})
    transactions.end(1, marker_offset=20, is_commit=True)
    transactions.end(2, marker_offset=21, is_commit=False)
    assert transactions.aborted_between(0, 100) == [AbortedTransaction(2, 12, 21, 22)]


def test_an_aborted_transaction_remembers_the_stable_offset_of_its_moment() -> None:
    transactions = with_open({1: 10, 2: 12})
    transactions.end(2, marker_offset=21, is_commit=False)
    assert transactions.aborted_between(0, 100) == [AbortedTransaction(2, 12, 21, 10)]


def test_aborted_transactions_are_answered_by_first_offset() -> None:
    transactions = with_open({1: 10, 2: 12, 3: 14})
    for producer_id, offset in ((3, 20), (2, 21), (1, 22)):
        transactions.end(producer_id, marker_offset=offset, is_commit=False)
    assert [aborted.first_offset for aborted in transactions.aborted_between(0, 100)] == [10, 12, 14]


def test_an_undone_abort_is_in_no_index_and_holds_nothing_once_reopened() -> None:
    transactions = StreamTransactions()
    transactions.begin(1, 10)
    transactions.end(1, marker_offset=20, is_commit=False)
    transactions.undo_end(20)
    assert transactions.is_empty()
    transactions.begin(1, 10)
    assert transactions.last_stable_offset(30) == 10


def test_undoing_a_marker_that_ended_nothing_leaves_the_others_alone() -> None:
    transactions = StreamTransactions()
    transactions.begin(1, 10)
    transactions.end(1, marker_offset=20, is_commit=False)
    transactions.undo_end(21)
    assert [aborted.last_offset for aborted in transactions.aborted_between(0, 100)] == [20]
    assert transactions.last_stable_offset(20) == 10


def test_where_nothing_reads_ended_transactions_take_no_more_memory_with_each() -> None:
    transactions = StreamTransactions()
    for number in range(20 * ENDING_MAX):
        transactions.begin(1, 2 * number)
        transactions.end(1, marker_offset=2 * number + 1, is_commit=True)
    assert len(transactions._ending or ()) <= ENDING_MAX
    end = 40 * ENDING_MAX
    assert transactions.last_stable_offset(end - 1) == end - 2
    assert transactions.last_stable_offset(end) == end
    assert not transactions.is_undecided


@pytest.mark.parametrize("seed", range(20))
def test_the_last_stable_offset_is_never_ahead_of_and_never_goes_back_when_old_ends_are_joined(
    seed: int,
) -> None:
    chance = random.Random(seed)
    transactions = StreamTransactions()
    ended: list[tuple[int, int]] = []
    offset = durable = stable = 0
    for _ in range(60 * ENDING_MAX):
        producer_id = chance.randrange(5)
        if producer_id in transactions.open:
            ended.append((offset, transactions.open[producer_id]))
            transactions.end(producer_id, marker_offset=offset, is_commit=True)
        else:
            transactions.begin(producer_id, offset)
        offset += 1
        if chance.random() < 0.02:
            durable = chance.randint(durable, offset)
            exact = min(
                [
                    durable,
                    *transactions.open.values(),
                    *(first for marker, first in ended if marker >= durable),
                ]
            )
            found = transactions.last_stable_offset(durable)
            assert stable <= found <= exact
            stable = found
    assert transactions.last_stable_offset(offset) == min([offset, *transactions.open.values()])


def test_joined_ends_that_are_undone_hold_the_last_stable_offset_until_the_others_are_durable() -> None:
    transactions = StreamTransactions()
    for number in range(ENDING_MAX + 1):
        transactions.begin(1, 2 * number)
        transactions.end(1, marker_offset=2 * number + 1, is_commit=True)
    for number in reversed(range(5, ENDING_MAX + 1)):
        transactions.undo_end(2 * number + 1)
    assert transactions.last_stable_offset(8) == 0
    assert transactions.last_stable_offset(11) == 11


def test_what_lies_before_the_log_start_leaves_the_index() -> None:
    transactions = StreamTransactions()
    for producer_id in range(3):
        transactions.begin(producer_id, 10 * producer_id)
        transactions.end(producer_id, marker_offset=10 * producer_id + 5, is_commit=False)
    transactions.forget_before(15)
    assert [aborted.last_offset for aborted in transactions.aborted_between(0, 100)] == [15, 25]
    transactions.forget_before(16)
    assert [aborted.last_offset for aborted in transactions.aborted_between(0, 100)] == [25]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=40), st.data())
def test_the_index_query_gives_what_a_reader_needs(
    steps: list[tuple[int, bool]], data: st.DataObject
) -> None:
    """Compare with the log itself: every offset is a record or a marker of one of four producers.

    A reader that stops at the last stable offset must get every aborted transaction with a record in its
    range, and only transactions that overlap it.
    """
    transactions = StreamTransactions()
    records: dict[int, tuple[int, int]] = {}  # offset -> producer, number of its transaction
    aborted: set[tuple[int, int]] = set()
    numbers = dict.fromkeys(range(4), 0)
    for offset, (producer_id, is_record) in enumerate(steps):
        if is_record:
            if producer_id not in transactions.open:
                transactions.begin(producer_id, offset)
            records[offset] = (producer_id, numbers[producer_id])
            continue
        is_commit = data.draw(st.booleans())
        if transactions.end(producer_id, marker_offset=offset, is_commit=is_commit) and not is_commit:
            aborted.add((producer_id, numbers[producer_id]))
        numbers[producer_id] += 1
    stable = transactions.last_stable_offset(len(steps))
    start = data.draw(st.integers(0, stable))
    up_to = data.draw(st.integers(start, stable))
    found = transactions.aborted_between(start, up_to)
    needed = {
        min(at for at, other in records.items() if other == records[offset])
        for offset in range(start, up_to)
        if offset in records and records[offset] in aborted
    }
    assert needed <= {transaction.first_offset for transaction in found}
    assert all(each.first_offset < up_to and each.last_offset >= start for each in found)
    assert found == sorted(found, key=lambda transaction: transaction.first_offset)


def control_batch(kind: int, coordinator_epoch: int, *, timestamp_delta: bytes = b"\x00") -> bytes:
    key = (0).to_bytes(2, "big") + kind.to_bytes(2, "big")
    value = (0).to_bytes(2, "big") + coordinator_epoch.to_bytes(4, "big", signed=True)
    body = b"\x00" + timestamp_delta + b"\x00" + b"\x08" + key + b"\x0c" + value + b"\x00"
    return bytes(61) + bytes([len(body) * 2]) + body


@pytest.mark.parametrize(("kind", "is_commit"), [(0, False), (1, True)])
@pytest.mark.parametrize("coordinator_epoch", [0, 77, -1])
def test_a_marker_is_read_from_its_batch(kind: int, is_commit: bool, coordinator_epoch: int) -> None:
    batch = control_batch(kind, coordinator_epoch)
    for data in (batch, memoryview(batch)):
        assert read_marker(data, producer_id=7, epoch=3) == TransactionMarker(
            7, 3, coordinator_epoch, is_commit
        )


def test_long_varints_in_a_marker_are_skipped() -> None:
    batch = control_batch(1, 5, timestamp_delta=b"\x80\x80\x80\x01")
    assert read_marker(batch, producer_id=7, epoch=3) == TransactionMarker(7, 3, 5, is_commit=True)


def test_a_control_record_of_another_kind_is_no_marker() -> None:
    assert read_marker(control_batch(2, 0), producer_id=7, epoch=3) is None
