"""The schemas of share groups against bytes that Apache Kafka 4.3.1's own generated classes wrote."""

from __future__ import annotations

from uuid import UUID

import pytest

from groups.record_schemas import GroupKey, GroupMemberKey
from groups.share import record_schemas as schemas
from protocol.wire import decode, encode, joined

TOPIC_ID = UUID("00112233-4455-6677-8899-aabbccddeeff")

ID = "00112233445566778899aabbccddeeff"

INFO = schemas.TopicPartitionsInfo(topic_id=TOPIC_ID, topic_name="a", partitions=[1])

GOLDEN: list[tuple[object, str]] = [
    (GroupMemberKey(group_id="g", member_id="m"), "00016700016d"),
    (GroupKey(group="g"), "000167"),
    (
        schemas.ShareGroupMemberMetadataValue(
            rack_id="r", client_id="c", client_host="/h", subscribed_topic_names=["a", "b"]
        ),
        "02720263032f68030261026200",
    ),
    (
        schemas.ShareGroupMemberMetadataValue(
            rack_id=None, client_id="c", client_host="/h", subscribed_topic_names=[]
        ),
        "000263032f680100",
    ),
    (schemas.ShareGroupMetadataValue(epoch=5, metadata_hash=77), "00000005000000000000004d00"),
    (
        schemas.ShareGroupTargetAssignmentMetadataValue(
            assignment_epoch=5, assignment_timestamp=1700000000000
        ),
        "000000050100080000018bcfe56800",
    ),
    (
        schemas.ShareGroupTargetAssignmentMemberValue(
            topic_partitions=[schemas.TopicPartitions(topic_id=TOPIC_ID, partitions=[0, 2])]
        ),
        f"02{ID}0300000000000000020000",
    ),
    (
        schemas.ShareGroupCurrentMemberAssignmentValue(
            member_epoch=5,
            previous_member_epoch=4,
            state=0,
            assigned_partitions=[schemas.TopicPartitions(topic_id=TOPIC_ID, partitions=[0, 2])],
        ),
        f"00000005000000040002{ID}0300000000000000020000",
    ),
    (
        schemas.ShareGroupStatePartitionMetadataValue(
            initializing_topics=[INFO],
            initialized_topics=[
                schemas.TopicPartitionsInfo(topic_id=TOPIC_ID, topic_name="a", partitions=[0])
            ],
            deleting_topics=[schemas.TopicInfo(topic_id=TOPIC_ID, topic_name="b")],
        ),
        f"02{ID}026102000000010002{ID}026102000000000002{ID}02620000",
    ),
    (
        schemas.ShareStateKey(group_id="g", topic_id=TOPIC_ID, partition=3),
        f"000167{ID}00000003",
    ),
]


@pytest.mark.parametrize(("message", "golden"), GOLDEN, ids=lambda value: type(value).__name__)
def test_kafkas_bytes_are_read_and_written(message: object, golden: str) -> None:
    data = bytes.fromhex(golden)
    assert joined(encode(message, 0)).hex() == golden
    assert decode(type(message), 0, data) == (message, len(data))
