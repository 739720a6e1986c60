"""Values for the fields of wild requests: by message and field where it matters, else by the kind of field.

A pool has a value more often when a request with it passes the first check.
"""

from __future__ import annotations

from typing import Any, Final

from compat_tests.batches import Batch, old_message
from compat_tests.differential.steps import BASE_MS, session
from compat_tests.differential.world import World, batch
from compat_tests.requests import ZERO
from protocol.schema import ArrayOf, Bool, Bytes, Fixed, Int8, Int16, Int32, Int64, Records, String, Uuid

INT16_MAX, INT32_MAX, INT64_MAX = 2**15 - 1, 2**31 - 1, 2**63 - 1

BY_KIND: Final[dict[Any, list[Any]]] = {
    Bool: [False, True],
    Int8: [0, 1, 2, -1, 127, -128],
    Int16: [0, 1, 2, -1, -2, INT16_MAX, -INT16_MAX - 1],
    Int32: [0, 1, 2, 3, -1, -2, INT32_MAX, -INT32_MAX - 1],
    Int64: [0, 1, 2, 3, -1, -2, INT64_MAX, -INT64_MAX - 1],
    String: ["", "a", "x" * 300, "ü \x00"],
    Bytes: [b"", b"a", b"\x00" * 100],
}

PARTITIONS: Final = [0, 0, 0, 0, 1, 1, 2, 3, -1, INT32_MAX]
LEADER_EPOCHS: Final = [-1, -1, -1, 0, 0, 1, -2, INT32_MAX]

BY_FIELD: Final[dict[str, list[Any]]] = {
    # Times that a broker may wait: short, or the sequence takes long.
    "max_wait_ms": [0, 0, 0, 20, -1],
    "timeout_ms": [10_000, 10_000, 10_000, INT32_MAX],
    "partition": PARTITIONS,
    "partition_index": PARTITIONS,
    "index": PARTITIONS,
    "partitions": PARTITIONS,
    "current_leader_epoch": LEADER_EPOCHS,
    "leader_epoch": [0, 0, 0, 1, -1, -2, INT32_MAX],
    "replica_id": [-1],
    "isolation_level": [0, 0, 0, 0, 1, 1, 1],
    "broker_ids": [1, 1, 1, 2, 0, -1],
    # Of ACLs: a kind or operation that does not exist is refused by closing the connection.
    "resource_type_filter": [1, 2, 3, 4, 5, 6],
    "pattern_type_filter": [1, 2, 3, 4],
    "resource_pattern_type": [3, 4],
    "resource_type": [2, 3, 4],
    "operation": [2, 3, 4, 8],
    "permission_type": [2, 3],
    "client_software_name": ["apache-kafka-java", "a", "", "a_b", "-a", "a-", "a b", "ü"],
    "client_software_version": ["4.3.1", "1", "", ".1", "1.", "1_0"],
}

