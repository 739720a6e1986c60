"""The records of __share_group_state: a share-partition to bytes and back.

    key   := 0:i16 share-partition | 1:i16 share-partition        snapshot | change since the last snapshot
    value := version:i16 fields | none                            none after a snapshot's key: deleted

A snapshot replaces all before it. A change belongs to the snapshot whose epoch it names: one that names an
older one is void.
"""

from __future__ import annotations

import struct as packing
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

from groups.effects import EncodedRecord
from groups.record_keys import partition_for_part
from groups.share.record_range import StoredRange
from groups.share.record_schemas import ShareSnapshotValue, ShareStateKey, ShareUpdateValue, StateBatch
from groups.share.states import RecordState
from protocol.errors import Malformed
from protocol.wire import decode, encode, joined

_INT16: Final = packing.Struct(">h")
_SNAPSHOT: Final = 0
_UPDATE: Final = 1
_VERSION: Final = 0
_STATES: Final = {int(state): state for state in RecordState if state != RecordState.ACQUIRED}


class ShareKey(NamedTuple):
    """A share-partition's name."""

    group_id: str
    topic_id: UUID
    partition: int


class Snapshot(NamedTuple):
    """The whole state of a share-partition; times are ms since 1970."""

    epoch: int
    """The number of the snapshot."""
    state_epoch: int
    """The number of times that the state was set from outside."""
    leader_epoch: int
    start: int
    finished_count: int
    """The number of finished records from the start on; -1: unknown."""
    created_ms: int
    written_ms: int
    ranges: Sequence[StoredRange]


class Update(NamedTuple):
    """A change since a snapshot; a start of -1 has not changed."""

    epoch: int
    """The number of that snapshot."""
    leader_epoch: int
    start: int
    finished_count: int
    ranges: Sequence[StoredRange]


def state_partition(key: ShareKey, partition_count: int) -> int:
    """Return the partition of __share_group_state that holds a share-partition.

    Source: Kafka's SharePartitionKey.asCoordinatorKey, hashed as the ids of groups are.
    """
    return partition_for_part(key.group_id, f":{kafka_id(key.topic_id)}:{key.partition}", partition_count)


def kafka_id(topic_id: UUID) -> str:
    """Return a topic id as Kafka writes it: base64 for URLs, without padding."""
    return urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


def encode_snapshot(key: ShareKey, value: Snapshot) -> EncodedRecord:
    """Return the record of a snapshot."""
    schema = ShareSnapshotValue(
        snapshot_epoch=value.epoch,
        state_epoch=value.state_epoch,
        leader_epoch=value.leader_epoch,
        start_offset=value.start,
        delivery_complete_count=value.finished_count,
        create_timestamp=value.created_ms,
        write_timestamp=value.written_ms,
        state_batches=_batches(value.ranges),
    )
    return _key(_SNAPSHOT, key), _value(schema)


def encode_update(key: ShareKey, value: Update) -> EncodedRecord:
    """Return the record of a change."""
    schema = ShareUpdateValue(
        snapshot_epoch=value.epoch,
        leader_epoch=value.leader_epoch,
        start_offset=value.start,
        delivery_complete_count=value.finished_count,
        state_batches=_batches(value.ranges),
    )
    return _key(_UPDATE, key), _value(schema)


def encode_deletion(key: ShareKey) -> EncodedRecord:
    """Return the record that deletes a share-partition's state."""
    return _key(_SNAPSHOT, key), None


def decode_state(
    key: bytes | memoryview, value: bytes | memoryview | None
) -> tuple[ShareKey, Snapshot | Update | None] | None:
    """Return a share-partition and its record, None as record if it is deleted.

    None for records of later versions, and for changes without a value.
    Raises: Malformed, UnsupportedVersion.
    """
    kind = _int16(key, "record type")
    if kind not in (_SNAPSHOT, _UPDATE):
        return None
    found, _ = decode(ShareStateKey, _VERSION, key, 2)
    name = ShareKey(found.group_id, found.topic_id, found.partition)
    if value is None:
        return (name, None) if kind == _SNAPSHOT else None
    version = _int16(value, "value version")
    if kind == _UPDATE:
        update, _ = decode(ShareUpdateValue, version, value, 2)
        return name, Update(
            update.snapshot_epoch,
            update.leader_epoch,
            update.start_offset,
            update.delivery_complete_count,
            _ranges(update.state_batches),
        )
    snapshot, _ = decode(ShareSnapshotValue, version, value, 2)
    return name, Snapshot(
        snapshot.snapshot_epoch,
        snapshot.state_epoch,
        snapshot.leader_epoch,
        snapshot.start_offset,
        snapshot.delivery_complete_count,
        snapshot.create_timestamp,
        snapshot.write_timestamp,
        _ranges(snapshot.state_batches),
    )


def _key(kind: int, key: ShareKey) -> bytes:
    schema = ShareStateKey(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition)
    return _INT16.pack(kind) + joined(encode(schema, _VERSION))


def _value(schema: object) -> bytes:
    return _INT16.pack(_VERSION) + joined(encode(schema, _VERSION))


def _batches(ranges: Sequence[StoredRange]) -> list[StateBatch]:
    return [
        StateBatch(
            first_offset=first, last_offset=last, delivery_state=state, delivery_count=count, cause=cause
        )
        for first, last, state, count, cause in ranges
    ]


def _ranges(batches: Sequence[StateBatch]) -> list[StoredRange]:
    """Return the ranges of a record, which must be in order: nothing else is ever written."""
    found: list[StoredRange] = []
    for batch in batches:
        state = _STATES.get(batch.delivery_state)
        if state is None:
            raise Malformed(2, "delivery_state", f"{batch.delivery_state} is no stored state")
        if batch.last_offset < batch.first_offset or (found and batch.first_offset <= found[-1].last):
            raise Malformed(2, "state_batches", f"{batch.first_offset} to {batch.last_offset} out of order")
        found.append(
            StoredRange(batch.first_offset, batch.last_offset, state, batch.delivery_count, batch.cause)
        )
    return found


def _int16(data: bytes | memoryview, field: str) -> int:
    if len(data) < _INT16.size:
        raise Malformed(0, field, "cut")
    found: int = _INT16.unpack_from(data)[0]
    return found
