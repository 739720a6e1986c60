"""The records of share groups in __consumer_offsets: typed keys and values to bytes and back.

    key   := type:i16 fields             type 10 to 15, by which key and value are read
    value := version:i16 fields | none   none (a tombstone) deletes what the key names

Source: Kafka 4.3, GroupCoordinatorRecordHelpers.java and CoordinatorRecordType.java.
"""

from __future__ import annotations

import struct as packing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from uuid import UUID

from groups.assignment import Assignment
from groups.effects import EncodedRecord
from groups.record_keys import GroupEpoch, TargetEpoch
from groups.record_schemas import GroupKey, GroupMemberKey
from groups.share.record_schemas import (
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataValue,
    TopicPartitions,
)
from groups.sorted_names import to_write
from groups.topic_entries import (
    NO_TAGS,
    array_of,
    ids_of,
    name_entry,
    partitions_entry,
    topic_entries,
)
from protocol.errors import Malformed
from protocol.wire import decode, encode, joined

_INT16: Final = packing.Struct(">h")
_VERSION: Final = 0
_CURRENT_HEAD: Final = packing.Struct(">iib")
_STABLE: Final = 0
"""The state of every member: nothing is revoked in a share group."""


@dataclass(frozen=True, slots=True)
class ShareMemberKey:
    """A member. Value: ShareMember."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class ShareEpochKey:
    """The epoch of a share group; without it the group does not exist. Value: GroupEpoch."""

    group_id: str


@dataclass(frozen=True, slots=True)
class ShareTargetEpochKey:
    """The epoch of a share group's target assignment. Value: TargetEpoch."""

    group_id: str


@dataclass(frozen=True, slots=True)
class ShareTargetKey:
    """The target assignment of a member. Value: Assignment."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class ShareCurrentKey:
    """The current assignment of a member. Value: ShareCurrent."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class ShareStatesKey:
    """The partitions in which the group's progress is kept. Value: Initialized."""

    group_id: str


ShareGroupKey = (
    ShareMemberKey | ShareEpochKey | ShareTargetEpochKey | ShareTargetKey | ShareCurrentKey | ShareStatesKey
)


class ShareMember(NamedTuple):
    """The identity of a member, and the topics it wants, sorted."""

    client_id: str
    client_host: str
    topics: tuple[str, ...]
    rack_id: str | None = None


class ShareCurrent(NamedTuple):
    """The partitions that a member was told, and how far it has followed the group."""

    epoch: int
    previous_epoch: int
    assigned: Assignment


class InitializedTopic(NamedTuple):
    """A topic's name, and those of its partitions in which the group's progress is kept."""

    name: str
    partitions: frozenset[int]


Initialized = Mapping[UUID, InitializedTopic]
"""By topic id."""


def decode_share_record(
    key: bytes | memoryview, value: bytes | memoryview | None
) -> tuple[ShareGroupKey, Any] | None:
    """Return the typed key and value of a record; None if it is not of a share group.

    Raises: Malformed, UnsupportedVersion.
    """
    row = _DECODERS.get(_int16(key, "record type"))
    if row is None:
        return None
    key_type, schema, domain = row
    name: ShareGroupKey
    if key_type in _OF_MEMBERS:
        member, _ = decode(GroupMemberKey, _VERSION, key, 2)
        name = key_type(member.group_id, member.member_id)
    else:
        group, _ = decode(GroupKey, _VERSION, key, 2)
        name = key_type(group.group)
    if value is None:
        return name, None
    found, _ = decode(schema, _int16(value, schema.__name__), value, 2)
    return name, domain(found)


def encode_share_record(key: ShareGroupKey, value: Any) -> EncodedRecord:
    """Return the bytes of a record; None as value makes a tombstone."""
    kind, encoder = _ENCODERS[type(key)]
    schema: object
    if isinstance(key, (ShareMemberKey, ShareTargetKey, ShareCurrentKey)):
        schema = GroupMemberKey(group_id=key.group_id, member_id=key.member_id)
    else:
        schema = GroupKey(group=key.group_id)
    encoded = _INT16.pack(kind) + joined(encode(schema, _VERSION))
    if value is None:
        return encoded, None
    return encoded, _INT16.pack(_VERSION) + encoder(value)


# --- values -------------------------------------------------------------------------------------------------


