"""Wide records of __transaction_state, read in steps: one with 5,000 topics takes longer than a turn may.

The partitions are read some at a time. What is left, the record without them, is read as any other.
"""

from __future__ import annotations

import struct as packing
from collections.abc import Generator
from typing import Final

from groups.transactions.records import decode_transaction
from groups.transactions.transaction import TopicPartition, Transaction
from protocol.errors import Malformed
from protocol.primitives import read_uvarint

WIDE_BYTES: Final = 8 * 1024
"""Values below this size are read at once, in a millisecond at most."""

PARTITIONS_PER_STEP: Final = 1_000

_VERSION: Final = b"\0\1"
_PARTITIONS_AT: Final = 17
"""The version, the producer's id and epoch, the timeout and the state come before the partitions."""

_NO_PARTITIONS: Final = b"\1"
_FIELD: Final = "transaction_partitions"
_VALUE: Final = "TransactionLogValue."
"""The beginning of the fields' names in errors."""

Decoded = tuple[str, Transaction | None] | None


def decode_in_steps(
    key: bytes | memoryview, value: bytes | memoryview | None
) -> Generator[None, None, Decoded]:
    """Return what `decode_transaction` returns; yield now and then if the record is wide.

    Raises: Malformed, UnsupportedVersion.
    """
    if value is None or len(value) < WIDE_BYTES or value[:2] != _VERSION:
        return decode_transaction(key, value)
    view = memoryview(value)
    try:
        partitions, end = yield from _partitions(view)
    except (packing.error, UnicodeDecodeError, Malformed):
        return decode_transaction(key, value)  # it names what is wrong
    narrow = b"".join((view[:_PARTITIONS_AT], _NO_PARTITIONS, view[end:]))
    try:
        found = decode_transaction(key, narrow)
    except Malformed as error:
        if not error.field.startswith(_VALUE):
            raise
        place = error.position + len(view) - len(narrow)
        raise Malformed(place, error.field, error.problem) from None
    if found is None or found[1] is None:
        return found
    return found[0], found[1]._replace(partitions=frozenset(partitions))


def _partitions(value: memoryview) -> Generator[None, None, tuple[set[TopicPartition], int]]:
    """Return the partitions of a value and the position after them.

    Raises: struct.error, UnicodeDecodeError, Malformed.
    """
    found: set[TopicPartition] = set()
    pending = 0
    topics, position = read_uvarint(value, _PARTITIONS_AT, _FIELD)
    for _ in range(topics - 1):
        topic, position = _topic(value, position)
        count, position = read_uvarint(value, position, _FIELD)
        while count > 1:
            part = min(count - 1, PARTITIONS_PER_STEP - pending)
            indexes = packing.unpack_from(f">{part}i", value, position)
            found.update([(topic, index) for index in indexes])
            position, count, pending = position + 4 * part, count - part, pending + part
            if pending == PARTITIONS_PER_STEP:
                pending = 0
                yield
        tags, position = read_uvarint(value, position, _FIELD)
        if tags or not count:
            raise Malformed(position, _FIELD, "is nothing that this version writes")
    return found, position


def _topic(value: memoryview, position: int) -> tuple[str, int]:
    size, position = read_uvarint(value, position, _FIELD)
    end = position + size - 1
    if not size or end > len(value):
        raise Malformed(position, _FIELD, "is null or cut")
    return str(value[position:end], "utf-8"), end
