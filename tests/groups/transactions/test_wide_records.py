"""Wide records are read in steps, with the same result as at once."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groups.transactions import wide_records
from groups.transactions.records import decode_transaction, encode_key, encode_transaction
from groups.transactions.states import TransactionState
from groups.transactions.transaction import Transaction
from groups.transactions.wide_records import PARTITIONS_PER_STEP, decode_in_steps
from protocol.errors import ProtocolError
from tests.groups.transactions.test_records import TRANSACTIONS

Made = TypeVar("Made")


def at_once(steps: Generator[None, None, Made]) -> tuple[Made, int]:
    """Return what steps return, and their number."""
    count = 1
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, count
        count += 1


def wide(topics: int, partitions: int) -> Transaction:
    places = frozenset((f"topic-{topic}", index) for topic in range(topics) for index in range(partitions))
    state = TransactionState.PREPARE_COMMIT
    return Transaction("tx", 5, 60_000, 2, state, epoch=1, partitions=places, start_ms=1, client_version=2)


@pytest.mark.parametrize(("topics", "partitions"), [(5_000, 1), (1, 5_000), (70, 70)])
def test_5000_partitions_take_several_steps(topics: int, partitions: int) -> None:
    transaction = wide(topics, partitions)
    found, steps = at_once(decode_in_steps(*encode_transaction(transaction)))
    assert found == ("tx", transaction)
    assert steps == 1 + topics * partitions // PARTITIONS_PER_STEP


@given(TRANSACTIONS)
def test_every_record_is_read_as_it_is_at_once(transaction: Transaction) -> None:
    record = encode_transaction(transaction)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wide_records, "WIDE_BYTES", 0)
        patch.setattr(wide_records, "PARTITIONS_PER_STEP", 2)
        assert at_once(decode_in_steps(*record))[0] == decode_transaction(*record)


@given(st.binary(max_size=30), st.integers(0, 40))
@example(b"\1\1\0", 36)  # wrong behind the partitions
def test_bytes_that_are_wrong_give_the_error_of_reading_at_once(junk: bytes, at: int) -> None:
    key, value = encode_transaction(wide(2, 2))
    assert value is not None
    bad = value[:at] + junk
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wide_records, "WIDE_BYTES", 0)
        assert outcome(key, bad, in_steps=True) == outcome(key, bad, in_steps=False)


def outcome(key: bytes, value: bytes, *, in_steps: bool) -> object:
    try:
        return at_once(decode_in_steps(key, value))[0] if in_steps else decode_transaction(key, value)
    except ProtocolError as error:
        return type(error), str(error)


def test_a_count_that_the_bytes_do_not_have_allocates_nothing() -> None:
    key = encode_key("tx")
    value = b"\0\1" + bytes(15) + b"\2\2a\xff\xff\xff\xff\x0f" + bytes(9_000)
    with pytest.raises(ProtocolError):
        at_once(decode_in_steps(key, value))
