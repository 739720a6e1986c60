"""The server's keys for what coordinators keep of clients: transactional ids and committed offsets."""

from __future__ import annotations

from broker.config.config_keys import ConfigType, Key

INT, LONG = ConfigType.INT, ConfigType.LONG
KIB, MIB, HOUR_MS = 1 << 10, 1 << 20, 3_600_000

# fmt: off
TRANSACTION_KEYS = (
    Key("transaction.max.timeout.ms", INT, 900_000,
        "Longest transaction a client may ask for.", minimum=1, unit="ms"),
    Key("transactional.id.expiration.ms", INT, 7 * 24 * HOUR_MS,
        "How long an unused transactional id is remembered.", minimum=1, unit="ms"),
    Key("transaction.remove.expired.transaction.cleanup.interval.ms", INT, HOUR_MS,
        "How often unused transactional ids are looked for.", minimum=1, unit="ms"),
    Key("transaction.state.log.num.partitions", INT, 50,
        "Partitions of __transaction_state; fixed once a transactional id was used.",
        minimum=1, unit="partitions"),
    Key("kawal.transactions.max.bytes", LONG, 128 * MIB,
        "Memory of all transactional ids, 1 KB each; beyond it those unused for longest are forgotten.",
        minimum=MIB, unit="bytes", dynamic=True),
    Key("kawal.aborted.transactions.max.bytes", LONG, 96 * MIB,
        "Memory for aborted transactions, 32 bytes in each partition as long as their records are kept; each "
        "log has its share.  Without room, batches that begin a transaction in a partition are refused with "
        "POLICY_VIOLATION.", minimum=KIB, unit="bytes", dynamic=True),
    Key("kawal.transaction.max.partitions", INT, 10_000,
        "Most partitions of one transaction: each of its changes stores the names of all.  A request that "
        "would add more is refused with POLICY_VIOLATION.", minimum=1, unit="partitions", dynamic=True),
)

OFFSET_KEYS = (
    Key("offsets.topic.num.partitions", INT, 50,
        "Partitions of __consumer_offsets; fixed once a group has committed.", minimum=1, unit="partitions"),
    Key("offsets.retention.minutes", INT, None,
        "How long an unused committed offset is kept; unset: for ever (Kafka: 10080).",
        minimum=1, unit="minutes", dynamic=True),
    Key("offsets.retention.check.interval.ms", LONG, 600_000,
        "How often expired committed offsets are looked for.", minimum=1, unit="ms"),
    Key("offset.metadata.max.bytes", INT, 4096,
        "Longest text stored with a committed offset.", minimum=0, unit="bytes", dynamic=True),
    Key("kawal.offsets.max.bytes", LONG, 128 * MIB,
        "Memory for the committed offsets of all groups, about 300 bytes each.  Without room, an offset of a "
        "partition in which its group has none yet is refused with COORDINATOR_NOT_AVAILABLE, and its client "
        "tries again.", minimum=KIB, unit="bytes", dynamic=True),
)
# fmt: on
