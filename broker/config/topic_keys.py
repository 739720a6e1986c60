"""The table of the topic configurations of Apache Kafka 4.3.

Types, defaults and ranges are those that a running Kafka 4.3.1 shows and enforces.  `synonyms` are the server
keys whose value a topic takes when it has none of its own, nearest first (Kafka's
`ServerTopicConfigSynonyms`).  Keys that have nothing to act on here (one node, a log that is not cut into
Kafka's files) are accepted, kept and shown, so that tools and topic definitions made for
Kafka work; their documentation says so.
"""

from __future__ import annotations

import re

from broker.config.config_keys import ConfigType, Key, Value

BOOLEAN, STRING, INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT
LONG, LIST, DOUBLE = ConfigType.LONG, ConfigType.LIST, ConfigType.DOUBLE
INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1
MIB = 1 << 20
HOUR_MS = 3_600_000


def _throttled_replicas_problem(value: Value) -> str | None:
    """Return what is wrong with a list of replicas.  Source: KIP-73, `ThrottledReplicaListValidator`."""
    assert isinstance(value, tuple)
    if value == ("*",) or all(re.fullmatch(r"[0-9]+:[0-9]+", part) for part in value):
        return None
    return (
        "must be the literal '*' or a list of replicas in the following format:"
        " [partitionId]:[brokerId],[partitionId]:[brokerId],..."
    )


def _gzip_level_problem(value: Value) -> str | None:
    allowed = value == -1 or (isinstance(value, int) and 1 <= value <= 9)
    return None if allowed else "Value must be between 1 and 9 or equal to -1"


_NO_COMPRESSION = "No effect: batches are stored as the producer compressed them."
_ONE_NODE = "No effect: there is one replica, on one node."

