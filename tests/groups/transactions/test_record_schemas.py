"""The schemas of __transaction_state, version by version."""

from __future__ import annotations

from groups.transactions.record_schemas import PartitionsSchema, TransactionLogKey, TransactionLogValue
from protocol.wire import decode, encode, joined


def test_the_first_version_has_neither_compact_lengths_nor_tags() -> None:
    value = TransactionLogValue(
        producer_id=1,
        previous_producer_id=9,
        producer_epoch=2,
        transaction_timeout_ms=3,
        transaction_status=1,
        transaction_partitions=[PartitionsSchema(topic="a", partition_ids=[7])],
        transaction_last_update_timestamp_ms=4,
        transaction_start_timestamp_ms=5,
    )
    data = joined(encode(value, 0))
    assert data == bytes.fromhex(
        "0000000000000001" "0002" "00000003" "01" "00000001" "000161" "00000001" "00000007"
        "0000000000000004" "0000000000000005"
    )  # fmt: skip
    found, _ = decode(TransactionLogValue, 0, data, 0)
    assert (found.previous_producer_id, found.next_producer_id) == (-1, -1)


def test_an_id_without_a_transaction_has_null_partitions() -> None:
    value = TransactionLogValue(
        producer_id=1,
        producer_epoch=0,
        transaction_timeout_ms=3,
        transaction_status=0,
        transaction_partitions=None,
        transaction_last_update_timestamp_ms=4,
        transaction_start_timestamp_ms=-1,
    )
    for version in (0, 1):
        found, _ = decode(TransactionLogValue, version, joined(encode(value, version)), 0)
        assert found.transaction_partitions is None


def test_a_key_is_the_id() -> None:
    assert joined(encode(TransactionLogKey(transactional_id="tx"), 0)) == b"\0\2tx"
