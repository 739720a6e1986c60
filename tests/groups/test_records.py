"""Tests of groups/records.py."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.consumer_member import ClassicMetadata, MemberAssignment, MemberMetadata
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
    ConsumerGroupCurrentMemberAssignmentValue,
    CurrentPartitions,
    GroupMetadataValue,
    OffsetCommitKey,
)
from groups.record_schemas import MemberMetadata as MemberSchema
from groups.records import decode_record, encode_record
from groups.states import MemberState
from protocol.errors import Malformed, UnsupportedVersion
from protocol.wire import decode, encode, joined

TOPIC_ID = UUID("00112233-4455-6677-8899-aabbccddeeff")
names = st.text(max_size=12) | st.sampled_from(["orders", "ünï-😀", "x" * 300])
epochs = st.integers(-2, 2**31 - 1)
indexes = st.integers(0, 2**31 - 1)
topic_ids = st.uuids()
moments = st.integers(0, 2**62)
epoch_assignments = st.dictionaries(
    topic_ids, st.dictionaries(indexes, epochs, min_size=1, max_size=3), max_size=3
)

RECORDS: dict[type, st.SearchStrategy[tuple[Key, Any]]] = {
    OffsetKey: st.tuples(st.builds(OffsetKey, names, names, indexes), st.binary(min_size=2)),
    GroupEpochKey: st.tuples(
        st.builds(GroupEpochKey, names), st.builds(GroupEpoch, epochs, st.integers(-(2**63), 2**63 - 1))
    ),
    TargetEpochKey: st.tuples(st.builds(TargetEpochKey, names), st.builds(TargetEpoch, epochs, moments)),
    TargetKey: st.tuples(
        st.builds(TargetKey, names, names),
        st.dictionaries(topic_ids, st.frozensets(indexes, min_size=1, max_size=4), max_size=3),
    ),
    CurrentKey: st.tuples(
        st.builds(CurrentKey, names, names),
        st.builds(
            MemberAssignment,
            epoch=epochs,
            previous_epoch=epochs,
            state=st.sampled_from(MemberState),
            assigned=epoch_assignments,
            revoking=epoch_assignments,
        ),
    ),
    RegexKey: st.tuples(
        st.builds(RegexKey, names, names),
        st.builds(ResolvedRegex, st.frozensets(names, max_size=4), moments),
    ),
    MemberKey: st.tuples(
        st.builds(MemberKey, names, names),
        st.builds(
            MemberMetadata,
            client_id=names,
            client_host=names,
            instance_id=st.none() | names,
            rack_id=st.none() | names,
            topics=st.lists(names, max_size=3).map(tuple),
            regex=names,
            rebalance_timeout_ms=st.integers(-1, 2**31 - 1),
            assignor=st.none() | names,
            classic=st.none()
            | st.builds(
                ClassicMetadata,
                st.integers(0, 2**31 - 1),
                st.lists(st.tuples(names, st.binary(max_size=20)), max_size=3).map(tuple),
            ),
        ),
    ),
}


@given(st.one_of(*RECORDS.values()))
def test_every_record_survives_its_bytes(record: tuple[Key, Any]) -> None:
    key, value = encode_record(*record)
    assert value is not None
    assert decode_record(key, value) == record
    assert decode_record(memoryview(key), memoryview(value)) == record


@given(st.one_of(*RECORDS.values()))
def test_a_tombstone_has_the_key_of_what_it_deletes(record: tuple[Key, Any]) -> None:
    key, value = encode_record(record[0], None)
    assert value is None
    assert key == encode_record(*record)[0]
    assert decode_record(key, None) == (record[0], None)


def test_keys_of_different_types_are_different() -> None:
    keys: list[Key] = [GroupEpochKey("g"), TargetEpochKey("g"), ClassicGroupKey("g")]
    assert len({encode_record(key, None)[0] for key in keys}) == 3
    assert len(set(keys)) == 3


def test_classic_groups_are_written_as_version_3() -> None:
    stored = GroupMetadataValue(
        protocol_type="consumer",
        generation=1,
        protocol=None,
        leader=None,
        current_state_timestamp=5,
        members=[],
    )
    key, value = encode_record(ClassicGroupKey("g"), stored)
    assert key == b"\0\2\0\1g"
    assert value is not None
    assert value[:2] == b"\0\3"
    assert decode_record(key, value) == (ClassicGroupKey("g"), stored)


def test_the_classic_part_of_a_member_is_kafkas() -> None:
    """The bytes are Kafka 4.3.1's: with such a part, and with null for it."""
    classic = bytes.fromhex("00000269000263032f68020261010000afc8000100110100001770020672616e67650300010000")
    plain = bytes.fromhex("00000002720263032f68030261026204782e2a0000afc808756e69666f726d01000100")
    key = encode_record(MemberKey("g", "m"), None)[0]
    static = MemberMetadata(
        client_id="c",
        client_host="/h",
        instance_id="i",
        topics=("a",),
        rebalance_timeout_ms=45000,
        classic=ClassicMetadata(6000, (("range", b"\0\1"),)),
    )
    dynamic = MemberMetadata(
        client_id="c",
        client_host="/h",
        rack_id="r",
        topics=("a", "b"),
        regex="x.*",
        rebalance_timeout_ms=45000,
        assignor="uniform",
    )
    assert decode_record(key, classic) == (MemberKey("g", "m"), static)
    assert decode_record(key, plain) == (MemberKey("g", "m"), dynamic)
    assert encode_record(MemberKey("g", "m"), static)[1] == classic
    assert encode_record(MemberKey("g", "m"), dynamic)[1] == plain


