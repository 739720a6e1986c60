"""The schemas against bytes that Apache Kafka 4.3.1's own generated classes wrote."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from groups import record_schemas as schemas
from protocol.wire import ZERO_UUID, decode, encode, joined

TOPIC_ID = UUID("00112233-4455-6677-8899-aabbccddeeff")


def offset_value(**rest: Any) -> schemas.OffsetCommitValue:
    return schemas.OffsetCommitValue(
        offset=1234567890123, metadata="méta", commit_timestamp=1700000000000, **rest
    )


def classic_group(version: int) -> schemas.GroupMetadataValue:
    return schemas.GroupMetadataValue(
        protocol_type="consumer",
        generation=9,
        protocol="range",
        leader="m1",
        current_state_timestamp=1700000000001 if version >= 2 else -1,
        members=[
            schemas.MemberMetadata(
                member_id="m1",
                group_instance_id="i1" if version >= 3 else None,
                client_id="c",
                client_host="/127.0.0.1",
                rebalance_timeout=60000 if version >= 1 else -1,
                session_timeout=10000,
                subscription=b"\1\2",
                assignment=b"\3\4\5",
            )
        ],
    )


GOLDEN: list[tuple[object, int, str]] = [
    (
        schemas.OffsetCommitKey(group="grp", topic="orders", partition=7),
        0,
        "000367727000066f726465727300000007",
    ),
    (offset_value(), 0, "0000011f71fb04cb00056dc3a974610000018bcfe56800"),
    (
        offset_value(expire_timestamp=1700000099000),
        1,
        "0000011f71fb04cb00056dc3a974610000018bcfe568000000018bcfe6eab8",
    ),
    (offset_value(), 2, "0000011f71fb04cb00056dc3a974610000018bcfe56800"),
    (offset_value(leader_epoch=5), 3, "0000011f71fb04cb0000000500056dc3a974610000018bcfe56800"),
    (
        offset_value(leader_epoch=5, topic_id=TOPIC_ID),
        4,
        "0000011f71fb04cb00000005066dc3a974610000018bcfe5680001001000112233445566778899aabbccddeeff",
    ),
    (
        classic_group(0),
        0,
        "0008636f6e73756d657200000009000572616e676500026d310000000100026d31000163000a2f3132372e302e302e31"
        "0000271000000002010200000003030405",
    ),
    (
        classic_group(1),
        1,
        "0008636f6e73756d657200000009000572616e676500026d310000000100026d31000163000a2f3132372e302e302e31"
        "0000ea600000271000000002010200000003030405",
    ),
    (
        classic_group(2),
        2,
        "0008636f6e73756d657200000009000572616e676500026d310000018bcfe568010000000100026d31000163000a2f31"
        "32372e302e302e310000ea600000271000000002010200000003030405",
    ),
    (
        classic_group(3),
        3,
        "0008636f6e73756d657200000009000572616e676500026d310000018bcfe568010000000100026d3100026931000163"
        "000a2f3132372e302e302e310000ea600000271000000002010200000003030405",
    ),
    (
        classic_group(4),
        4,
        "09636f6e73756d6572000000090672616e6765036d310000018bcfe5680102036d3103693102630b2f3132372e302e30"
        "2e310000ea6000002710030102040304050000",
    ),
    (
        schemas.GroupMetadataValue(
            protocol_type="consumer",
            generation=10,
            protocol=None,
            leader=None,
            current_state_timestamp=1700000000001,
            members=[],
        ),
        3,
        "0008636f6e73756d65720000000affffffff0000018bcfe5680100000000",
    ),
    (schemas.GroupKey(group="grp"), 0, "0003677270"),
    (schemas.ConsumerGroupMetadataValue(epoch=3, metadata_hash=-77), 0, "00000003010008ffffffffffffffb3"),
    (schemas.GroupMemberKey(group_id="grp", member_id="mem"), 0, "000367727000036d656d"),
    (
        schemas.ConsumerGroupTargetAssignmentMetadataValue(
            assignment_epoch=4, assignment_timestamp=1700000000002
        ),
        0,
        "000000040100080000018bcfe56802",
    ),
    (
        schemas.ConsumerGroupTargetAssignmentMemberValue(
            topic_partitions=[schemas.TargetPartitions(topic_id=TOPIC_ID, partitions=[0, 2])]
        ),
        0,
        "0200112233445566778899aabbccddeeff0300000000000000020000",
    ),
    (
        schemas.ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=5,
            previous_member_epoch=4,
            state=1,
            assigned_partitions=[
                schemas.CurrentPartitions(topic_id=TOPIC_ID, partitions=[1, 3], assignment_epochs=[4, 5])
            ],
            partitions_pending_revocation=[
                schemas.CurrentPartitions(topic_id=TOPIC_ID, partitions=[2], assignment_epochs=[3])
            ],
        ),
        0,
        "0000000500000004010200112233445566778899aabbccddeeff03000000010000000301000903000000040000000502"
        "00112233445566778899aabbccddeeff0200000002010005020000000300",
    ),
    (
        schemas.RegularExpressionKey(group_id="grp", regular_expression="x.*"),
        0,
        "00036772700003782e2a",
    ),
    (
        schemas.ConsumerGroupRegularExpressionValue(topics=["x1", "x2"], version=12, timestamp=1700000000003),
        0,
        "03037831037832000000000000000c0000018bcfe5680300",
    ),
]


@pytest.mark.parametrize(("message", "version", "golden"), GOLDEN, ids=lambda value: type(value).__name__)
def test_kafkas_bytes_are_read_and_written(message: object, version: int, golden: str) -> None:
    data = bytes.fromhex(golden)
    assert joined(encode(message, version)) == data
    assert decode(type(message), version, data) == (message, len(data))


def test_offsets_without_a_topic_id_have_the_zero_id() -> None:
    assert offset_value().topic_id == ZERO_UUID