# fmt: off
_TABLE: tuple[Key, ...] = (
    Key("cleanup.policy", LIST, ("delete",),
        "Delete old records, compact them by key, or both; empty keeps every record.",
        choices=("compact", "delete"), synonyms=("log.cleanup.policy",)),
    Key("compression.gzip.level", INT, -1, _NO_COMPRESSION,
        minimum=-1, maximum=9, check=_gzip_level_problem, synonyms=("compression.gzip.level",)),
    Key("compression.lz4.level", INT, 9, _NO_COMPRESSION,
        minimum=1, maximum=17, synonyms=("compression.lz4.level",)),
    Key("compression.type", STRING, "producer",
        "Codec of stored batches; batches are stored as the producer sent them, whatever is set here.",
        choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        synonyms=("compression.type",)),
    Key("compression.zstd.level", INT, 3, _NO_COMPRESSION,
        minimum=-131_072, maximum=22, synonyms=("compression.zstd.level",)),
    Key("delete.retention.ms", LONG, 24 * HOUR_MS,
        "How long compaction keeps the tombstone of a deleted key.",
        minimum=0, unit="ms", synonyms=("log.cleaner.delete.retention.ms",)),
    Key("file.delete.delay.ms", LONG, 60_000,
        "No effect for one topic: topics share files, so log.segment.delete.delay.ms applies to all.",
        minimum=0, unit="ms", synonyms=("log.segment.delete.delay.ms",)),
    Key("flush.messages", LONG, LONG_MAX,
        "No effect: kawal.durability decides when records are synced, for all topics.",
        minimum=1, unit="records", synonyms=("log.flush.interval.messages",)),
    Key("flush.ms", LONG, LONG_MAX,
        "No effect: kawal.durability decides when records are synced, for all topics.",
        minimum=0, unit="ms", synonyms=("log.flush.interval.ms", "log.flush.scheduler.interval.ms")),
    Key("follower.replication.throttled.replicas", LIST, (), _ONE_NODE, check=_throttled_replicas_problem),
    Key("index.interval.bytes", INT, 4096, "No effect: the log's index has its own density.",
        minimum=0, unit="bytes", synonyms=("log.index.interval.bytes",)),
    Key("leader.replication.throttled.replicas", LIST, (), _ONE_NODE, check=_throttled_replicas_problem),
    Key("local.retention.bytes", LONG, -2,
        "Bytes of a partition that stay on the disk with remote.storage.enable; -2: as retention.bytes.",
        minimum=-2, unit="bytes", synonyms=("log.local.retention.bytes",)),
    Key("local.retention.ms", LONG, -2,
        "Age at which records may leave the disk with remote.storage.enable; -2: that of retention.ms.",
        minimum=-2, unit="ms", synonyms=("log.local.retention.ms",)),
    Key("max.compaction.lag.ms", LONG, LONG_MAX,
        "Age at which a record must become eligible for compaction.",
        minimum=1, unit="ms", synonyms=("log.cleaner.max.compaction.lag.ms",)),
    Key("max.message.bytes", INT, 1_048_588, "Largest record batch accepted, header included.",
        minimum=0, unit="bytes", synonyms=("message.max.bytes",)),
    Key("message.timestamp.after.max.ms", LONG, HOUR_MS,
        "How far a CreateTime timestamp may lie after the server's clock.",
        minimum=0, unit="ms", synonyms=("log.message.timestamp.after.max.ms",)),
    Key("message.timestamp.before.max.ms", LONG, LONG_MAX,
        "How far a CreateTime timestamp may lie before the server's clock.",
        minimum=0, unit="ms", synonyms=("log.message.timestamp.before.max.ms",)),
    Key("message.timestamp.type", STRING, "CreateTime",
        "Whether a record keeps the producer's time or gets the time it was appended.",
        choices=("CreateTime", "LogAppendTime"), synonyms=("log.message.timestamp.type",)),
    Key("min.cleanable.dirty.ratio", DOUBLE, 0.5,
        "Fraction of a log that must be new before it is compacted again.",
        minimum=0, maximum=1, synonyms=("log.cleaner.min.cleanable.ratio",)),
    Key("min.compaction.lag.ms", LONG, 0, "Age before which a record is not compacted.",
        minimum=0, unit="ms", synonyms=("log.cleaner.min.compaction.lag.ms",)),
    Key("min.insync.replicas", INT, 1,
        "Replicas that must have a record before acks=all is answered; one node has one replica.",
        minimum=1, synonyms=("min.insync.replicas",)),
    Key("preallocate", BOOLEAN, False, "No effect: segment files are always allocated in advance.",
        synonyms=("log.preallocate",)),
    Key("remote.log.copy.disable", BOOLEAN, False,
        "Let no more records leave the disk; those that have left it are read from the object store."),
    Key("remote.log.delete.on.disable", BOOLEAN, False,
        "No effect: remote.storage.enable cannot be turned off."),
    Key("remote.storage.enable", BOOLEAN, False,
        "Let old records leave the disk, by local.retention.ms and local.retention.bytes, once they are in "
        "the object store of kawal.remote.store; they are read from there."),
    Key("retention.bytes", LONG, -1,
        "Size at which the oldest records of a partition are deleted; -1: no limit.",
        unit="bytes", synonyms=("log.retention.bytes",)),
    Key("retention.ms", LONG, 168 * HOUR_MS, "Age at which records are deleted; -1 keeps them for ever.",
        minimum=-1, unit="ms", synonyms=("log.retention.ms", "log.retention.minutes", "log.retention.hours")),
    Key("segment.bytes", INT, 1024 * MIB,
        "Size of a partition's logical segment, the unit in which retention deletes.",
        minimum=MIB, unit="bytes", synonyms=("log.segment.bytes",)),
    Key("segment.index.bytes", INT, 10 * MIB, "No effect: the log's index grows as needed.",
        minimum=4, unit="bytes", synonyms=("log.index.size.max.bytes",)),
    Key("segment.jitter.ms", LONG, 0, "No effect: ending a logical segment is free, so none is delayed.",
        minimum=0, unit="ms", synonyms=("log.roll.jitter.ms", "log.roll.jitter.hours")),
    Key("segment.ms", LONG, 168 * HOUR_MS, "Age at which a logical segment ends.",
        minimum=1, unit="ms", synonyms=("log.roll.ms", "log.roll.hours")),
    Key("unclean.leader.election.enable", BOOLEAN, False, _ONE_NODE,
        synonyms=("unclean.leader.election.enable",)),
)
# fmt: on

TOPIC_KEYS: dict[str, Key] = {key.name: key for key in _TABLE}
"""Every topic configuration by name, in the order of the documentation."""

INTERNAL_SEGMENT_BYTES = Key(
    "internal.segment.bytes",
    INT,
    None,
    "Overrides segment.bytes without its lower limit, for tests.",
    unit="bytes",
)
"""Accepted and never listed, as in Kafka: test programs ask for segments smaller than 1 MiB with it."""
