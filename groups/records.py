"""The records of __consumer_offsets: typed keys and values to bytes and back.

    key   := type:i16 fields             the type tells the schemas of key and value; keys have one version
    value := version:i16 fields | none   none (a tombstone) deletes what the key names

Keys and values are Kafka's own, so that tools that read the topic work, as kafka-console-consumer with its
formatters.  Offsets are written as v4, as by Kafka 4.3: it has the topic's id, and Kafka's tools read it, and
skip tags that they do not know, from 3.5 on (KIP-915).  Classic groups are written as v3.  Every version that
Kafka ever wrote is read.
Values of offsets stay bytes until they are needed: a million are kept in memory, and most are overwritten
unread. See offsets.py.
Source: Kafka 4.3, GroupCoordinatorRecordHelpers.java and CoordinatorRecordType.java.
"""

from __future__ import annotations

import struct as packing
from typing import Any, Final, TypeVar

from groups.assignment import Assignment, EpochAssignment
from groups.consumer_member import ClassicMetadata, MemberAssignment, MemberMetadata
from groups.current_record import current_bytes
from groups.effects import EncodedRecord
from groups.record_keys import (
    ClassicGroupKey,
    CurrentKey,
    GroupEpoch,
    GroupEpochKey,
    Key,
    MemberKey,
    OffsetKey,
    RegexKey,
    ResolvedRegex,
    TargetEpoch,
    TargetEpochKey,
    TargetKey,
)
from groups.record_schemas import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue,
    CurrentPartitions,
    GroupKey,
    GroupMemberKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    RegularExpressionKey,
)
from groups.sorted_names import to_write
from groups.states import MemberState
from groups.topic_entries import NO_TAGS as NO_ENTRY_TAGS
from groups.topic_entries import topic_entries
from protocol.errors import Malformed
from protocol.schema import NO_TAGS
from protocol.wire import decode, encode, joined, prepare_written

T = TypeVar("T")

_INT16: Final = packing.Struct(">h")
_INT32: Final = packing.Struct(">i")
_GROUP_METADATA_VERSION: Final = 3
_STATES: Final = {int(state): state for state in MemberState}


# --- decoding -----------------------------------------------------------------------------------------------


def decode_record(key: bytes | memoryview, value: bytes | memoryview | None) -> tuple[Key, Any] | None:
    """Return the typed key and value of a record; None for types that are not ours (share groups, streams).

    The value of an offset stays bytes.
    Raises: Malformed, UnsupportedVersion.
    """
    kind = _int16(key, "record type")
    if kind <= 1:
        return _offset_key(key), None if value is None else bytes(value)
    if kind in _GROUP_KEYS:
        group_key, schema, domain = _GROUP_KEYS[kind]
        found, _ = decode(GroupKey, 0, key, 2)
        return group_key(found.group), _value(schema, domain, value)
    if kind in _MEMBER_KEYS:
        member_key, schema, domain = _MEMBER_KEYS[kind]
        member, _ = decode(GroupMemberKey, 0, key, 2)
        return member_key(member.group_id, member.member_id), _value(schema, domain, value)
    if kind == _REGEX:
        regex, _ = decode(RegularExpressionKey, 0, key, 2)
        resolved = _value(ConsumerGroupRegularExpressionValue, _resolved_regex, value)
        return RegexKey(regex.group_id, regex.regular_expression), resolved
    return None


def _offset_key(key: bytes | memoryview) -> OffsetKey:
    """Read OffsetCommitKey by hand, in a third of the codec's time: loading reads a million of them.

    A key that does not fit is left to the codec, which says what is wrong.
    """
    try:
        topic_at = 4 + _INT16.unpack_from(key, 2)[0]
        partition_at = topic_at + 2 + _INT16.unpack_from(key, topic_at)[0]
        partition: int = _INT32.unpack_from(key, partition_at)[0]
        if 4 <= topic_at <= partition_at - 2:
            return OffsetKey(
                str(key[4:topic_at], "utf-8"), str(key[topic_at + 2 : partition_at], "utf-8"), partition
            )
    except (packing.error, UnicodeDecodeError):
        return _offset_key_by_declaration(key)
    return _offset_key_by_declaration(key)


