"""The records of __transaction_state: a transactional id to bytes and back.

    key   := 0:i16 transactional id          value := version:i16 fields | none: the id is forgotten

Values are written as v1, as Kafka does from transaction.version 1 on. The epoch before the present one is not
stored: a retry that needs it, over a restart, is fenced, as in Kafka.
"""

from __future__ import annotations

import struct as packing
from typing import Final

from groups.effects import EncodedRecord
from groups.transactions.record_schemas import PartitionsSchema, TransactionLogKey, TransactionLogValue
from groups.transactions.states import TransactionState
from groups.transactions.transaction import Transaction, by_topic
from protocol.errors import Malformed
from protocol.wire import decode, encode, joined, prepare_written

_INT16: Final = packing.Struct(">h")
_KEY_VERSION: Final = 0
_VALUE_VERSION: Final = 1
_STATES: Final = {int(state): state for state in TransactionState if state < TransactionState.DEAD}


def encode_transaction(transaction: Transaction) -> EncodedRecord:
    """Return the record of a transactional id."""
    is_empty = transaction.state == TransactionState.EMPTY
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.previous_producer_id,
        next_producer_id=transaction.next_producer_id,
        producer_epoch=transaction.epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=None
        if is_empty
        else [
            PartitionsSchema(topic=topic, partition_ids=indexes)
            for topic, indexes in by_topic(transaction.partitions)
        ],
        transaction_last_update_timestamp_ms=transaction.update_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
        client_transaction_version=transaction.client_version,
    )
    return encode_key(transaction.transactional_id), _INT16.pack(_VALUE_VERSION) + joined(
        encode(value, _VALUE_VERSION)
    )


def encode_key(transactional_id: str) -> bytes:
    """Return the key of an id; alone, with no value, it forgets the id."""
    key = TransactionLogKey(transactional_id=transactional_id)
    return _INT16.pack(_KEY_VERSION) + joined(encode(key, _KEY_VERSION))


def decode_transaction(
    key: bytes | memoryview, value: bytes | memoryview | None
) -> tuple[str, Transaction | None] | None:
    """Return the id and its state, None as state if it is forgotten; None for keys of later versions.

    Raises: Malformed, UnsupportedVersion.
    """
    if _version(key, "key version") != _KEY_VERSION:
        return None
    found, _ = decode(TransactionLogKey, _KEY_VERSION, key, 2)
    if value is None:
        return found.transactional_id, None
    stored, _ = decode(TransactionLogValue, _version(value, "value version"), value, 2)
    state = _STATES.get(stored.transaction_status)
    if state is None:
        raise Malformed(2, "transaction_status", f"{stored.transaction_status} is no state")
    return found.transactional_id, Transaction(
        transactional_id=found.transactional_id,
        producer_id=stored.producer_id,
        timeout_ms=stored.transaction_timeout_ms,
        update_ms=stored.transaction_last_update_timestamp_ms,
        state=state,
        epoch=stored.producer_epoch,
        previous_producer_id=stored.previous_producer_id,
        next_producer_id=stored.next_producer_id,
        partitions=frozenset(
            (topic.topic, index)
            for topic in stored.transaction_partitions or ()
            for index in topic.partition_ids
        ),
        start_ms=stored.transaction_start_timestamp_ms,
        client_version=stored.client_transaction_version,
    )


def _version(data: bytes | memoryview, field: str) -> int:
    if len(data) < _INT16.size:
        raise Malformed(0, field, "cut")
    version: int = _INT16.unpack_from(data)[0]
    return version


prepare_written({TransactionLogKey: (_KEY_VERSION,), TransactionLogValue: (_VALUE_VERSION,)})