def _member(value: ShareGroupMemberMetadataValue) -> ShareMember:
    topics = tuple(value.subscribed_topic_names)
    return ShareMember(value.client_id, value.client_host, topics, value.rack_id)


def _member_bytes(value: ShareMember) -> bytes:
    schema = ShareGroupMemberMetadataValue(
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topic_names=to_write(value.topics),
    )
    return joined(encode(schema, _VERSION))


def _epoch(value: ShareGroupMetadataValue) -> GroupEpoch:
    return GroupEpoch(value.epoch, value.metadata_hash)


def _epoch_bytes(value: GroupEpoch) -> bytes:
    schema = ShareGroupMetadataValue(epoch=value.epoch, metadata_hash=value.metadata_hash)
    return joined(encode(schema, _VERSION))


def _target_epoch(value: ShareGroupTargetAssignmentMetadataValue) -> TargetEpoch:
    return TargetEpoch(value.assignment_epoch, value.assignment_timestamp)


def _target_epoch_bytes(value: TargetEpoch) -> bytes:
    schema = ShareGroupTargetAssignmentMetadataValue(
        assignment_epoch=value.epoch, assignment_timestamp=value.timestamp_ms
    )
    return joined(encode(schema, _VERSION))


def _assignment(topics: list[TopicPartitions]) -> Assignment:
    return {topic.topic_id: frozenset(topic.partitions) for topic in topics}


def _target(value: ShareGroupTargetAssignmentMemberValue) -> Assignment:
    return _assignment(value.topic_partitions)


def _target_bytes(value: Assignment) -> bytes:
    return topic_entries(value) + NO_TAGS


def _current(value: ShareGroupCurrentMemberAssignmentValue) -> ShareCurrent:
    assigned = _assignment(value.assigned_partitions)
    return ShareCurrent(value.member_epoch, value.previous_member_epoch, assigned)


def _current_bytes(value: ShareCurrent) -> bytes:
    head = _CURRENT_HEAD.pack(value.epoch, value.previous_epoch, _STABLE)
    return head + topic_entries(value.assigned) + NO_TAGS


def _initialized(value: ShareGroupStatePartitionMetadataValue) -> Initialized:
    """Return the initialized partitions; those on their way are initialized again."""
    return {
        topic.topic_id: InitializedTopic(topic.topic_name, frozenset(topic.partitions))
        for topic in value.initialized_topics
    }


def _initialized_bytes(value: Initialized) -> bytes:
    made = {indexes: partitions_entry(indexes) for indexes in {topic.partitions for topic in value.values()}}
    parts = (
        part
        for topic_id, topic in zip(ids_of(value), value.values(), strict=True)
        for part in (topic_id, name_entry(topic.name), made[topic.partitions])
    )
    # None is being initialized, none deleted.
    return array_of(0, ()) + array_of(len(value), parts) + array_of(0, ()) + NO_TAGS


def _int16(data: bytes | memoryview, field: str) -> int:
    if len(data) < _INT16.size:
        raise Malformed(0, field, "cut")
    found: int = _INT16.unpack_from(data)[0]
    return found


_OF_MEMBERS: Final = frozenset({ShareMemberKey, ShareTargetKey, ShareCurrentKey})

_DECODERS: Final[Mapping[int, tuple[type[Any], type[Any], Callable[[Any], Any]]]] = {
    10: (ShareMemberKey, ShareGroupMemberMetadataValue, _member),
    11: (ShareEpochKey, ShareGroupMetadataValue, _epoch),
    12: (ShareTargetEpochKey, ShareGroupTargetAssignmentMetadataValue, _target_epoch),
    13: (ShareTargetKey, ShareGroupTargetAssignmentMemberValue, _target),
    14: (ShareCurrentKey, ShareGroupCurrentMemberAssignmentValue, _current),
    15: (ShareStatesKey, ShareGroupStatePartitionMetadataValue, _initialized),
}

_ENCODERS: Final[Mapping[type[Any], tuple[int, Callable[[Any], bytes]]]] = {
    ShareMemberKey: (10, _member_bytes),
    ShareEpochKey: (11, _epoch_bytes),
    ShareTargetEpochKey: (12, _target_epoch_bytes),
    ShareTargetKey: (13, _target_bytes),
    ShareCurrentKey: (14, _current_bytes),
    ShareStatesKey: (15, _initialized_bytes),
}