def _offset_key_by_declaration(key: bytes | memoryview) -> OffsetKey:
    """Read the key by its declaration, which names what is wrong with it."""
    found, _ = decode(OffsetCommitKey, 0, key, 2)
    return OffsetKey(found.group, found.topic, found.partition)


def _int16(data: bytes | memoryview, field: str) -> int:
    if len(data) < 2:
        raise Malformed(0, field, "cut")
    found: int = _INT16.unpack_from(data)[0]
    return found


def _value(schema: type[T], domain: Any, value: bytes | memoryview | None) -> Any:
    if value is None:
        return None
    found, _ = decode(schema, _int16(value, schema.__name__), value, 2)
    return domain(found)


def _group_epoch(value: ConsumerGroupMetadataValue) -> GroupEpoch:
    return GroupEpoch(value.epoch, value.metadata_hash)


def _target_epoch(value: ConsumerGroupTargetAssignmentMetadataValue) -> TargetEpoch:
    return TargetEpoch(value.assignment_epoch, value.assignment_timestamp)


def _resolved_regex(value: ConsumerGroupRegularExpressionValue) -> ResolvedRegex:
    return ResolvedRegex(frozenset(value.topics), value.timestamp)


def _member_metadata(value: ConsumerGroupMemberMetadataValue) -> MemberMetadata:
    return MemberMetadata(
        client_id=value.client_id,
        client_host=value.client_host,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        topics=tuple(value.subscribed_topic_names),
        regex=value.subscribed_topic_regex or "",
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        assignor=value.server_assignor,
        classic=_classic_metadata(_tag_zero(value)),
    )


def _tag_zero(value: Any) -> bytes:
    found: bytes = value.unknown_tags.get(0, b"\0")
    return found


def _classic_metadata(tagged: bytes) -> ClassicMetadata | None:
    if tagged[:1] != b"\1":
        return None
    value, _ = decode(ClassicMemberMetadata, 0, tagged, 1)
    protocols = tuple((protocol.name, protocol.metadata) for protocol in value.supported_protocols)
    return ClassicMetadata(value.session_timeout_ms, protocols)


def _target(value: ConsumerGroupTargetAssignmentMemberValue) -> Assignment:
    return {entry.topic_id: frozenset(entry.partitions) for entry in value.topic_partitions}


def _member_assignment(value: ConsumerGroupCurrentMemberAssignmentValue) -> MemberAssignment:
    return MemberAssignment(
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=_STATES.get(value.state, MemberState.UNKNOWN),
        assigned=_with_epochs(value.assigned_partitions, value.member_epoch),
        revoking=_with_epochs(value.partitions_pending_revocation, value.member_epoch),
    )


def _with_epochs(partitions: list[CurrentPartitions], epoch: int) -> EpochAssignment:
    """Return partitions with their epochs; records before 4.3 have none, and the member's own is used."""
    found = {}
    for entry in partitions:
        epochs = entry.assignment_epochs or []
        if len(epochs) != len(entry.partitions):
            epochs = [epoch] * len(entry.partitions)
        found[entry.topic_id] = dict(zip(entry.partitions, epochs, strict=True))
    return found


# --- encoding -----------------------------------------------------------------------------------------------


def encode_record(key: Key, value: Any) -> EncodedRecord:
    """Return the bytes of a record; None as value makes a tombstone, an offset's value is bytes already."""
    if isinstance(key, OffsetKey):
        return offset_key_bytes(key), value
    kind, encoder = _ENCODERS[type(key)]
    if isinstance(key, (MemberKey, TargetKey, CurrentKey)):
        schema: object = GroupMemberKey(group_id=key.group_id, member_id=key.member_id)
    elif isinstance(key, RegexKey):
        schema = RegularExpressionKey(group_id=key.group_id, regular_expression=key.regex)
    else:
        schema = GroupKey(group=key.group_id)
    return _bytes(kind, schema, 0), None if value is None else encoder(value)


def offset_key_bytes(key: OffsetKey) -> bytes:
    """Return the key of an offset's record."""
    return _bytes(
        _OFFSET_COMMIT, OffsetCommitKey(group=key.group_id, topic=key.topic, partition=key.partition), 0
    )


