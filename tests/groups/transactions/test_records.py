"""The records of __transaction_state."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.transactions.records import decode_transaction, encode_key, encode_transaction
from groups.transactions.states import ANSWERS, TransactionState
from groups.transactions.transaction import Transaction
from protocol.errors import Malformed, ProtocolError

TRANSACTIONS = st.builds(
    Transaction,
    transactional_id=st.text(st.characters(codec="utf-8"), min_size=1, max_size=20),
    producer_id=st.integers(0, 2**63 - 1),
    timeout_ms=st.integers(1, 2**31 - 1),
    update_ms=st.integers(0, 2**62),
    state=st.sampled_from(tuple(ANSWERS)),
    epoch=st.integers(0, 2**15 - 1),
    last_epoch=st.just(-1),
    previous_producer_id=st.integers(-1, 2**63 - 1),
    next_producer_id=st.integers(-1, 2**63 - 1),
    partitions=st.frozensets(st.tuples(st.sampled_from("abc"), st.integers(0, 2**31 - 1)), max_size=8),
    start_ms=st.integers(-1, 2**62),
    client_version=st.sampled_from((0, 2)),
)


@given(TRANSACTIONS)
def test_a_transaction_comes_back_as_it_was(transaction: Transaction) -> None:
    if transaction.state == TransactionState.EMPTY:
        transaction = transaction._replace(partitions=frozenset())
    key, value = encode_transaction(transaction)
    assert decode_transaction(key, value) == (transaction.transactional_id, transaction)


def test_the_bytes_are_those_of_kafkas_schema() -> None:
    transaction = Transaction(
        "tx", 5, 60_000, 2, TransactionState.ONGOING, epoch=1, previous_producer_id=5,
        partitions=frozenset({("a", 1), ("a", 0)}), start_ms=1, client_version=2,
    )  # fmt: skip
    key, value = encode_transaction(transaction)
    assert key == bytes.fromhex("00000002") + b"tx"
    assert value == bytes.fromhex(
        "0001" "0000000000000005" "0001" "0000ea60" "01"  # version, producer, epoch, timeout, Ongoing
        "02" "0261" "03" "00000000" "00000001" "00"  # one topic, "a", two partitions
        "0000000000000002" "0000000000000001"  # last update, start
        "02" "00" "08" "0000000000000005" "02" "02" "0002"  # tags: previous producer, client's version
    )  # fmt: skip


def test_a_key_without_value_forgets_the_id_and_a_later_key_is_not_ours() -> None:
    assert decode_transaction(encode_key("tx"), None) == ("tx", None)
    assert decode_transaction(b"\0\1whatever", b"") is None


@pytest.mark.parametrize(
    "value", [b"", b"\0", b"\0\x09", b"\0\1\0\0", b"\0\0" + bytes(14) + b"\x06" + bytes(20)]
)
def test_values_that_cannot_be_read_are_refused(value: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_transaction(encode_key("tx"), value)


def test_a_key_that_is_cut_is_refused() -> None:
    with pytest.raises(Malformed):
        decode_transaction(b"\0", None)