BY_MESSAGE_FIELD: Final[dict[tuple[str, str], list[Any]]] = {
    ("CreatableTopic", "num_partitions"): [1, 1, 2, 3, -1, -1, 0, -2],
    ("CreatableTopic", "replication_factor"): [1, 1, 1, -1, -1, 0, 2, 3, -2, INT16_MAX],
    ("CreatableReplicaAssignment", "partition_index"): [0, 0, 0, 1, 1, 2, -1],
    ("CreatePartitionsTopic", "count"): [1, 2, 2, 3, 4, 5, 0, -1],
    ("ScramCredentialUpsertion", "iterations"): [4096, 4096, 4096, 8192, 16384, 16385, 4095, 0, -1],
    ("ScramCredentialUpsertion", "mechanism"): [1, 1, 2, 2, 0, 3, -1],
    # Kafka fails at an empty one only when everything else is right.
    ("ScramCredentialUpsertion", "salted_password"): [b"a", b"salted" * 5],
    ("ScramCredentialDeletion", "mechanism"): [1, 1, 1, 2, 0, 3],
    ("FetchPartition", "fetch_offset"): [0, 0, 0, 1, 2, 3, 5, 9, 12, 100, -1, INT64_MAX],
    ("FetchPartition", "last_fetched_epoch"): [-1, -1, -1, -1, 0, 1],
    ("FetchPartition", "partition_max_bytes"): [1_000_000, 1_000_000, 1_000_000, 1, 100, 0, INT32_MAX],
    ("FetchRequest", "min_bytes"): [1, 1, 0, -1, 100, INT32_MAX],
    ("FetchRequest", "max_bytes"): [INT32_MAX, INT32_MAX, 1_000_000, 200, 1, 0],
    ("FetchRequest", "session_id"): [0, 0, 0, 0, session(0), session(1), 12345, -1],
    ("FetchRequest", "session_epoch"): [-1, -1, -1, 0, 0, 1, 2, 3, INT32_MAX, -2],
    ("FetchPartition", "log_start_offset"): [-1, 0],
    ("ProduceRequest", "acks"): [-1, -1, -1, 1, 1, 1, 0, 2, -2],
    ("ProduceRequest", "transactional_id"): [None],
    ("ListOffsetsPartition", "timestamp"): [
        *(-1, -1, -2, -2, -3, -3, -4, -5, -6, -7, 0, 1),
        *(BASE_MS + ms for ms in (-1, 0, 1, 2, 3, 999, 1000, 1001, 2002, 7004, 7005)),
        INT64_MAX,
        -INT64_MAX - 1,
    ],
    ("InitProducerIdRequest", "transactional_id"): [None, None, ""],
    ("InitProducerIdRequest", "transaction_timeout_ms"): [60_000, 0, -1, INT32_MAX],
    ("FindCoordinatorRequest", "key_type"): [0, 0, 1, 1, 3, -1],
    ("DescribeClusterRequest", "endpoint_type"): [1, 1, 1, 2, 0, 3, -1],
    ("DeleteRecordsPartition", "offset"): [0, 1, 1, 2, 3, -1, -1, -2, 100, INT64_MAX],
    ("ElectLeadersRequest", "election_type"): [0, 0, 0, 1, 1, 2, -1],
    ("ReassignablePartition", "replicas"): [1, 1, 1, 2, -1],
    ("DescribeTopicPartitionsRequest", "response_partition_limit"): [1, 2, 3, 2000, 2000, 0, -1],
    ("AlterReplicaLogDir", "path"): ["/nowhere", "", "relative"],
    ("ListConfigResourcesRequest", "resource_types"): [2, 2, 4, 8, 16, 32, 0, 3, -1],
    ("RequestTopicData", "topic_name"): ["__cluster_metadata", "__cluster_metadata", "other", ""],
    ("RequestPartitionData", "partition_index"): [0, 0, 0, 1],
    ("Cursor", "partition_index"): [0, 0, 1, 2, 3, -1],
    ("ComponentData", "entity_type"): ["user", "client-id", "ip", "user", "other", ""],
    ("ComponentData", "match_type"): [0, 0, 1, 2, 3, -1],
    ("EntityData", "entity_type"): ["user", "user", "client-id", "ip", "other", ""],
    ("OpData", "key"): [
        *("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"),
        *("connection_creation_rate", "other", ""),
    ],
    # Those that are right are so high that no client has to wait.
    ("OpData", "value"): [1e9, 1e9, 2e9, 1e12, 0.0, -1.0, 1e9 + 0.5, 1e19],
    ("DescribeConfigsResource", "resource_type"): [2, 2, 2, 4, 4, 0, 1, 3, 16, -1],
}

GROUP_IDS: Final = frozenset({"group_id", "group_ids", "groups_names", "groups"})

OF_REPLICAS: Final = {
    ("FetchRequest", "cluster_id"),
    ("FetchRequest", "replica_state"),
    ("FetchPartition", "replica_directory_id"),
    ("FetchPartition", "high_watermark"),
}
"""Fields that no client sends: they keep their default."""

CONFIG_KEYS: Final = [
    *("retention.ms", "cleanup.policy", "max.message.bytes", "min.insync.replicas", "compression.type"),
    *("segment.bytes", "num.partitions", "log.retention.ms", "message.max.bytes", "no.such.key", ""),
]