def _bytes(prefix: int, schema: object, version: int) -> bytes:
    return _INT16.pack(prefix) + joined(encode(schema, version))


def _classic_group_bytes(value: GroupMetadataValue) -> bytes:
    return _bytes(_GROUP_METADATA_VERSION, value, _GROUP_METADATA_VERSION)


def _group_epoch_bytes(value: GroupEpoch) -> bytes:
    return _bytes(0, ConsumerGroupMetadataValue(epoch=value.epoch, metadata_hash=value.metadata_hash), 0)


def _target_epoch_bytes(value: TargetEpoch) -> bytes:
    schema = ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=value.epoch, assignment_timestamp=value.timestamp_ms
    )
    return _bytes(0, schema, 0)


def _regex_bytes(value: ResolvedRegex) -> bytes:
    schema = ConsumerGroupRegularExpressionValue(
        topics=sorted(value.topics), version=0, timestamp=value.timestamp_ms
    )
    return _bytes(0, schema, 0)


def _member_bytes(value: MemberMetadata) -> bytes:
    tagged = b"\0"
    if value.classic is not None:
        protocols = [ClassicProtocol(name=name, metadata=blob) for name, blob in value.classic.protocols]
        classic = ClassicMemberMetadata(
            session_timeout_ms=value.classic.session_timeout_ms, supported_protocols=protocols
        )
        tagged = b"\1" + joined(encode(classic, 0))
    schema: Any = ConsumerGroupMemberMetadataValue(
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topic_names=to_write(value.topics),
        subscribed_topic_regex=value.regex,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        server_assignor=value.assignor,
    )
    schema.unknown_tags = {0: tagged}
    return _bytes(0, schema, 0)


def _target_bytes(value: Assignment) -> bytes:
    """Return ConsumerGroupTargetAssignmentMemberValue, in its only version."""
    return _INT16.pack(0) + topic_entries(value) + NO_ENTRY_TAGS


def _classic_group(value: GroupMetadataValue) -> GroupMetadataValue:
    """Return the value as it can be written again: in version 3, which has no tagged fields."""
    for part in (value, *value.members):
        part.unknown_tags = NO_TAGS  # type: ignore[attr-defined]
    return value


_OFFSET_COMMIT: Final = 1
_REGEX: Final = 16
_GROUP_KEYS: Final[dict[int, tuple[type[Any], type[Any], Any]]] = {
    2: (ClassicGroupKey, GroupMetadataValue, _classic_group),
    3: (GroupEpochKey, ConsumerGroupMetadataValue, _group_epoch),
    6: (TargetEpochKey, ConsumerGroupTargetAssignmentMetadataValue, _target_epoch),
}
_MEMBER_KEYS: Final[dict[int, tuple[type[Any], type[Any], Any]]] = {
    5: (MemberKey, ConsumerGroupMemberMetadataValue, _member_metadata),
    7: (TargetKey, ConsumerGroupTargetAssignmentMemberValue, _target),
    8: (CurrentKey, ConsumerGroupCurrentMemberAssignmentValue, _member_assignment),
}
_ENCODERS: Final[dict[type[Any], tuple[int, Any]]] = {
    ClassicGroupKey: (2, _classic_group_bytes),
    GroupEpochKey: (3, _group_epoch_bytes),
    MemberKey: (5, _member_bytes),
    TargetEpochKey: (6, _target_epoch_bytes),
    TargetKey: (7, _target_bytes),
    CurrentKey: (8, current_bytes),
    RegexKey: (16, _regex_bytes),
}

prepare_written(
    {
        OffsetCommitKey: (0,),
        OffsetCommitValue: (4,),
        GroupKey: (0,),
        GroupMetadataValue: (3,),
        ConsumerGroupMetadataValue: (0,),
        GroupMemberKey: (0,),
        ClassicMemberMetadata: (0,),
        ConsumerGroupMemberMetadataValue: (0,),
        ConsumerGroupTargetAssignmentMetadataValue: (0,),
        ConsumerGroupTargetAssignmentMemberValue: (0,),
        ConsumerGroupCurrentMemberAssignmentValue: (0,),
        RegularExpressionKey: (0,),
        ConsumerGroupRegularExpressionValue: (0,),
    }
)
