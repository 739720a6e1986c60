"""The table of the server's own configuration keys; `broker.config.Config` has a typed field for each.

Keys that Kafka has carry Kafka's name and meaning; ours begin with `kawal.`.  The rows are the only place
where a key's default, range, unit and documentation stand: the loader's checks, `kawal config show` and
docs/configuration.md are derived from them.
"""

from __future__ import annotations

from broker.config_keys import ConfigType, Key
from broker.endpoints import HTTP_OFF, endpoints_problem, http_problem

BOOLEAN, STRING, INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT
LONG, LIST = ConfigType.LONG, ConfigType.LIST
INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1
KIB, MIB = 1 << 10, 1 << 20
HOUR_MS = 3_600_000

# fmt: off
SECTIONS: dict[str, tuple[Key, ...]] = {
"Addresses": (
    Key("listeners", LIST, ("127.0.0.1:9092",),
        "Addresses the server listens on, HOST:PORT each; port 0 takes a free one.  An address other than "
        "loopback needs `kawal.insecure`.", check=endpoints_problem),
    Key("advertised.listeners", LIST, (),
        "Addresses clients are told to connect to, one for each of `listeners` in the same order; empty: "
        "the address the client connected to.", check=endpoints_problem),
    Key("node.id", INT, 1, "Id of this node in Metadata and DescribeCluster.",
        minimum=0),
    Key("broker.rack", STRING, None, "Rack of this node in Metadata."),
    Key("kawal.insecure", BOOLEAN, False,
        "Allow listeners that other machines can reach although no client is authenticated."),
),
"Topics": (
    Key("num.partitions", INT, 4,
        "Partitions of a topic created without a count (Kafka's own default is 1).",
        minimum=1, unit="partitions"),
    Key("default.replication.factor", INT, 1, "Replication factor of a topic created without one.",
        minimum=1, maximum=32_767),
    Key("kawal.accept.replication.factor", BOOLEAN, False,
        "Accept a replication factor above the number of nodes; Metadata goes on telling the one replica "
        "there is.", dynamic=True),
    Key("auto.create.topics.enable", BOOLEAN, True,
        "Create a topic when a client asks for the metadata of one that does not exist."),
    Key("delete.topic.enable", BOOLEAN, True, "Allow DeleteTopics."),
    Key("kawal.max.partitions", INT, 200_000,
        "Partitions this node holds at most; creating more answers POLICY_VIOLATION.",
        minimum=1, unit="partitions", dynamic=True),
    Key("min.insync.replicas", INT, 1,
        "Replicas that must have a record before acks=all is answered; one node has one replica.",
        minimum=1, dynamic=True),
    Key("message.max.bytes", INT, 1_048_588, "Largest record batch accepted, header included.",
        minimum=0, unit="bytes", dynamic=True),
    Key("compression.type", STRING, "producer",
        "Codec of stored batches; batches are stored as the producer sent them.",
        choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"), dynamic=True),
    Key("log.message.timestamp.type", STRING, "CreateTime",
        "Whether a record keeps the producer's time or gets the time it was appended.",
        choices=("CreateTime", "LogAppendTime"), dynamic=True),
    Key("log.message.timestamp.before.max.ms", LONG, LONG_MAX,
        "How far a CreateTime timestamp may lie before the server's clock.",
        minimum=0, unit="ms", dynamic=True),
    Key("log.message.timestamp.after.max.ms", LONG, HOUR_MS,
        "How far a CreateTime timestamp may lie after the server's clock.",
        minimum=0, unit="ms", dynamic=True),
),
"Retention": (
    Key("log.cleanup.policy", LIST, ("delete",),
        "What happens to old records: deleted, compacted by key, or both.",
        choices=("compact", "delete"), dynamic=True),
    Key("log.retention.ms", LONG, None,
        "Age at which records are deleted; -1 keeps them for ever; unset: log.retention.minutes.",
        minimum=-1, unit="ms", dynamic=True, synonyms=("log.retention.minutes", "log.retention.hours")),
    Key("log.retention.minutes", INT, None, "The same in minutes, used when log.retention.ms is unset.",
        minimum=-1, unit="minutes", synonyms=("log.retention.hours",)),
    Key("log.retention.hours", INT, 168, "The same in hours, used when both others are unset.",
        minimum=-1, unit="hours"),
    Key("log.retention.bytes", LONG, -1,
        "Size at which the oldest records of a partition are deleted; -1: no limit.",
        unit="bytes", dynamic=True),
    Key("log.retention.check.interval.ms", LONG, 300_000, "How often retention runs.",
        minimum=1, unit="ms"),
    Key("log.segment.bytes", INT, 1024 * MIB,
        "Size of a partition's logical segment, the unit in which retention deletes.",
        minimum=MIB, unit="bytes", dynamic=True),
    Key("log.roll.ms", LONG, None, "Age at which a logical segment ends; unset: log.roll.hours.",
        minimum=1, unit="ms", dynamic=True, synonyms=("log.roll.hours",)),
    Key("log.roll.hours", INT, 168, "The same in hours, used when log.roll.ms is unset.",
        minimum=1, unit="hours"),
    Key("log.segment.delete.delay.ms", LONG, 60_000,
        "How long the file of a retired segment stays for readers that still have it open.",
        minimum=0, unit="ms", dynamic=True),
),
"Storage": (
    Key("log.dirs", STRING, "./data", "The data directory; Kawal has exactly one."),
    Key("kawal.durability", STRING, "disk",
        "What acks=all waits for: `disk` until the records are synced, `os` until they are in the page "
        "cache (a power failure may lose the last kawal.flush.ms).",
        choices=("disk", "os")),
    Key("kawal.flush.ms", INT, 50, "How often durability `os` syncs.",
        minimum=1, maximum=HOUR_MS, unit="ms", kafka="log.flush.interval.ms"),
    Key("kawal.vnodes", INT, 2,
        "Write-ahead logs of the default database; fixed when the data directory is created.",
        minimum=1, maximum=256, unit="vnodes"),
    Key("kawal.segment.bytes", INT, 64 * MIB,
        "Size of a write-ahead log's segment file, allocated in advance.",
        minimum=MIB, maximum=1024 * MIB, unit="bytes"),
    Key("kawal.tail.cache.bytes", LONG, 64 * MIB,
        "Memory, over all write-ahead logs, that keeps recent records for readers at the end.",
        minimum=0, unit="bytes"),
    Key("kawal.min.free.bytes", LONG, 32 * MIB,
        "Free space below which produce answers KAFKA_STORAGE_ERROR; reading, committing and deleting go "
        "on.", minimum=0, unit="bytes", dynamic=True),
    Key("producer.id.expiration.ms", INT, 24 * HOUR_MS,
        "How long an idle idempotent producer is remembered.",
        minimum=1, unit="ms", dynamic=True),
),
"Groups": (
    Key("offsets.topic.num.partitions", INT, 50,
        "Partitions of __consumer_offsets; fixed once a group has committed.", minimum=1, unit="partitions"),
    Key("offsets.retention.minutes", INT, None,
        "How long a committed offset is kept that nobody uses; unset: for ever (Kafka: 10080).",
        minimum=1, unit="minutes"),
    Key("offsets.retention.check.interval.ms", LONG, 600_000,
        "How often committed offsets that have expired are looked for.", minimum=1, unit="ms"),
    Key("offset.metadata.max.bytes", INT, 4096,
        "Longest text stored with a committed offset.", minimum=0, unit="bytes"),
    Key("group.min.session.timeout.ms", INT, 6_000,
        "Shortest session timeout a classic member may ask for.", minimum=1, unit="ms"),
    Key("group.max.session.timeout.ms", INT, 1_800_000,
        "Longest session timeout a classic member may ask for.", minimum=1, unit="ms"),
    Key("group.initial.rebalance.delay.ms", INT, 3_000,
        "How long an empty classic group waits for more members.", minimum=0, unit="ms"),
    Key("group.max.size", INT, INT_MAX, "Most members of a classic group.", minimum=1, unit="members"),
    Key("group.consumer.session.timeout.ms", INT, 12_000,
        "Time without heartbeat after which a member of a consumer group is removed (Kafka: 45000).",
        minimum=1, unit="ms"),
    Key("group.consumer.heartbeat.interval.ms", INT, 3_000,
        "Heartbeat interval that members of consumer groups are told (Kafka: 5000).", minimum=1, unit="ms"),
    Key("group.consumer.max.size", INT, INT_MAX,
        "Most members of a consumer group.", minimum=1, unit="members"),
    Key("group.consumer.assignors", LIST, ("tdengine", "uniform", "range"),
        "Assignors that members of consumer groups may ask for, the default first.",
        choices=("tdengine", "uniform", "range")),
    Key("group.consumer.migration.policy", STRING, "bidirectional",
        "Which groups may change between the two protocols while members run.",
        choices=("bidirectional", "upgrade", "downgrade", "disabled")),
    Key("kawal.rebalance.interval.ms", INT, 2_000,
        "Least time between two assignments of a consumer group: changes are gathered meanwhile; 0: at once.",
        minimum=0, unit="ms", kafka="group.consumer.assignment.interval.ms"),
    Key("kawal.group.assignor", STRING, "client",
        "Who assigns the partitions of classic eager groups: their leader, or the server.",
        choices=("client", "server")),
),
"Limits": (
    Key("socket.request.max.bytes", INT, 100 * MIB,
        "Largest request frame; a larger one closes the connection before it is read.",
        minimum=1, unit="bytes"),
    Key("fetch.max.bytes", INT, 55 * MIB,
        "Largest Fetch answer (a first batch above it is still sent whole).",
        minimum=KIB, unit="bytes"),
    Key("max.request.partition.size.limit", INT, 2000,
        "Most partitions in one DescribeTopicPartitions answer.",
        minimum=1, unit="partitions"),
    Key("max.incremental.fetch.session.cache.slots", INT, 1000, "Fetch sessions kept; 0 turns them off.",
        minimum=0, unit="sessions"),
    Key("max.connections", INT, INT_MAX,
        "Connections open at once; the limit on open files bounds them too.",
        minimum=0, unit="connections", dynamic=True),
    Key("max.connections.per.ip", INT, INT_MAX, "Connections open at once from one address.",
        minimum=0, unit="connections", dynamic=True),
    Key("connections.max.idle.ms", LONG, 600_000,
        "A connection without a request for so long is closed; -1: never.",
        minimum=-1, unit="ms"),
    Key("socket.listen.backlog.size", INT, KIB,
        "Connections the kernel queues before they are accepted (Kafka's own default is 50).",
        minimum=1, unit="connections"),
    Key("socket.send.buffer.bytes", INT, 256 * KIB,
        "Kernel memory for what one connection has not taken yet, doubled by Linux for its own needs "
        "(Kafka's own default is 102400); -1: the system chooses, up to several MB.",
        minimum=-1, unit="bytes"),
    Key("socket.receive.buffer.bytes", INT, -1,
        "Kernel memory for what has come in and is not read yet (Kafka's own default is 102400); -1: the "
        "system chooses.",
        minimum=-1, unit="bytes"),
    Key("queued.max.request.bytes", LONG, 256 * MIB,
        "Bytes of requests in work over all connections; above it no connection is read until some are "
        "answered; -1: no limit (Kafka's default).", minimum=-1, unit="bytes"),
    Key("kawal.connection.in.flight.bytes", INT, 16 * MIB,
        "Bytes of unanswered requests of one connection; above it that connection is not read until some "
        "are answered (one request of any allowed size always gets in).",
        minimum=1, unit="bytes"),
    Key("kawal.connection.in.flight.requests", INT, 128,
        "Unanswered requests of one connection, with the same effect.",
        minimum=1, unit="requests"),
    Key("kawal.connection.unsent.bytes", INT, 16 * MIB,
        "Bytes of answers that one connection has not taken yet; above it that connection is not read until "
        "it takes some (one answer of any allowed size always gets in).",
        minimum=1, unit="bytes"),
    Key("kawal.queued.max.response.bytes", LONG, 256 * MIB,
        "Memory for answers not yet taken, over all connections; what is sent straight from a file takes "
        "none.  Above it connections that leave answers lying are not read, and closed when they take "
        "nothing for a second; -1: no limit.", minimum=-1, unit="bytes"),
    Key("kawal.request.read.timeout.ms", INT, 60_000,
        "A connection that leaves a request half sent for so long is closed; a request that comes in at "
        "16 KiB a second or more may take longer.",
        minimum=1, unit="ms"),
    Key("kawal.response.write.timeout.ms", INT, 60_000,
        "A connection that takes no byte of an answer for so long is closed.",
        minimum=1, unit="ms"),
    Key("kawal.shutdown.timeout.ms", INT, 4000,
        "After SIGTERM, how long requests in work may still take before connections are closed.",
        minimum=0, maximum=HOUR_MS, unit="ms"),
),
"Operation": (
    Key("kawal.http.listen", STRING, "127.0.0.1:9644",
        "Where metrics (/metrics, for Prometheus) and health (/healthz, /readyz) are served over HTTP, "
        f"HOST:PORT; port 0 takes a free one, `{HTTP_OFF}` serves none.  When the port is taken and nobody "
        "set it, the server goes on without.", check=http_problem),
    Key("kawal.metrics.partitions.max", INT, 1000,
        "Partitions with metrics of their own, the oldest ones first; those left out are counted.",
        minimum=0, unit="partitions"),
    Key("kawal.log.format", STRING, "human", "Lines of the log: for people, or one JSON object each.",
        choices=("human", "json")),
    Key("kawal.log.level", STRING, "info",
        "What is logged: everything from this level on.  AlterConfigs changes it by logger (BROKER_LOGGER).",
        choices=("debug", "info", "warning", "error")),
),
}
# fmt: on

KEYS: dict[str, Key] = {key.name: key for section in SECTIONS.values() for key in section}
"""Every key of the server by name, in the order of the documentation."""
