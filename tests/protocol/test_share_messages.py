"""The messages of share groups against bytes that Apache Kafka 4.3.1's own generated classes wrote."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from protocol.messages import (
    alter_share_group_offsets,
    delete_share_group_offsets,
    describe_share_group_offsets,
    share_acknowledge,
    share_fetch,
    share_group_describe,
    share_group_heartbeat,
)
from protocol.wire import decode, encode, joined

TOPIC_ID = UUID("00112233-4455-6677-8899-aabbccddeeff")

ID = "00112233445566778899aabbccddeeff"


def fetch_request(**newer: Any) -> share_fetch.ShareFetchRequest:
    batch = share_fetch.AcknowledgementBatch(first_offset=10, last_offset=12, acknowledge_types=[1, 0, 2])
    partition = share_fetch.FetchPartition(partition_index=3, acknowledgement_batches=[batch])
    return share_fetch.ShareFetchRequest(
        group_id="g",
        member_id="m",
        share_session_epoch=4,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1000,
        max_records=50,
        batch_size=10,
        topics=[share_fetch.FetchTopic(topic_id=TOPIC_ID, partitions=[partition])],
        forgotten_topics_data=[share_fetch.ForgottenTopic(topic_id=TOPIC_ID, partitions=[5])],
        **newer,
    )


def fetch_response() -> share_fetch.ShareFetchResponse:
    partition = share_fetch.PartitionData(
        partition_index=3,
        error_code=6,
        error_message="l",
        acknowledge_error_code=121,
        acknowledge_error_message="s",
        current_leader=share_fetch.LeaderIdAndEpoch(leader_id=1, leader_epoch=2),
        acquired_records=[share_fetch.AcquiredRecords(first_offset=10, last_offset=20, delivery_count=1)],
    )
    return share_fetch.ShareFetchResponse(
        throttle_time_ms=1,
        error_code=122,
        error_message="x",
        acquisition_lock_timeout_ms=30000,
        responses=[share_fetch.ShareFetchableTopicResponse(topic_id=TOPIC_ID, partitions=[partition])],
        node_endpoints=[share_fetch.NodeEndpoint(node_id=1, host="h", port=9092, rack="r")],
    )


def acknowledge_request(**newer: Any) -> share_acknowledge.ShareAcknowledgeRequest:
    batch = share_acknowledge.AcknowledgementBatch(first_offset=10, last_offset=12, acknowledge_types=[3])
    partition = share_acknowledge.AcknowledgePartition(partition_index=3, acknowledgement_batches=[batch])
    return share_acknowledge.ShareAcknowledgeRequest(
        group_id="g",
        member_id="m",
        share_session_epoch=4,
        topics=[share_acknowledge.AcknowledgeTopic(topic_id=TOPIC_ID, partitions=[partition])],
        **newer,
    )


def acknowledge_response(**newer: Any) -> share_acknowledge.ShareAcknowledgeResponse:
    partition = share_acknowledge.PartitionData(
        partition_index=3,
        error_code=6,
        error_message="l",
        current_leader=share_acknowledge.LeaderIdAndEpoch(leader_id=1, leader_epoch=2),
    )
    topic = share_acknowledge.ShareAcknowledgeTopicResponse(topic_id=TOPIC_ID, partitions=[partition])
    return share_acknowledge.ShareAcknowledgeResponse(
        throttle_time_ms=1,
        error_code=123,
        error_message="x",
        responses=[topic],
        node_endpoints=[share_acknowledge.NodeEndpoint(node_id=1, host="h", port=9092, rack="r")],
        **newer,
    )


def described_group() -> share_group_describe.ShareGroupDescribeResponse:
    partitions = share_group_describe.TopicPartitions(topic_id=TOPIC_ID, topic_name="a", partitions=[1])
    member = share_group_describe.Member(
        member_id="m",
        rack_id="r",
        member_epoch=2,
        client_id="c",
        client_host="/h",
        subscribed_topic_names=["a"],
        assignment=share_group_describe.Assignment(topic_partitions=[partitions]),
    )
    group = share_group_describe.DescribedGroup(
        error_code=69,
        error_message="e",
        group_id="g",
        group_state="Stable",
        group_epoch=3,
        assignment_epoch=2,
        assignor_name="simple",
        members=[member],
        authorized_operations=9,
    )
    return share_group_describe.ShareGroupDescribeResponse(throttle_time_ms=2, groups=[group])


def heartbeat_response() -> share_group_heartbeat.ShareGroupHeartbeatResponse:
    partitions = share_group_heartbeat.TopicPartitions(topic_id=TOPIC_ID, partitions=[0, 3])
    return share_group_heartbeat.ShareGroupHeartbeatResponse(
        throttle_time_ms=1,
        error_code=110,
        error_message="no",
        member_id="m-1",
        member_epoch=7,
        heartbeat_interval_ms=5000,
        assignment=share_group_heartbeat.Assignment(topic_partitions=[partitions]),
    )


def described_offsets(**newer: Any) -> describe_share_group_offsets.DescribeShareGroupOffsetsResponse:
    messages = describe_share_group_offsets
    partition = messages.DescribeShareGroupOffsetsResponsePartition(
        partition_index=1, start_offset=99, leader_epoch=2, error_code=3, error_message="p", **newer
    )
    topic = messages.DescribeShareGroupOffsetsResponseTopic(
        topic_name="a", topic_id=TOPIC_ID, partitions=[partition]
    )
    group = messages.DescribeShareGroupOffsetsResponseGroup(
        group_id="g", topics=[topic], error_code=69, error_message="n"
    )
    return messages.DescribeShareGroupOffsetsResponse(throttle_time_ms=1, groups=[group])


def describe_offsets(*partitions: int) -> describe_share_group_offsets.DescribeShareGroupOffsetsRequest:
    messages = describe_share_group_offsets
    topic = messages.DescribeShareGroupOffsetsRequestTopic(topic_name="a", partitions=list(partitions))
    group = messages.DescribeShareGroupOffsetsRequestGroup(
        group_id="g", topics=[topic] if partitions else None
    )
    return messages.DescribeShareGroupOffsetsRequest(groups=[group])


def altered_offsets() -> alter_share_group_offsets.AlterShareGroupOffsetsResponse:
    messages = alter_share_group_offsets
    partition = messages.AlterShareGroupOffsetsResponsePartition(
        partition_index=1, error_code=3, error_message="p"
    )
    topic = messages.AlterShareGroupOffsetsResponseTopic(
        topic_name="a", topic_id=TOPIC_ID, partitions=[partition]
    )
    return messages.AlterShareGroupOffsetsResponse(
        throttle_time_ms=1, error_code=68, error_message="n", responses=[topic]
    )


def alter_offsets() -> alter_share_group_offsets.AlterShareGroupOffsetsRequest:
    messages = alter_share_group_offsets
    partition = messages.AlterShareGroupOffsetsRequestPartition(partition_index=1, start_offset=77)
    topic = messages.AlterShareGroupOffsetsRequestTopic(topic_name="a", partitions=[partition])
    return messages.AlterShareGroupOffsetsRequest(group_id="g", topics=[topic])


GOLDEN: list[tuple[object, int, str]] = [
    (
        share_group_heartbeat.ShareGroupHeartbeatRequest(
            group_id="g", member_id="m-1", member_epoch=7, rack_id="r", subscribed_topic_names=["a", "b"]
        ),
        1,
        "0267046d2d31000000070272030261026200",
    ),
    (
        share_group_heartbeat.ShareGroupHeartbeatRequest(group_id="g", member_id="m-1", member_epoch=-1),
        1,
        "0267046d2d31ffffffff000000",
    ),
    (
        heartbeat_response(),
        1,
        f"00000001006e036e6f046d2d3100000007000013880102{ID}030000000000000003000000",
    ),
    (
        share_group_heartbeat.ShareGroupHeartbeatResponse(member_epoch=1, heartbeat_interval_ms=5000),
        1,
        "00000000000000000000000100001388ff00",
    ),
    (
        share_group_describe.ShareGroupDescribeRequest(
            group_ids=["g", "h"], include_authorized_operations=True
        ),
        1,
        "03026702680100",
    ),
    (
        described_group(),
        1,
        "000000020200450265026707537461626c6500000003000000020773696d706c6502026d0272000000020263032f6802"
        f"026102{ID}02610200000001000000000000090000",
    ),
    (
        fetch_request(),
        1,
        f"0267026d00000004000001f400000001000003e8000000320000000a02{ID}0200000003"
        f"02000000000000000a000000000000000c0401000200000002{ID}02000000050000",
    ),
    (
        fetch_request(share_acquire_mode=1, is_renew_ack=True),
        2,
        f"0267026d00000004000001f400000001000003e8000000320000000a010102{ID}0200000003"
        f"02000000000000000a000000000000000c0401000200000002{ID}02000000050000",
    ),
    *(
        (
            fetch_response(),
            version,
            f"00000001007a02780000753002{ID}02000000030006026c0079027300000001000000020001"
            "02000000000000000a00000000000000140001000000020000000102680000238402720000",
        )
        for version in (1, 2)
    ),
    (
        acknowledge_request(),
        1,
        f"0267026d0000000402{ID}020000000302000000000000000a000000000000000c020300000000",
    ),
    (
        acknowledge_request(is_renew_ack=True),
        2,
        f"0267026d000000040102{ID}020000000302000000000000000a000000000000000c020300000000",
    ),
    (
        acknowledge_response(),
        1,
        f"00000001007b027802{ID}02000000030006026c0000000100000002000000020000000102680000238402720000",
    ),
    (
        acknowledge_response(acquisition_lock_timeout_ms=30000),
        2,
        f"00000001007b02780000753002{ID}02000000030006026c000000010000000200000002"
        "0000000102680000238402720000",
    ),
    (describe_offsets(), 0, "020267000000"),
    (describe_offsets(0, 1), 1, "020267020261030000000000000001000000"),
    (
        described_offsets(),
        0,
        f"00000001020267020261{ID}02000000010000000000000063000000020003027000000045026e0000",
    ),
    (
        described_offsets(lag=5),
        1,
        f"00000001020267020261{ID}020000000100000000000000630000000200000000000000050003027000000045026e0000",
    ),
    (alter_offsets(), 0, "02670202610200000001000000000000004d000000"),
    (altered_offsets(), 0, f"000000010044026e020261{ID}020000000100030270000000"),
    (
        delete_share_group_offsets.DeleteShareGroupOffsetsRequest(
            group_id="g",
            topics=[delete_share_group_offsets.DeleteShareGroupOffsetsRequestTopic(topic_name="a")],
        ),
        0,
        "02670202610000",
    ),
    (
        delete_share_group_offsets.DeleteShareGroupOffsetsResponse(
            throttle_time_ms=1,
            error_code=68,
            error_message="n",
            responses=[
                delete_share_group_offsets.DeleteShareGroupOffsetsResponseTopic(
                    topic_name="a", topic_id=TOPIC_ID, error_code=3, error_message="p"
                )
            ],
        ),
        0,
        f"000000010044026e020261{ID}000302700000",
    ),
]


@pytest.mark.parametrize(("message", "version", "golden"), GOLDEN, ids=lambda value: type(value).__name__)
def test_kafkas_bytes_are_read_and_written(message: object, version: int, golden: str) -> None:
    data = bytes.fromhex(golden)
    assert joined(encode(message, version)).hex() == golden
    assert decode(type(message), version, data) == (message, len(data))
