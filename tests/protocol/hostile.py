"""Bytes that lie, and the complaints that both codecs must make about them."""

from __future__ import annotations

from typing import Any

from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from protocol.messages.fetch import FetchRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.join_group import JoinGroupRequest
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.produce import ProduceRequest
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest

PRODUCE_9 = "00 ffff 000003e8 02 02 74 02 00000003"
FETCH_12 = "ffffffff 00000000 00000000 00000000 00 00000000 ffffffff"
JOIN_0 = "0000 00000000 0000 0000"

CASES: list[tuple[type[Any], int, str, str, int, str]] = [
    # Message, version, bytes; then the complaint's field, position and problem.
    (FindCoordinatorRequest, 0, "", "key", 0, "needs 2 more bytes; 0 are left"),
    (FindCoordinatorRequest, 0, "00", "key", 0, "needs 2 more bytes; 1 are left"),
    (FindCoordinatorRequest, 0, "0002 67", "key", 2, "claims 2 bytes; 1 are left"),
    (FindCoordinatorRequest, 0, "7fff", "key", 2, "claims 32767 bytes; 0 are left"),
    (FindCoordinatorRequest, 0, "ffff", "key", 2, "is null where a value is required"),
    (FindCoordinatorRequest, 0, "8000", "key", 2, "has length -32768"),
    (FindCoordinatorRequest, 0, "0002 c328", "key", 2, "is not valid UTF-8: invalid continuation byte"),
    (FindCoordinatorRequest, 0, "0003 eda080", "key", 2, "is not valid UTF-8: invalid continuation byte"),
    (FindCoordinatorRequest, 3, "", "key", 0, "needs 1 more bytes; 0 are left"),
    (FindCoordinatorRequest, 3, "00", "key", 1, "is null where a value is required"),
    (FindCoordinatorRequest, 3, "80", "key", 1, "needs 1 more bytes; 0 are left"),
    (FindCoordinatorRequest, 3, "818002 00", "key", 3, "claims 32768 bytes; a string has at most 32767"),
    (
        FindCoordinatorRequest,
        3,
        "ffffffff0f",
        "key",
        5,
        "claims 4294967294 bytes; a string has at most 32767",
    ),
    # Longer than a string may be, although its bytes are there.
    (
        FindCoordinatorRequest,
        3,
        "818002" + 32_768 * "61",
        "key",
        3,
        "claims 32768 bytes; a string has at most 32767",
    ),
    (FindCoordinatorRequest, 3, "ffffffff1f", "key", 4, "has a varint of more than 32 bits"),
    (FindCoordinatorRequest, 3, "02 67", "key_type", 2, "needs 1 more bytes; 0 are left"),
    (FindCoordinatorRequest, 3, "02 67 00", "unknown_tags", 3, "needs 1 more bytes; 0 are left"),
    (
        FindCoordinatorRequest,
        3,
        "02 67 00 41",
        "unknown_tags",
        4,
        "claims 65 tagged fields; at most 64 are allowed",
    ),
    (FindCoordinatorRequest, 3, "02 67 00 01 07 05 00", "unknown_tags", 6, "claims 5 bytes; 1 are left"),
    (
        FindCoordinatorRequest,
        4,
        "00 ffffffff0f",
        "coordinator_keys",
        6,
        "claims 4294967294 elements of 1 bytes or more; 0 bytes are left",
    ),
    (FindCoordinatorRequest, 4, "00 00", "coordinator_keys", 2, "is null where a value is required"),
    (FindCoordinatorRequest, 4, "00 02 00", "coordinator_keys", 3, "is null where a value is required"),
    (
        MetadataRequest,
        1,
        "7fffffff 0000",
        "topics",
        4,
        "claims 2147483647 elements of 2 bytes or more; 2 bytes are left",
    ),
    (MetadataRequest, 1, "fffffffe", "topics", 4, "has length -2"),
    (MetadataRequest, 0, "ffffffff", "topics", 4, "is null where a value is required"),
    (MetadataRequest, 1, "00000001 ffff", "topics.name", 6, "is null where a value is required"),
    (MetadataRequest, 12, "02 00", "topics", 1, "claims 1 elements of 18 bytes or more; 1 bytes are left"),
    (
        ProduceRequest,
        9,
        PRODUCE_9 + "06 aabb",
        "topic_data.partition_data.records",
        16,
        "claims 5 bytes; 2 are left",
    ),
    (
        ProduceRequest,
        3,
        "ffff ffff 000003e8 00000001 0001 74 00000001 00000003 80000000",
        "topic_data.partition_data.records",
        27,
        "has length -2147483648",
    ),
    (ProduceRequest, 3, "ffff ffff 000003", "timeout_ms", 4, "needs 4 more bytes; 3 are left"),
    (ProduceRequest, 3, "ffff ff", "acks", 2, "needs 2 more bytes; 1 are left"),
    (
        FetchRequest,
        12,
        FETCH_12 + "01 01 01 01 00 02 00 00",
        "cluster_id",
        32,
        "takes 1 bytes; its tag announces 2",
    ),
    (FetchRequest, 12, FETCH_12 + "01 01 01 01 00 01 07", "cluster_id", 32, "claims 6 bytes; 0 are left"),
    (
        FetchRequest,
        12,
        FETCH_12 + "01 01 01 02 00 01 00 00 01 00",
        "unknown_tags",
        33,
        "has tag 0 after tag 0; they must ascend",
    ),
    (
        FetchRequest,
        15,
        FETCH_12[9:] + "01 01 01 01 01 02 0000",
        "replica_state.replica_id",
        27,
        "needs 4 more bytes; 2 are left",
    ),
    (
        JoinGroupRequest,
        0,
        JOIN_0 + "00000001 0000 00000005 00",
        "protocols.metadata",
        20,
        "claims 5 bytes; 1 are left",
    ),
    (
        JoinGroupRequest,
        0,
        JOIN_0 + "00000001 0000 ffffffff",
        "protocols.metadata",
        20,
        "is null where a value is required",
    ),
    (SaslAuthenticateRequest, 0, "7fffffff", "auth_bytes", 4, "claims 2147483647 bytes; 0 are left"),
    (
        DescribeTopicPartitionsRequest,
        0,
        "01 000007d0 05",
        "cursor",
        5,
        "has presence marker 5, expected 1 or, for null, -1",
    ),
    (DescribeTopicPartitionsRequest, 0, "01 000007d0", "cursor", 5, "needs 1 more bytes; 0 are left"),
    (
        DescribeTopicPartitionsRequest,
        0,
        "01 000007d0 01 02 74 0000",
        "cursor.partition_index",
        8,
        "needs 4 more bytes; 2 are left",
    ),
    (
        CreateTopicsRequest,
        2,
        "00000001 0001 74 00000001 0001 3fffffff 00000000",
        "topics.assignments",
        17,
        "claims 1073741823 elements of 8 bytes or more; 4 bytes are left",
    ),
    (
        CreateTopicsRequest,
        2,
        "00000001 0001 74 00000001 0001 00000001 00000000 00000002 00000000",
        "topics.assignments.broker_ids",
        25,
        "claims 2 elements of 4 bytes or more; 4 bytes are left",
    ),
    (
        ListGroupsRequest,
        4,
        "03 01",
        "states_filter",
        1,
        "claims 2 elements of 1 bytes or more; 1 bytes are left",
    ),
]


def case_name(value: object) -> str:
    """Name a case by its message and version."""
    if isinstance(value, type):
        return value.__name__
    return f"v{value}" if isinstance(value, int) else ""