def test_partitions_of_records_before_4_3_count_as_got_in_the_members_epoch() -> None:
    old = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=5,
        previous_member_epoch=4,
        state=0,
        assigned_partitions=[CurrentPartitions(topic_id=TOPIC_ID, partitions=[1, 3])],
        partitions_pending_revocation=[],
    )
    key = encode_record(CurrentKey("g", "m"), None)[0]
    record = decode_record(key, b"\0\0" + joined(encode(old, 0)))
    assert record is not None
    assert record[1].assigned == {TOPIC_ID: {1: 5, 3: 5}}


def test_a_state_of_a_later_version_is_read_as_unknown() -> None:
    later = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=5,
        previous_member_epoch=4,
        state=77,
        assigned_partitions=[],
        partitions_pending_revocation=[],
    )
    key = encode_record(CurrentKey("g", "m"), None)[0]
    record = decode_record(key, b"\0\0" + joined(encode(later, 0)))
    assert record is not None
    assert record[1].state == MemberState.UNKNOWN


@pytest.mark.parametrize("kind", [4, 9, 10, 15, 17, 99])
def test_records_of_other_kinds_of_groups_are_passed_over(kind: int) -> None:
    assert decode_record(kind.to_bytes(2, "big") + b"\0\1g", b"\0\0whatever") is None


@given(names, names, indexes)
def test_the_quick_way_to_read_an_offsets_key_is_the_codecs(group_id: str, topic: str, index: int) -> None:
    data = joined(encode(OffsetCommitKey(group=group_id, topic=topic, partition=index), 0))
    for kind in (b"\0\0", b"\0\1"):
        assert decode_record(kind + data, None) == (OffsetKey(group_id, topic, index), None)


@given(st.binary(max_size=40))
def test_whatever_a_key_holds_it_is_read_or_malformed(data: bytes) -> None:
    try:
        found, end = decode(OffsetCommitKey, 0, data)
    except Malformed:
        with pytest.raises(Malformed):
            decode_record(b"\0\1" + data, None)
    else:
        if end == len(data):
            assert decode_record(b"\0\1" + data, None) == (
                OffsetKey(found.group, found.topic, found.partition),
                None,
            )


@pytest.mark.parametrize("key", [b"", b"\0", b"\0\1", b"\0\2\0", b"\0\5\0\1g"])
def test_a_cut_key_is_malformed(key: bytes) -> None:
    with pytest.raises(Malformed):
        decode_record(key, b"\0\0")


def test_a_value_of_a_later_version_is_refused() -> None:
    with pytest.raises(UnsupportedVersion):
        decode_record(b"\0\3\0\1g", b"\0\1\0\0\0\1\0")


@pytest.mark.parametrize("value", [b"", b"\0", b"\0\0", b"\0\0\0"])
def test_a_cut_value_is_malformed(value: bytes) -> None:
    with pytest.raises(Malformed):
        decode_record(b"\0\3\0\1g", value)


def test_tagged_fields_of_a_later_server_do_not_keep_a_classic_group_from_being_written() -> None:
    """Version 4 has them.  What kept them failed with the next change of the group."""
    member: Any = MemberSchema(
        member_id="m",
        client_id="c",
        client_host="/h",
        rebalance_timeout=1,
        session_timeout=1,
        subscription=b"",
        assignment=b"",
    )
    value: Any = GroupMetadataValue(
        protocol_type="consumer",
        generation=1,
        protocol="range",
        leader="m",
        current_state_timestamp=1,
        members=[member],
    )
    key, written = encode_record(ClassicGroupKey("g"), value)
    value.unknown_tags, member.unknown_tags = {7: b"x"}, {40: b"\xe5", 1_048_576: b""}
    stored = b"\0\4" + joined(encode(value, 4))
    found: Any = decode_record(key, stored)
    assert encode_record(*found) == (key, written)