CONFIGS: Final[list[tuple[str, str | None]]] = [
    ("retention.ms", "-1"),
    ("retention.ms", "-2"),
    ("retention.ms", "86400000"),
    ("retention.ms", " 5 "),
    ("retention.ms", "1e3"),
    ("retention.ms", ""),
    ("retention.ms", None),
    ("retention.bytes", "9223372036854775807"),
    ("retention.bytes", "9223372036854775808"),
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "compact,delete"),
    ("cleanup.policy", "delete, compact"),
    ("cleanup.policy", "delete,delete"),
    ("cleanup.policy", "Delete"),
    ("cleanup.policy", "none"),
    ("cleanup.policy", ""),
    ("compression.type", "zstd"),
    ("compression.type", "ZSTD"),
    ("compression.type", "none"),
    ("compression.gzip.level", "9"),
    ("compression.gzip.level", "10"),
    ("compression.lz4.level", "17"),
    ("compression.zstd.level", "-131072"),
    ("compression.zstd.level", "23"),
    ("max.message.bytes", "0"),
    ("max.message.bytes", "-1"),
    ("message.timestamp.type", "LogAppendTime"),
    ("message.timestamp.type", "logappendtime"),
    ("message.timestamp.after.max.ms", "0"),
    ("message.timestamp.difference.max.ms", "1"),
    ("message.format.version", "3.0"),
    ("min.cleanable.dirty.ratio", "0.5"),
    ("min.cleanable.dirty.ratio", "1.0"),
    ("min.cleanable.dirty.ratio", "1.1"),
    ("min.cleanable.dirty.ratio", ".01f"),
    ("min.cleanable.dirty.ratio", "NaN"),
    ("min.insync.replicas", "1"),
    ("min.insync.replicas", "2"),
    ("min.insync.replicas", "0"),
    ("segment.bytes", "1048576"),
    ("segment.bytes", "1048575"),
    ("segment.bytes", "2147483648"),
    ("segment.ms", "0"),
    ("segment.ms", "1"),
    ("segment.jitter.ms", "5"),
    ("flush.ms", "-1"),
    ("flush.messages", "1"),
    ("preallocate", "true"),
    ("preallocate", "TRUE"),
    ("preallocate", "yes"),
    ("unclean.leader.election.enable", "true"),
    ("file.delete.delay.ms", "60000"),
    ("index.interval.bytes", "4096"),
    ("min.compaction.lag.ms", "10"),
    ("max.compaction.lag.ms", "5"),
    ("delete.retention.ms", "0"),
    ("leader.replication.throttled.replicas", "*"),
    ("leader.replication.throttled.replicas", "0:1,1:1"),
    ("leader.replication.throttled.replicas", "x"),
    ("follower.replication.throttled.replicas", ""),
    ("remote.storage.enable", "true"),
    ("remote.storage.enable", "false"),
    ("local.retention.ms", "-2"),
    ("local.retention.ms", "100"),
    ("remote.log.copy.disable", "true"),
    ("no.such.key", "1"),
    ("", "1"),
]


def values_for(message: str, field: str, kind: Any, world: World) -> list[Any]:
    """Return the pool of one field of a message or struct."""
    found = BY_MESSAGE_FIELD.get((message, field))
    if found is not None:
        return found
    if kind is Uuid:
        # Kafka has no answer but UNKNOWN_SERVER_ERROR to the id 0 here.
        return [id_ for id_ in world.ids() if id_ != ZERO or message not in ("FetchTopic", "ForgottenTopic")]
    if kind is Records:
        return records(world)
    if kind is String and field in ("name", "topic", "topic_name", "topic_names", "resource_name", "topics"):
        if field == "resource_name":
            return [*world.names(), "1", "1", "1", "2", "-1", "x"]
        return world.names()
    if kind is String and field in GROUP_IDS:
        return [f"{world.prefix}-group", f"{world.prefix}-other", "", f"{world.prefix} ü \x00"]
    if field == "configuration_keys":
        return CONFIG_KEYS
    if field in BY_FIELD:
        return BY_FIELD[field]
    assert isinstance(kind, Fixed) or kind in BY_KIND or isinstance(kind, ArrayOf), (
        f"{message}.{field}: {kind}"
    )
    return BY_KIND[kind]


def records(world: World) -> list[Batch | bytes | tuple[Batch | bytes, ...] | None]:
    """Return batches, most of them good."""
    good = batch(2, 1)
    return [
        *(good, batch(1), batch(3, 5), batch(1, 2, leader_epoch=7)) * 2,
        good.but(base_offset=5),
        good.but(magic=1),
        good.but(magic=3),
        good.but(crc=1),
        good.but(last_offset_delta=5),
        good.but(max_timestamp=-1),
        good.but(attributes=8),
        good.but(attributes=64),
        batch(0),
        (good, good),
        (good, b"stray"),
        (good, good.encode()[:-1]),
        good.encode()[:40],
        old_message(0),
        old_message(1, BASE_MS),
        b"",
        b"garbage that is no batch at all, but long enough to be one: 61 bytes and more",
    ]
